"""What every attempt needs."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
import logging
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from tests import house
from tests.house import set_up
from tests.llm_server import LLMServer
from tests.tools.custom.rest_server import RestServer
from tests.tools.mcp.hostile import Hostile

from .front import DIFFERS, Front
from .world import Witness, build_world

type SetUp = Callable[..., Awaitable[MockConfigEntry]]


@pytest.fixture
async def servers(socket_enabled: None) -> AsyncGenerator[tuple[RestServer, RestServer]]:
    """The server that tools may ask, and one that nothing may reach."""
    mine, elsewhere = RestServer(), RestServer()
    await mine.start()
    await elsewhere.start()
    yield mine, elsewhere
    await mine.stop()
    await elsewhere.stop()


@pytest.fixture
async def witness(
    hass: HomeAssistant,
    house: None,
    llm_server: LLMServer,
    servers: tuple[RestServer, RestServer],
    caplog: pytest.LogCaptureFixture,
    front: Front | None,
) -> AsyncGenerator[Witness]:
    """The house, watched; what the witness saw is judged after the test, whatever the test itself looks at.

    Then something is done that nothing forbids: where that does not happen, the attempt proves nothing either.
    """
    caplog.set_level(logging.INFO)
    await build_world(hass)
    witness = Witness(hass, llm_server, *servers, caplog)
    if front is not None:
        front.stand_before(llm_server)
    yield witness
    await witness.check()
    await witness.act()


@pytest.fixture
def front(request: pytest.FixtureRequest) -> Front | None:
    """Return the agent that stands before the one under attack, where the run asks for one."""
    kind = request.config.getoption("--front")
    if kind and (why := DIFFERS.get(request.node.originalname)):
        pytest.skip(why)
    return Front(kind) if kind else None


@pytest.fixture
def start(hass: HomeAssistant, witness: Witness, front: Front | None) -> SetUp:
    """Return a function that sets Home Agent up, with `yaml` as its part of the configuration, and begins to watch."""

    async def start(*, yaml: dict[str, Any] | None = None, model: bool = True, **fields: Any) -> MockConfigEntry:
        if yaml is not None:
            assert await async_setup_component(hass, "home_agent", {"home_agent": yaml})
        if front is not None:
            fields = front.set_up(fields)
        witness.entry = await set_up(hass, witness.server if model else None, **fields)
        witness.acts_by_model = model and not (fields.get("profile") or {}).get("local_first")
        witness.watch()
        return witness.entry

    return start


@pytest.fixture
def person(hass: HomeAssistant) -> Callable[..., Context]:
    """Return a function that adds a person who may control everything, or what a policy says."""
    return partial(house.person, hass)


@pytest.fixture
async def hostile(hass: HomeAssistant, witness: Witness) -> AsyncGenerator[Hostile]:
    """A server that means harm; it is left before the witness is asked, who waits for all that goes on."""
    server = Hostile()
    await server.start()
    yield server
    assert witness.entry is not None
    assert await hass.config_entries.async_unload(witness.entry.entry_id)
    await server.stop()
