"""Wishes that wait: what may not happen now may not happen later either, and by no one else."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.persistent_notification import _async_get_or_create_notifications
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, llm
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events, async_mock_service

from custom_components.home_agent.agent.due import async_run_wish
from custom_components.home_agent.policy.channels import CONFIRM
from custom_components.home_agent.policy.confirmation import Call
from custom_components.home_agent.policy.wishing import CancelWishes, ChangeWish, MakeWish, check_asks, step_of
from custom_components.home_agent.settings.profile import Narrowing
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.support.errors import ToolError
from custom_components.home_agent.turn.plan import ActionClass, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Turn, TurnRecord, running
from custom_components.home_agent.wishes.due import Due, DueReason, Stays
from custom_components.home_agent.wishes.when import Watch, When
from custom_components.home_agent.wishes.wish import Step, Wish, WishKind, WishStatus
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, speech, state_of
from tests.llm_server import text, tool_call
from tests.policy.confirmation.test_phones import add_phone, press
from tests.wish_rows import effect, wish_of

from .conftest import SetUp
from .front import Front
from .test_changed_contents import reload
from .world import (
    ALARM,
    DOOR,
    GARAGE,
    HIDDEN_DOOR,
    HIDDEN_LIGHT,
    PIN,
    UNLOCK,
    Witness,
    act_on,
    registry_id,
    rest,
)

SATELLITE, OTHER_SATELLITE = "assist_satellite.hall", "assist_satellite.cellar"
OPEN_DOOR = effect("lock.unlock", DOOR)
LIGHT = "light.bed_light"
ON = effect("light.turn_on", LIGHT)

type Do = Callable[..., Awaitable[Stays | None]]
type Make = Callable[..., Awaitable[Wish | None]]


@pytest.fixture
def agent_id(front: Front | None) -> str:
    """Return which agent is under attack."""
    return "profile-9" if front is not None else "profile-1"


@pytest.fixture
def do(hass: HomeAssistant, witness: Witness, agent_id: str) -> Do:
    """Return a function that does a wish as what waits for it would."""

    async def do(
        context: Context | None, *steps: Step, late: float = 0, reason: DueReason = DueReason.TIME, **fields: Any
    ) -> Stays | None:
        assert witness.entry is not None
        wish = wish_of(context, *steps, **{"agent_id": agent_id, **fields})
        due = Due(late=timedelta(minutes=late), reason=reason)
        wishes, begun = wishes_of(hass), replace(wish, status=WishStatus.RUNNING)
        wishes.put(begun)
        stays = await async_run_wish(hass, witness.entry.runtime_data, begun, due)
        if stays is None:
            wishes.drop([begun])
        elif wishes.get(wish.id) is not None:
            wishes.put(replace(wish, status=WishStatus.ASKED))
        await hass.async_block_till_done()
        return stays

    return do


@pytest.fixture
def make(hass: HomeAssistant, witness: Witness, agent_id: str) -> Make:
    """Return a function that makes a wish for the light in a turn; it returns the wish if it waits now."""

    async def make(context: Context | None, wish: Wish | None = None, by_wish: str = "", **fields: Any) -> Wish | None:
        fields = {**fields, **({"wish": by_wish} if by_wish else {})}
        turn = await turn_of(hass, witness, agent_id, context, **fields)
        later = wish or later_of(context)
        if later.agent_id == "profile-1":  # the agent under attack, unless one stands before it
            later = replace(later, agent_id=agent_id)
        with running(turn):
            await policy_of(witness).async_call(
                turn, MakeWish(later), llm.ToolInput(tool_name="make_wish", tool_args={}, external=True)
            )
        policy_of(witness).confirmations.drop(turn)
        return wishes_of(hass).get(later.id)

    return make


def policy_of(witness: Witness) -> Any:
    assert witness.entry is not None
    return witness.entry.runtime_data.policy


def later_of(context: Context | None, *steps: Step, minutes: float = 10, **fields: Any) -> Wish:
    when = When(at=dt_util.utcnow() + timedelta(minutes=minutes), words="later")
    return wish_of(context, *(steps or (ON,)), **{"when": when, **fields})


async def turn_of(hass: HomeAssistant, witness: Witness, agent_id: str, context: Context | None, **fields: Any) -> Turn:
    assert witness.entry is not None
    runtime, context = witness.entry.runtime_data, context or Context()
    user = await hass.auth.async_get_user(context.user_id) if context.user_id else None
    given = {
        "profile": runtime.profiles[agent_id], "conversation_id": "talk", "text": "later", "language": "en",
        "context": context, "user": user, "direct": True,
    }  # fmt: skip
    return Turn(**{**given, **fields})


def told(hass: HomeAssistant) -> str:
    return "\n".join(item["message"] for item in _async_get_or_create_notifications(hass).values())


def add_satellites(hass: HomeAssistant) -> list[Any]:
    for entity_id in (SATELLITE, OTHER_SATELLITE):
        hass.states.async_set(entity_id, "idle", {"supported_features": 3})
    async_mock_service(hass, "assist_satellite", "start_conversation")
    return async_mock_service(hass, "assist_satellite", "announce")


def at(**fields: Any) -> dict[str, Any]:
    return {"satellite_id": SATELLITE, **fields}


NOT_THERE: Mapping[str, Step] = {
    "a hidden light": effect("light.turn_on", HIDDEN_LIGHT),
    "a hidden light by another action": effect("homeassistant.turn_on", HIDDEN_LIGHT),
    "a light that it toggles": effect("light.toggle", HIDDEN_LIGHT),
    "a group of lights": effect("light.turn_on", "light.mixed"),
    "a group": effect("homeassistant.turn_on", "group.mixed"),
    "a hidden lock": effect("lock.unlock", HIDDEN_DOOR),
    "a hidden script": effect("script.turn_on", "script.secret"),
    "a script by its name": effect("script.secret"),
    "a hidden automation": effect("automation.trigger", "automation.secret"),
    "a hidden scene": effect("scene.turn_on", "scene.secret"),
    "what a script is told": effect("script.turn_on", "script.relay", variables={"lamp": HIDDEN_LIGHT}),
    "a script with what it is told": effect("script.relay", lamp=HIDDEN_LIGHT),
    "a scene made on the way": effect("scene.apply", entities={DOOR: "unlocked", HIDDEN_LIGHT: "on"}),
    "another one beside it": effect("light.turn_on", LIGHT, HIDDEN_LIGHT),
    "a program": effect("shell_command.let_in"),
    "a yes": effect("home_agent.confirm"),
    "a template": effect("light.turn_on", "{{ 'light.office_rgbw_lights' }}"),
    "a tool that hides it": Step(tool="ha_control", arguments={"action": "turn_on", "entity_id": HIDDEN_LIGHT}),
    "a tool that unlocks": Step(tool="ha_control", arguments=UNLOCK),
    "a tool that is not there": Step(tool="unlock_all", arguments={}),
    "an intent for a hidden light": Step(intent="HassTurnOn", arguments={"name": HIDDEN_LIGHT}),
    "an intent for all": Step(intent="HassTurnOn", arguments={"domain": ["lock"], "area": "Bedroom"}),
    "an intent that unlocks": Step(intent="HassTurnOff", arguments={"name": "Front Door", "domain": ["lock"]}),
    "an intent of no one": Step(intent="HassUnlockAll", arguments={"name": DOOR}),
    "words for a hidden light": Step(command="turn on the office rgbw lights", targets=(LIGHT,)),
    "words that unlock": Step(command="unlock the front door", targets=(DOOR,)),
    "words that are a yes": Step(command="yes", targets=(DOOR,)),
    "words that open": Step(command="open the garage", targets=(GARAGE,)),
}


@pytest.mark.parametrize("who", ["a user", "a satellite"])
@pytest.mark.parametrize("step", NOT_THERE.values(), ids=NOT_THERE.keys())
async def test_later_what_now_is_refused(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, step: Step, who: str
) -> None:
    act_on(hass, "shell_command.let_in", DOOR)
    await start()
    await do(alice, step) if who == "a user" else await do(None, step, satellite_id=SATELLITE)
    assert told(hass).startswith("Not done: ")
    assert "Office RGBW" not in told(hass)


SENSITIVE: Mapping[str, Step] = {
    "lock": OPEN_DOOR,
    "latch": effect("lock.open", DOOR),
    "garage": effect("cover.open_cover", GARAGE),
    "alarm": effect("alarm_control_panel.alarm_disarm", ALARM),
    "words": Step(command="unlock the front door", targets=(DOOR,)),
    "intent": Step(intent="HassTurnOff", arguments={"name": "Front Door", "domain": ["lock"]}, targets=(DOOR,)),
}


@pytest.mark.parametrize("spared", [["lock", "cover", "alarm_control_panel"], ["*"], [DOOR, GARAGE, ALARM, "due_wish"]])
@pytest.mark.parametrize("step", SENSITIVE.values(), ids=SENSITIVE.keys())
async def test_what_is_never_asked_about_is_asked_about_later(
    witness: Witness, start: SetUp, alice: Context, do: Do, step: Step, spared: Sequence[str]
) -> None:
    await start(profile={"never_ask": [*spared]}, options={"never_confirm": [*spared]})
    assert await do(alice, step) is None


@pytest.mark.parametrize(
    "profile",
    [
        {"never_offer": ["light"]},
        {"never_offer": [LIGHT]},
        {"never_offer": ["light.turn_on"]},
        {"may_change": ["switch"]},
        {"exposed_entities": ["switch"]},
        {"exposed_areas": ["kitchen"]},
        {"always_ask": [LIGHT]},
        {"always_ask": ["light.turn_on"]},
        {"people": ["no_user"]},
    ],
)
async def test_a_rule_that_was_made_since(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, profile: dict[str, Any]
) -> None:
    await start(profile=profile)
    witness.acts_by_model = False
    witness.entry, entry = witness.entry, witness.entry
    await do(alice, ON)
    assert state_of(hass, LIGHT) == "off"
    assert told(hass)
    witness.entry = None
    assert entry is not None


@pytest.mark.parametrize("ways", ["deleted", "deactivated", "no right", "sees nothing", "only reads"])
async def test_a_user_who_lost_the_right(
    hass: HomeAssistant, witness: Witness, start: SetUp, do: Do, ways: str
) -> None:
    await start()
    policies: dict[str, dict[str, Any]] = {
        "no right": {"entities": {"domains": {"switch": True}}},
        "sees nothing": {},
        "only reads": {"entities": {"all": {"read": True}}},
    }
    mallory = person(hass, "Mallory", policies.get(ways))
    user = await hass.auth.async_get_user(str(mallory.user_id))
    assert user is not None
    if ways == "deleted":
        await hass.auth.async_remove_user(user)
    elif ways == "deactivated":
        await hass.auth.async_deactivate_user(user)
    await do(mallory, ON)
    assert state_of(hass, LIGHT) == "off"
    assert ("Bed Light" in told(hass)) is (ways == "only reads")


@pytest.mark.parametrize("kind", [WishKind.REMINDER, WishKind.QUESTION, WishKind.WAKE, WishKind.TIMER])
async def test_a_deleted_user_is_told_nothing(
    hass: HomeAssistant, witness: Witness, start: SetUp, do: Do, kind: WishKind
) -> None:
    await start()
    mallory = person(hass, "Mallory")
    user = await hass.auth.async_get_user(str(mallory.user_id))
    assert user is not None
    await hass.auth.async_remove_user(user)
    await do(mallory, kind=kind, text="the vault is open")
    assert told(hass) == ""
    assert not witness.server.requests


async def test_an_entity_hidden_since(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    await start()
    async_expose_entity(hass, ASSISTANT, LIGHT, False)
    await do(alice, ON)
    assert state_of(hass, LIGHT) == "off"
    assert "Bed Light" not in told(hass)


async def test_the_id_of_another_one(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    await start()
    await do(alice, ON, registered={LIGHT: registry_id(hass, "light.ceiling_lights")})
    assert state_of(hass, LIGHT) == "off"


@pytest.mark.parametrize("spared", [[], ["script", "lock"]])
async def test_a_script_that_unlocks_since(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, spared: list[str]
) -> None:
    await start(profile={"never_ask": spared})
    changed = {"harmless": {"sequence": [{"action": "lock.unlock", "target": {"entity_id": DOOR}}]}}
    await reload(hass, script=changed)
    async_expose_entity(hass, ASSISTANT, "script.harmless", True)
    assert await do(alice, effect("script.turn_on", "script.harmless")) is None
    assert "no way to ask" in told(hass)


@pytest.mark.parametrize("spared", [[], ["scene", "lock"]])
async def test_a_scene_that_unlocks_since(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, spared: list[str]
) -> None:
    await start(profile={"never_ask": spared})
    await hass.services.async_call(
        "scene", "create", {"scene_id": "fresh", "entities": {DOOR: "unlocked"}}, blocking=True
    )
    async_expose_entity(hass, ASSISTANT, "scene.fresh", True)
    await do(alice, effect("scene.turn_on", "scene.fresh"))
    assert told(hass).startswith("Not done: ")


async def test_only_its_part_of_the_home(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    await start()
    kitchen = ar.async_get(hass).async_get_or_create("Kitchen")
    await do(alice, ON, within=(Narrowing(frozenset({kitchen.id}), frozenset(), ()),))
    assert state_of(hass, LIGHT) == "off"
    assert "Bed Light" not in told(hass)


@pytest.mark.parametrize(
    "words", ["turn on all lights", "turn on the ceiling lights", "turn on the bed light and the ceiling lights"]
)
async def test_words_reach_no_more_than_their_targets(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, words: str
) -> None:
    await start()
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.ceiling_lights"}, blocking=True)
    await do(alice, Step(command=words, targets=(LIGHT,)))
    assert state_of(hass, "light.ceiling_lights") == "off"


# Who makes wishes


@pytest.mark.parametrize("ways", ["an automation", "a wish", "its context", "a child", "a grandchild"])
async def test_no_wish_by(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make, agent_id: str, ways: str
) -> None:
    await start()
    ran = Context(user_id=alice.user_id)
    child = Context(user_id=alice.user_id, parent_id=ran.id)
    grandchild = Context(user_id=alice.user_id, parent_id=child.id)
    wishes_of(hass).note_run(ran)
    hass.bus.async_fire("automation_triggered", {"entity_id": "automation.morning"}, context=child)
    await hass.async_block_till_done()
    match ways:
        case "an automation":
            made = await make(None)
        case "a wish":
            made = await make(alice, by_wish="01")
        case "its context":
            made = await make(ran)
        case "a child":
            made = await make(child)
        case _:
            made = await make(grandchild)
    assert made is None


async def test_a_wish_that_is_allowed(witness: Witness, start: SetUp, alice: Context, make: Make) -> None:
    """The control of those above: by a person it is made."""
    await start()
    assert await make(Context(user_id=alice.user_id)) is not None


async def test_no_wish_by_what_a_wish_started(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, make: Make
) -> None:
    await start()
    found: list[object] = []

    async def plans(call: Any) -> None:
        found.append(await make(Context(user_id=alice.user_id)))

    hass.services.async_register("script", "planner", plans)
    hass.states.async_set("script.planner", "off", {})
    hass.services.async_register("light", "turn_on", plans)
    await do(alice, ON)
    assert found == [None]


PLANNERS: dict[str, dict[str, Any]] = {
    "a script": {"plans": {"sequence": [{"action": "home_agent.process", "data": {"text": "{{ said }}"}}]}},
    "a script of a script": {
        "plans": {"sequence": [{"action": "script.inner"}]},
        "inner": {"sequence": [{"action": "home_agent.process", "data": {"text": "{{ said }}"}}]},
    },
    "a script that waits": {
        "plans": {
            "sequence": [
                {"delay": {"milliseconds": 50}}, {"action": "home_agent.process", "data": {"text": "{{ said }}"}},
            ]
        }
    },
    "a script by itself": {
        "plans": {"sequence": [{"action": "script.turn_on", "target": {"entity_id": "script.inner"}}]},
        "inner": {"sequence": [{"action": "conversation.process", "data": {"text": "{{ said }}", "agent_id": "conversation.home_agent"}}]},
    },
    "an event": {"plans": {"sequence": [{"event": "plan_it"}]}},
}  # fmt: skip
ON_EVENT = [
    {
        "id": "first", "alias": "First", "triggers": [{"trigger": "event", "event_type": "plan_it"}],
        "actions": [{"event": "plan_it_again"}],
    },
    {
        "id": "second", "alias": "Second", "triggers": [{"trigger": "event", "event_type": "plan_it_again"}],
        "actions": [{"action": "home_agent.process", "data": {"text": "turn on the ceiling lights in five minutes"}}],
    },
]  # fmt: skip


@pytest.mark.parametrize("scripts", PLANNERS.values(), ids=PLANNERS.keys())
async def test_a_loop(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, scripts: dict[str, Any]
) -> None:
    """A wish starts what says a wish again: by scripts, and by automations three deep."""
    await start(model=False, profile={"never_ask": ["script", "home_agent"]}, options={"never_confirm": ["script"]})
    said = {"variables": {"said": "turn on the ceiling lights in five minutes"}}
    await reload(hass, script={name: {**script, **said} for name, script in scripts.items()}, automation=ON_EVENT)
    async_expose_entity(hass, ASSISTANT, "script.plans", True)
    heard = async_capture_events(hass, "home_agent.conversation.finished")
    stays = await do(alice, effect("script.turn_on", "script.plans"))
    add_phone(hass, alice)
    if stays is None and not heard:  # it needs a yes, as it talks: with one it goes on
        assert await do(alice, effect("script.turn_on", "script.plans")) is not None
        [question] = policy_of(witness).confirmations.open()
        await press(hass, CONFIRM, question.id, alice)
    for _ in range(20):
        await asyncio.sleep(0.02)
        await hass.async_block_till_done()
    assert heard
    assert wishes_of(hass).all() == []


async def test_what_a_person_says_is_a_wish(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    """The control of those: the same words of a person make one."""
    await start(model=False)
    await say(hass, "turn on the ceiling lights in five minutes", context=alice)
    assert len(wishes_of(hass).all()) == 1


async def test_no_wish_by_a_turn_below_a_wish(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make, agent_id: str
) -> None:
    await start()
    above = await turn_of(hass, witness, agent_id, alice, wish="01")
    between = await turn_of(hass, witness, agent_id, Context(user_id=alice.user_id), parent=above)
    assert await make(Context(user_id=alice.user_id), parent=between) is None


async def test_no_wish_by_another_agent(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make, agent_id: str
) -> None:
    await start()
    asked = await turn_of(hass, witness, agent_id, alice)
    other = replace(asked.profile, subentry_id="profile-other", may_change=())
    assert await make(alice, profile=other, parent=asked, delegated=True) is None


async def test_no_wish_for_someone_else(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make
) -> None:
    await start()
    admin = MockUser(name="Owner", is_owner=True).add_to_hass(hass)
    mallory = person(hass, "Mallory", {"entities": {"domains": {"light": True}}})
    assert await make(mallory, later_of(Context(user_id=admin.id))) is None


async def test_no_wish_for_another_agent(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make, agent_id: str
) -> None:
    await start()
    assert await make(alice, later_of(alice, agent_id="profile-2")) is None


async def test_a_wish_knows_no_more_of_the_home(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make
) -> None:
    await start()
    part = (Narrowing(frozenset(), frozenset(), ("switch",)),)
    assert await make(alice, within=part) is None
    assert await make(alice, later_of(alice, within=part), within=part) is not None


@pytest.mark.parametrize("entity_id", [HIDDEN_LIGHT, HIDDEN_DOOR, "sensor.vault", "lock.nothing"])
async def test_no_wish_that_looks_at_what_is_hidden(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make, entity_id: str
) -> None:
    await start()
    when = When(event=Watch(entity_ids=(entity_id,), states=("on", "unlocked")), words="when")
    assert await make(alice, later_of(alice, when=when, kind=WishKind.TELL)) is None
    when = When(at=dt_util.utcnow() + timedelta(hours=1), conditions=(when.event,) if when.event else ())
    assert await make(alice, later_of(alice, when=when)) is None


async def test_a_hidden_condition_is_not_told(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    await start()
    when = When(at=dt_util.utcnow(), conditions=(Watch(entity_ids=("sensor.vault",), states=("open",)),))
    await do(alice, ON, when=when)
    assert "Vault" not in told(hass)
    assert state_of(hass, LIGHT) == "off"


# Text from outside


async def test_no_wish_after_foreign_text(witness: Witness, start: SetUp, alice: Context, make: Make) -> None:
    await start()
    assert await make(alice, record=TurnRecord(taints={"page"})) is None


@pytest.mark.parametrize("ways", ["cancelled", "changed"])
async def test_a_wish_that_protects_is_kept_after_foreign_text(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, agent_id: str, make: Make, ways: str
) -> None:
    await start()
    locks = await make(alice, later_of(alice, effect("lock.lock", DOOR)))
    assert locks is not None
    tool = (
        CancelWishes([locks])
        if ways == "cancelled"
        else ChangeWish(replace(locks, when=later_of(alice, minutes=9_000).when))
    )
    turn = await turn_of(hass, witness, agent_id, alice, record=TurnRecord(taints={"page"}))
    with running(turn):
        await policy_of(witness).async_call(turn, tool, llm.ToolInput(tool_name="x", tool_args={}, external=True))
    policy_of(witness).confirmations.drop(turn)
    assert wishes_of(hass).get(locks.id) == locks


@pytest.mark.parametrize("ways", ["cancelled", "changed"])
async def test_a_wish_of_someone_else(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, agent_id: str, make: Make, ways: str
) -> None:
    await start()
    locks = await make(alice, later_of(alice, effect("lock.lock", DOOR)))
    assert locks is not None
    tool = (
        CancelWishes([locks])
        if ways == "cancelled"
        else ChangeWish(replace(locks, when=later_of(alice, minutes=9_000).when))
    )
    turn = await turn_of(hass, witness, agent_id, person(hass, "Mallory"))
    with running(turn):
        await policy_of(witness).async_call(turn, tool, llm.ToolInput(tool_name="x", tool_args={}, external=True))
    assert wishes_of(hass).get(locks.id) == locks


@pytest.mark.parametrize("how", ["hidden", "not to be read"])
@pytest.mark.parametrize("looks", ["at an event", "at a condition"])
async def test_a_state_that_may_not_be_known_any_more(
    hass: HomeAssistant, witness: Witness, start: SetUp, do: Do, how: str, looks: str
) -> None:
    await start()
    may = {LIGHT: {"read": True, "control": True}} | ({DOOR: {"read": True}} if how == "hidden" else {})
    mallory = person(hass, "Mallory", {"entities": {"entity_ids": may}})
    if how == "hidden":
        async_expose_entity(hass, ASSISTANT, DOOR, False)
    watch, now = Watch(entity_ids=(DOOR,), states=(state_of(hass, DOOR),)), dt_util.utcnow()
    event = {"event": watch, "of": (DOOR,)} if looks == "at an event" else {"conditions": (watch,)}
    when = When(at=now, words="when the door is so", **event)
    await do(mallory, kind=WishKind.TELL, text="the door is so", when=when, reason=DueReason.EVENT)
    assert told(hass) == "Not done: “when the door is so”. Something that it needs is not there any more."


# Secrets


@pytest.mark.parametrize(
    "call",
    [
        ServiceCall(domain="lock", service="unlock", entity_ids=(DOOR,), data={"code": PIN}),
        ServiceCall(domain="rest_command", service="x", data={"api_key": "k"}),
        ServiceCall(domain="script", service="x", data={"variables": [{"door": {"pin_code": 4711}}]}),
        ServiceCall(domain="rest_command", service="x", data={"body": '{"user": {"password": "hunter2"}}'}),
    ],
)
async def test_no_code_waits(witness: Witness, start: SetUp, call: ServiceCall) -> None:
    await start()
    plan = Plan(action=ActionClass.WRITE, effects=(call,), targets=call.entity_ids)
    from custom_components.home_agent.agent.wish_steps import DueEffects

    with pytest.raises(ToolError):
        step_of(Call(tool=DueEffects([call]), arguments={}, plan=plan))


@pytest.mark.parametrize(
    "data",
    [
        {"item": "shopping"},
        {"color_name": "pink"},
        {"message": "my passport and the keys"},
        {"item": "{pins"},
        {"code": ""},
        {"bypass": True},
    ],
)
async def test_what_only_sounds_like_a_code_waits(witness: Witness, start: SetUp, data: dict[str, Any]) -> None:
    await start()
    call = ServiceCall(domain="todo", service="add_item", entity_ids=(LIGHT,), data=data)
    from custom_components.home_agent.agent.wish_steps import DueEffects

    plan = Plan(action=ActionClass.WRITE, effects=(call,), targets=call.entity_ids)
    assert step_of(Call(tool=DueEffects([call]), arguments=data, plan=plan)).effects == (call.as_dict(),)


async def test_no_code_in_the_journal(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make
) -> None:
    entry = await start()
    await make(alice, later_of(alice, words=f"remind me that it is {PIN}", text=f"it is {PIN}", kind=WishKind.REMINDER))
    [row] = entry.runtime_data.journal.newest_first(lambda _: True)
    assert PIN not in str(row.as_dict())


async def test_the_journal_keeps_what_was_said_and_not_what_is_told_or_done(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make
) -> None:
    """Undoing it says its words all the same, while they are known."""
    entry = await start()
    private = later_of(alice, words="remind me of the surprise", text="the surprise", kind=WishKind.REMINDER)
    await make(alice, private)
    [row] = entry.runtime_data.journal.newest_first(lambda _: True)
    assert "surprise" not in str(row.as_dict() | {"words": ""})
    undone = speech(await say(hass, "undo that", context=alice))
    assert not wishes_of(hass).all()
    assert "remind me of the surprise" in undone


# A yes


async def ask(hass: HomeAssistant, do: Do, start: SetUp, **fields: Any) -> Any:
    entry = await start(**{"model": False, **fields})
    add_satellites(hass)
    assert await do(None, OPEN_DOOR, asks=True, satellite_id=SATELLITE) is not None
    return entry.runtime_data.policy.confirmations


@pytest.mark.parametrize(
    "who", ["another satellite", "no one", "a user", "a user at the satellite", "a device", "not direct"]
)
async def test_a_yes_of_someone_else(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, agent_id: str, who: str
) -> None:
    confirmations = await ask(hass, do, start)
    places: dict[str, dict[str, Any]] = {
        "another satellite": {"satellite_id": OTHER_SATELLITE},
        "no one": {},
        "a user": {"context": alice},
        "a user at the satellite": {"context": alice, "satellite_id": SATELLITE},
        "a device": {"device_id": "hall"},
        "not direct": {"satellite_id": SATELLITE},
    }
    where = places[who]
    if who == "not direct":
        above = await turn_of(hass, witness, agent_id, alice)
        with running(above):
            await say(hass, "yes", **where)
    else:
        await say(hass, "yes", **where)
    assert len(confirmations.open()) == 1


@pytest.mark.parametrize("words", ["okay what time is it", "maybe", "unlock the front door", "no", "yes no", "not yes"])
async def test_other_words_are_no_yes(hass: HomeAssistant, witness: Witness, start: SetUp, do: Do, words: str) -> None:
    await ask(hass, do, start)
    await say(hass, words, satellite_id=SATELLITE)


async def test_a_yes_that_comes_before(hass: HomeAssistant, witness: Witness, start: SetUp, do: Do) -> None:
    await start(model=False)
    add_satellites(hass)
    await say(hass, "yes", satellite_id=SATELLITE)
    assert await do(None, OPEN_DOOR, asks=True, satellite_id=SATELLITE) is not None


async def test_a_yes_that_comes_too_late(
    hass: HomeAssistant, witness: Witness, start: SetUp, do: Do, freezer: Any
) -> None:
    await ask(hass, do, start)
    freezer.tick(timedelta(minutes=3))
    await say(hass, "yes", satellite_id=SATELLITE)


async def test_a_yes_without_its_pin(hass: HomeAssistant, witness: Witness, start: SetUp, do: Do) -> None:
    await ask(hass, do, start, options={"pins": {"unlock": PIN}})
    await say(hass, "yes", satellite_id=SATELLITE)
    await say(hass, "yes, 1234", satellite_id=SATELLITE)


async def test_a_yes_to_two_questions(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    confirmations = await ask(hass, do, start)
    await do(None, effect("cover.open_cover", GARAGE), asks=True, satellite_id=SATELLITE)
    assert len(confirmations.open()) == 1
    assert "no way to ask" in told(hass)


async def test_a_yes_to_a_question_that_a_model_put_since(
    hass: HomeAssistant, witness: Witness, start: SetUp, do: Do
) -> None:
    confirmations = await ask(hass, do, start, model=True)
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": GARAGE}), text("Really?"))
    first = await say(hass, "open the garage", satellite_id=SATELLITE)
    assert len(confirmations.open()) == 2
    await say(hass, "yes", satellite_id=SATELLITE)
    await say(hass, "no", first.conversation_id, satellite_id=SATELLITE)


async def test_a_yes_of_another_phone(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    entry = await start()
    add_phone(hass, alice)
    mallory = person(hass, "Mallory")
    assert await do(alice, OPEN_DOOR, asks=True) is not None
    [question] = entry.runtime_data.policy.confirmations.open()
    await press(hass, CONFIRM, question.id, mallory)
    await press(hass, CONFIRM, question.id, Context())
    assert entry.runtime_data.policy.confirmations.open()


async def test_a_yes_after_the_right_is_lost(hass: HomeAssistant, witness: Witness, start: SetUp, do: Do) -> None:
    entry = await start()
    user = MockUser(name="Mallory").add_to_hass(hass)
    user.mock_policy({"entities": {"all": True}})
    mallory = Context(user_id=user.id)
    add_phone(hass, mallory)
    await do(mallory, OPEN_DOOR, asks=True)
    [question] = entry.runtime_data.policy.confirmations.open()
    user.mock_policy({"entities": {"domains": {"light": True}}})
    await press(hass, CONFIRM, question.id, mallory)


async def test_a_yes_to_what_is_something_else_by_now(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    entry = await start()
    add_phone(hass, alice)
    await do(alice, OPEN_DOOR, asks=True)
    [question] = entry.runtime_data.policy.confirmations.open()
    async_expose_entity(hass, ASSISTANT, DOOR, False)
    await press(hass, CONFIRM, question.id, alice)


async def test_two_yeses(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do) -> None:
    """What was confirmed once is done once: locked again by hand, it stays so."""
    entry = await start()
    add_phone(hass, alice)
    witness.may_move.add(DOOR)
    await do(alice, OPEN_DOOR, asks=True)
    [question] = entry.runtime_data.policy.confirmations.open()
    await press(hass, CONFIRM, question.id, alice)
    await hass.services.async_call("lock", "lock", {"entity_id": DOOR}, blocking=True)
    await press(hass, CONFIRM, question.id, alice)
    assert state_of(hass, DOOR) == "locked"


async def test_a_phone_of_the_same_name(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    """A question goes to no phone that two users have: it is not put then."""
    await start()
    _, sent = add_phone(hass, alice)
    add_phone(hass, person(hass, "Mallory"))
    assert await do(alice, OPEN_DOOR, asks=True) is None
    assert sent == []


async def test_sensitive_and_late(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do) -> None:
    await start()
    _, sent = add_phone(hass, alice)
    assert await do(alice, OPEN_DOOR, late=5, reason=DueReason.MISSED) is None
    assert await do(alice, OPEN_DOOR, late=5, reason=DueReason.MISSED, ends=True) is None
    assert all("actions" not in call.data["data"] for call in sent)


@pytest.mark.parametrize(
    "reason",
    [DueReason.INTERRUPTED, DueReason.ASKED, DueReason.GONE, DueReason.EXPIRED, DueReason.UNMET, DueReason.UNKNOWN],
)
async def test_for_these_reasons_nothing_is_done(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, reason: DueReason
) -> None:
    await start()
    await do(alice, ON, reason=reason)
    assert state_of(hass, LIGHT) == "off"


async def test_no_one_to_ask_at_the_making(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, agent_id: str
) -> None:
    await start(profile={"never_ask": ["lock"]})
    turn = await turn_of(hass, witness, agent_id, alice)
    from custom_components.home_agent.agent.wish_steps import DueEffects

    call = ServiceCall(domain="lock", service="unlock", entity_ids=(DOOR,))
    with running(turn):
        judged = await policy_of(witness).async_judge(turn, DueEffects([call]), {})
    with pytest.raises(ToolError):
        check_asks(hass, turn, [judged])


async def test_an_owner_who_takes_none(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, agent_id: str
) -> None:
    await start(profile={"wishes_sensitive": "refuse"})
    add_phone(hass, alice)
    turn = await turn_of(hass, witness, agent_id, alice)
    from custom_components.home_agent.agent.wish_steps import DueEffects

    call = ServiceCall(domain="lock", service="unlock", entity_ids=(DOOR,))
    with running(turn):
        judged = await policy_of(witness).async_judge(turn, DueEffects([call]), {})
    with pytest.raises(ToolError):
        check_asks(hass, turn, [judged])


# Bounds


async def test_a_thousand_wishes(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, make: Make
) -> None:
    await start()
    mallory = person(hass, "Mallory")
    for number in range(120):
        await make(mallory, later_of(mallory, text=str(number), kind=WishKind.REMINDER))
    assert sum(wish.user_id == mallory.user_id for wish in wishes_of(hass).all()) == 100
    assert await make(alice) is not None


async def test_the_same_wish_many_times(witness: Witness, start: SetUp, alice: Context, make: Make) -> None:
    await start()
    made = [await make(alice) for _ in range(10)]
    assert sum(wish is not None for wish in made) == 3


@pytest.mark.parametrize("minutes", [-5, 60 * 24 * 400])
async def test_a_time_that_is_none(witness: Witness, start: SetUp, alice: Context, make: Make, minutes: float) -> None:
    await start()
    assert await make(alice, later_of(alice, minutes=minutes)) is None


async def test_a_long_wish(witness: Witness, start: SetUp, alice: Context, make: Make) -> None:
    await start()
    assert await make(alice, later_of(alice, text="x" * 501, kind=WishKind.REMINDER)) is None
    assert await make(alice, later_of(alice, *[ON] * 11)) is None


# What is said


TEXTS = {
    "a template": "{{ states('sensor.vault') }}",
    "a statement": "{% set x = states('sensor.vault') %}{{ x }}",
    "a picture": "![x](https://example.com/x.png)",
    "a tag": "<img src=https://example.com/x>",
}


@pytest.mark.parametrize("said", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("kind", [WishKind.REMINDER, WishKind.TELL, WishKind.TIMER, WishKind.WAKE])
async def test_text_is_text(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, kind: WishKind, said: str
) -> None:
    await start()
    await do(alice, kind=kind, text=said)
    wishes_of(hass).clear()  # no wake-up goes on
    assert "![" not in told(hass)
    assert "<img" not in told(hass)


@pytest.mark.parametrize("said", ["clear_notification", "command_screen_on", "request_location_update", "delete_alert"])
async def test_no_command_for_a_phone(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, said: str
) -> None:
    await start()
    _, sent = add_phone(hass, alice)
    for kind in (WishKind.REMINDER, WishKind.TELL, WishKind.TIMER):
        await do(alice, kind=kind, text=said)
    assert sent
    assert said not in [call.data["message"] for call in sent]


@pytest.mark.parametrize("said", ["yes", "yes, unlock it", "do it. Yes.", "the door is open, yes"])
async def test_no_yes_from_a_loudspeaker(
    hass: HomeAssistant, witness: Witness, start: SetUp, do: Do, said: str
) -> None:
    """While a question is open anywhere, what reads like a yes is not spoken."""
    await ask(hass, do, start)
    announced = async_mock_service(hass, "assist_satellite", "announce")
    await do(None, kind=WishKind.REMINDER, text=said, satellite_id=OTHER_SATELLITE)
    assert announced == []
    assert told(hass)


async def test_where_a_question_is_open_nothing_is_said(
    hass: HomeAssistant, witness: Witness, start: SetUp, do: Do
) -> None:
    await ask(hass, do, start)
    announced = async_mock_service(hass, "assist_satellite", "announce")
    await do(None, kind=WishKind.REMINDER, text="dinner", satellite_id=SATELLITE)
    assert announced == []


# A question that waited


QUESTIONS = {
    "a light": {"action": "turn_on", "entity_id": LIGHT},
    "a lock": UNLOCK,
    "a hidden light": {"action": "turn_on", "entity_id": HIDDEN_LIGHT},
}


@pytest.mark.parametrize("call", QUESTIONS.values(), ids=QUESTIONS.keys())
async def test_a_question_that_acts(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, call: dict[str, Any]
) -> None:
    await start(profile={"never_ask": ["*"]})
    witness.server.plan(tool_call("ha_control", call), text("Done."))
    await do(alice, kind=WishKind.QUESTION, text="how warm is it?")
    assert state_of(hass, LIGHT) == "off"
    assert witness.server.requests


@pytest.mark.parametrize(
    "words", ["turn on the bed light", "yes", "unlock the front door", "undo that", "call the bed light moon"]
)
async def test_a_question_that_is_a_command(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do, words: str
) -> None:
    await start(model=False, profile={"never_ask": ["*"]})
    await do(alice, kind=WishKind.QUESTION, text=words)
    assert state_of(hass, LIGHT) == "off"
    entry = er.async_get(hass).async_get(LIGHT)
    assert entry is not None
    assert "moon" not in entry.aliases


async def test_a_question_of_one_who_may_not_ask(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, do: Do
) -> None:
    await start(profile={"people": ["no_user"]})
    await do(alice, kind=WishKind.QUESTION, text="how warm is it?")
    assert not witness.server.requests
    witness.entry = None


# Planning does nothing


async def planning(
    hass: HomeAssistant, witness: Witness, agent_id: str, context: Context, tool: str, **arguments: Any
) -> Any:
    turn = await turn_of(hass, witness, agent_id, context, record=TurnRecord(planned=[]))
    with running(turn):
        [found] = [one for one in await policy_of(witness).offered(turn) if one.name == tool]
        call = llm.ToolInput(tool_name=tool, tool_args=arguments, external=True)
        return turn, await policy_of(witness).async_call(turn, found, call)


async def test_planning_asks_no_server(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, front: Front | None, agent_id: str
) -> None:
    if front is not None:
        pytest.skip("the tool is the agent's behind it")
    await start(yaml=rest(witness, method="GET"))
    _, result = await planning(hass, witness, agent_id, alice, "ask", a="b")
    assert result.error
    assert not witness.mine.asked


@pytest.mark.parametrize("arguments", [{"action": "turn_on", "entity_id": LIGHT}, UNLOCK])
async def test_planning_does_nothing(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    agent_id: str,
    arguments: dict[str, Any],
    front: Front | None,
) -> None:
    if front is not None:
        pytest.skip("the tool is the agent's behind it")
    await start()
    turn, result = await planning(hass, witness, agent_id, alice, "ha_control", **arguments)
    assert result.error
    assert len(turn.record.planned) == 1
    assert turn.record.request_id is None
    assert state_of(hass, LIGHT) == "off"
    assert not [event for event in witness.events if event.event_type == "home_agent.tool.executed"]


async def test_planning_does_not_read(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, agent_id: str, front: Front | None
) -> None:
    if front is not None:
        pytest.skip("the tool is the agent's behind it")
    await start()
    _, result = await planning(hass, witness, agent_id, alice, "ha_query", entity_id=DOOR)
    assert result.error
