"""Two Home Assistants per session, as booting takes seconds: one configured, and one to configure anew in each test."""

from collections.abc import AsyncGenerator, Generator

import pytest
from pytest_asyncio import fixture as async_fixture

from tests.llm_server import LLMServer

from .harness import RUNNING, Hass
from .house import add_home_agent, furnish, reset


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what Home Assistant logged lately beside a failure."""
    report = yield
    if report.failed:
        report.sections += [(f"log of {hass.url}", hass.process.log[-4000:]) for hass in RUNNING]
    return report


@async_fixture(scope="session")
async def shared_server() -> AsyncGenerator[LLMServer]:
    """The endpoint that `shared_hass` is configured with."""
    server = LLMServer()
    await server.start()
    yield server
    await server.stop()


@async_fixture(scope="session")
async def shared_hass(shared_server: LLMServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hass]:
    """A furnished Home Assistant, Home Agent with an endpoint in it."""
    async with Hass(tmp_path_factory.mktemp("shared")).running() as hass:
        await furnish(hass)
        await add_home_agent(hass, url=shared_server.base_url, model="scripted", key="sk-e2e-secret")
        yield hass


@async_fixture(scope="module")
async def endpoint() -> AsyncGenerator[LLMServer]:
    """An endpoint for the houses of one file."""
    server = LLMServer()
    await server.start()
    yield server
    await server.stop()


@async_fixture
async def llm_server(shared_server: LLMServer) -> AsyncGenerator[LLMServer]:
    """The endpoint, nothing planned; every planned reply must be asked for, and nothing else."""
    shared_server.requests.clear()
    yield shared_server
    shared_server.assert_done()


@async_fixture
async def hass(shared_hass: Hass, llm_server: LLMServer) -> AsyncGenerator[Hass]:
    """The shared Home Assistant, its lights as they were; its log must stay clean."""
    await reset(shared_hass)
    yield shared_hass
    shared_hass.assert_clean_log()


@async_fixture(scope="session")
async def bare_hass(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hass]:
    """A furnished Home Assistant without Home Agent."""
    async with Hass(tmp_path_factory.mktemp("bare")).running() as hass:
        await furnish(hass)
        yield hass


@async_fixture
async def own_hass(bare_hass: Hass) -> AsyncGenerator[Hass]:
    """A Home Assistant to add Home Agent to, which is removed afterwards; its log must stay clean."""
    await reset(bare_hass)
    yield bare_hass
    for entry in await bare_hass.entries():
        await bare_hass.remove_entry(entry["entry_id"])
    bare_hass.assert_clean_log()


@async_fixture
async def own_server() -> AsyncGenerator[LLMServer]:
    """An endpoint for this test alone."""
    server = LLMServer()
    await server.start()
    yield server
    await server.stop()
    server.assert_done()
