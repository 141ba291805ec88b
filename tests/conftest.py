"""What every test needs: our integration found, the house's own basics set up, a scripted endpoint."""

import asyncio
from collections.abc import AsyncGenerator, Generator
import gc
import logging
from pathlib import Path

from homeassistant.components.demo import lock, valve
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.storage import STORAGE_DIR
from homeassistant.setup import async_setup_component
from homeassistant.util import executor
import pytest
from pytest_homeassistant_custom_component.common import MockUser

# Without this the test package's own `custom_components` folder hides ours.
import custom_components  # noqa: F401
from tests import kept
from tests.embedding_server import EmbeddingServer
from tests.house import build_house, person
from tests.llm_server import LLMServer, running
from tests.red_team.count import (
    pytest_addoption,  # noqa: F401
    pytest_collection_modifyitems,  # noqa: F401
    pytest_runtest_logreport,  # noqa: F401
    pytest_terminal_summary,  # noqa: F401
)

# The locks and valves of the demo house take two seconds, for the eye.
lock.LOCK_UNLOCK_DELAY = valve.OPEN_CLOSE_DELAY = 0.2  # type: ignore[assignment]

# At the end of a test Home Assistant ends idle threads that do not wake within half a second, and on a busy machine one that
# was interrupted takes the wakening of the others with it. A thread that really hangs still fails its test.
executor.EXECUTOR_SHUTDOWN_TIMEOUT = 60

kept.install()

# The harness logs every statement of the recorder, also between tests, where nothing catches it.
logging.getLogger("sqlalchemy.engine").setLevel(logging.WARNING)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let every report be sent from one process to another: with `-v` the log holds what tests put into states."""
    report = yield
    report.sections = [(name, text.encode(errors="replace").decode()) for name, text in report.sections]
    return report


@pytest.fixture(autouse=True)
async def enable_event_loop_debug() -> None:
    """Let loops look for calls from other threads and for slow ones, as those of the harness do.

    What else belongs to the debug mode, noting the whole stack with each future, takes a third of all time.
    """
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    loop.get_debug = lambda: False  # type: ignore[method-assign]


@pytest.fixture
def no_collection() -> Generator[None]:
    """Keep the garbage collector from taking its time where a test counts time."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def level_of_the_log() -> Generator[None]:
    """Take back the level that an entry sets, which is unloaded after everything that a test itself put back."""
    logger = logging.getLogger("custom_components.home_agent")
    before = logger.level
    yield
    logger.setLevel(before)


@pytest.fixture
def hass_config_dir(tmp_path: Path, level_of_the_log: None) -> str:
    """Let each test have its own configuration folder; the harness's belongs to all, and its files are written by some.

    A `hass` is made after it, and so ends before what it asks for.
    """
    path = tmp_path / "config"
    path.mkdir()
    return str(path)


@pytest.fixture
async def house(hass: HomeAssistant, enable_custom_integrations: None) -> None:
    """Let Home Assistant find our integration and know about exposure."""
    assert await async_setup_component(hass, "homeassistant", {})


@pytest.fixture(autouse=True)
def house_where_needed(request: pytest.FixtureRequest) -> None:
    """Set the house up in tests that have a `hass`; its recorder, where one is asked for, has to come first."""
    for name, wanted_with in (("recorder_mock", "recorder_mock"), ("house", "hass")):
        if wanted_with in request.fixturenames:
            request.getfixturevalue(name)


@pytest.fixture
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the demo house; a module whose every test needs it says so with `pytestmark`."""
    await build_house(hass)


@pytest.fixture
def admin(hass: HomeAssistant, hass_admin_user: MockUser) -> Context:
    return Context(user_id=hass_admin_user.id)


@pytest.fixture
def alice(hass: HomeAssistant) -> Context:
    """Somebody who may see and control everything but is no administrator."""
    return person(hass)


@pytest.fixture
def documents_file(hass_config_dir: str) -> Path:
    """Return where the embedded store keeps its file."""
    return Path(hass_config_dir, STORAGE_DIR, "home_agent.documents.db")


@pytest.fixture
async def embedding_server(socket_enabled: None) -> AsyncGenerator[EmbeddingServer]:
    """An embedding endpoint on 127.0.0.1; see tests/embedding_server.py."""
    server = EmbeddingServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def llm_server(socket_enabled: None) -> AsyncGenerator[LLMServer]:
    """An OpenAI-compatible endpoint on 127.0.0.1 that answers as the test plans; see tests/llm_server.py."""
    async with running() as server:
        yield server


@pytest.fixture
async def expert(socket_enabled: None) -> AsyncGenerator[LLMServer]:
    """A second endpoint."""
    async with running() as server:
        yield server
