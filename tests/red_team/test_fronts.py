"""A sample of the attempts, made by an agent to which another one hands what was said: nothing more gets through.

All others are made in the same way with `--front delegating` and `--front routing`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from inspect import signature
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
import pytest

from tests.automations.home import Talk
from tests.house import say, speech, subentry
from tests.llm_server import text, tool_call

from . import test_automations, test_confirmation, test_injection, test_targets
from .automating import automation, made, with_files
from .conftest import SetUp
from .front import Front
from .world import DOOR, GARAGE, HIDDEN_DOOR, UNLOCK, Witness

REQUEST = "What was asked."
ASK = tool_call("delegate_to_service", {"target_service_id": "worker", "user_request": REQUEST})

type Attempt = Callable[..., Awaitable[None]]


@pytest.fixture
def front(request: pytest.FixtureRequest) -> Front | None:
    """Let an agent stand before the one under attack where a case names one; with `--front` one stands before all others."""
    if request.config.getoption("--front"):
        pytest.skip("the attempts are made themselves")
    return Front(request.param) if hasattr(request, "param") else None


def attempts(tried: Attempt, **given: Any) -> list[Any]:
    """Return an attempt with each of some values."""
    [(name, values)] = given.items()
    listed = values.items() if isinstance(values, dict) else ((str(value), value) for value in values)
    return [pytest.param(tried, {name: value}, id=f"{tried.__name__}-{key}".replace(" ", "_")) for key, value in listed]


ATTEMPTS = [
    *attempts(test_confirmation.test_a_model_that_confirms_itself, more=test_confirmation.SELF),
    *attempts(test_confirmation.test_model_words, words=test_confirmation.WORDS),
    *attempts(test_confirmation.test_a_tool_that_confirms, name=test_confirmation.TOOLS),
    *attempts(
        test_confirmation.test_somebody_elses_yes, attempt={item.__name__: item for item in test_confirmation.OTHERS}
    ),
    *attempts(test_confirmation.test_permission_taken_away, policy=[{}, {"entities": {"all": {"read": True}}}]),
    *attempts(test_confirmation.test_another_house_after_the_question, change=test_confirmation.CHANGES),
    pytest.param(test_confirmation.test_many_calls_in_one_message, {}, id="many calls"),
    pytest.param(test_confirmation.test_other_arguments_afterwards, {}, id="other arguments"),
    pytest.param(test_confirmation.test_more_doors_afterwards, {}, id="more doors"),
    pytest.param(test_confirmation.test_user_deactivated, {}, id="user deactivated"),
    pytest.param(test_confirmation.test_a_late_yes, {"later": 121, "timer": True}, id="late yes"),
    *attempts(test_targets.test_target, target=test_targets.NAMED),
    *(
        pytest.param(test_targets.test_doors_without_a_yes, {"arguments": arguments, "who": who}, id=f"{name}-{who}")
        for name, arguments in test_targets.ACTIONS.items()
        for who in ("a person", "nobody")
    ),
    *(
        pytest.param(test_injection.test_in_the_house, {"spread": spread}, id=spread.__name__)
        for spread in (test_injection.in_a_name, test_injection.in_a_state, test_injection.in_an_alias)
    ),
]


@pytest.mark.parametrize(("front", "attempt", "given"), [
    *(pytest.param("delegating", *case.values, id=f"delegating-{case.id}") for case in ATTEMPTS),
    *(pytest.param("routing", *case.values, id=f"routing-{case.id}") for case in ATTEMPTS[::2]),
], indirect=["front"])  # fmt: skip
async def test_behind_another_agent(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    front: Front,
    alice: Context,
    person: Callable[..., Context],
    freezer: FrozenDateTimeFactory,
    attempt: Attempt,
    given: dict[str, Any],
) -> None:
    fixtures = {"hass": hass, "witness": witness, "start": start, "alice": alice, "person": person, "freezer": freezer}
    wanted = signature(attempt).parameters
    await attempt(**{name: value for name, value in (fixtures | given).items() if name in wanted})
    assert front.handed_on, "nothing was handed on"


@pytest.fixture
async def file(hass: HomeAssistant, witness: Witness) -> AsyncGenerator[Path]:
    yield await with_files(hass)
    for entity_id in hass.states.async_entity_ids("automation"):
        await hass.services.async_call("automation", "turn_off", {"entity_id": entity_id}, blocking=True)


@pytest.mark.parametrize("front", ["delegating", "routing"], indirect=True)
@pytest.mark.parametrize("config", [
    *(test_automations.HIDDEN_READS[name] for name in ("a state", "put together", "all states")),
    automation({"action": "lock.unlock", "target": {"entity_id": HIDDEN_DOOR}}),
    automation({"action": "shell_command.anything"}),
])  # fmt: skip
async def test_automations_behind_another_agent(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    front: Front,
    admin: Context,
    file: Path,
    config: dict[str, Any],
) -> None:
    await start(profile=test_automations.PROFILE)
    before = file.read_bytes()
    talk = Talk(hass, witness.server, admin)
    await talk.ask(("create_automation", config))
    await talk.say("yes")
    assert front.handed_on, "nothing was handed on"
    assert file.read_bytes() == before


@pytest.mark.parametrize("front", ["delegating", "routing"], indirect=True)
async def test_an_automation_behind_another_agent(
    hass: HomeAssistant, witness: Witness, start: SetUp, front: Front, admin: Context, file: Path
) -> None:
    """The control of those above: what nothing forbids is asked about, and made after the yes."""
    await start(profile=test_automations.PROFILE)
    talk = Talk(hass, witness.server, admin)
    before = file.read_bytes()
    await talk.ask(("create_automation", automation()))
    assert file.read_bytes() == before
    await talk.say("yes")
    assert front.handed_on
    assert made(file) is not None


@pytest.mark.parametrize("rule", ["never_offer", "always_ask"])
@pytest.mark.parametrize("entity_id", [DOOR, GARAGE])
async def test_the_rules_of_the_first_agent(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, rule: str, entity_id: str
) -> None:
    """It asks an agent that may do everything, and nobody says yes."""
    data = {"local_first": False, "delegation_level": "unrestricted", "never_ask": ["lock", "cover"]}
    worker = subentry("profile", "Worker", "profile-2", data)
    await start(
        profile={"delegate_to": ["profile-2"], rule: [entity_id], "never_ask": ["lock", "cover"]}, more=[worker]
    )
    witness.server.respond(lambda body: text("Done."))
    action = "turn_off" if entity_id == DOOR else "turn_on"
    witness.server.plan(ASK, tool_call("ha_control", {"action": action, "entity_id": entity_id}))
    await say(hass, "open it", context=alice)


async def test_a_yes_is_for_the_request(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    worker = subentry("profile", "Worker", "profile-2", {"local_first": False})
    await start(profile={"delegate_to": ["profile-2"]}, more=[worker])
    witness.server.plan(ASK)
    result = await say(hass, "let me in", context=alice)
    assert "Let Worker do this" in speech(result)
    witness.server.plan(tool_call("ha_control", UNLOCK))
    assert "Unlock it?" in speech(await say(hass, "yes", result.conversation_id, context=alice))
