"""A part of the home: what else is exposed to assistants does not exist for an agent that knows only its part.

All that the other attempts find hidden is exposed here, and lies outside of the part. The attempts are the same.
"""

from collections.abc import Callable
from inspect import signature
import json
from typing import Any

from homeassistant.components import ai_task
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity, async_should_expose
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.helpers import area_registry as ar, entity_registry as er, llm
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech, subentry
from tests.llm_server import Reply, text, tool_call

from . import test_injection, test_targets
from .conftest import SetUp
from .front import Front
from .test_fronts import ASK, attempts
from .test_own_tools import service
from .world import DOOR, GARAGE, HIDDEN_DOOR, HIDDEN_LIGHT, PERMITTED, UNLOCK, Witness, answers

OUTSIDE = (HIDDEN_LIGHT, HIDDEN_DOOR, "sensor.vault", "script.secret", "automation.secret", "scene.secret")


@pytest.fixture
def narrowed(
    hass: HomeAssistant, start: SetUp, witness: Witness, front: Front | None, monkeypatch: pytest.MonkeyPatch
) -> SetUp:
    """Return what sets up an agent that knows what others know exposed, and “Worker”, which knows everything.

    With `behind`, what a test plans for the model is done by the second one, as the first one asks it.
    """

    async def start_narrowed(
        *, profile: dict[str, Any] | None = None, behind: bool = False, **fields: Any
    ) -> MockConfigEntry:
        exposed = {item: async_should_expose(hass, ASSISTANT, item) for item in hass.states.async_entity_ids()}
        own = {"exposed_entities": [item for item, is_exposed in exposed.items() if is_exposed], **(profile or {})}
        data = {"local_first": False, "delegation_level": "unrestricted", "slash_commands": ["worker"]}
        worker = subentry("profile", "Worker", "profile-2", data)
        if behind and front is not None:
            pytest.skip("a request is handed on once")
        if behind:
            own["delegate_to"] = ["profile-2"]
        entry = await start(profile=own, more=[worker], **fields)
        for item in OUTSIDE:
            assert not exposed[item]
            async_expose_entity(hass, ASSISTANT, item, True)
        await hass.async_block_till_done(wait_background_tasks=True)
        if behind:
            plan = witness.server.plan
            witness.server.respond(lambda body: text("Done."))

            def hand_on(*replies: Reply) -> None:
                plan(ASK, *replies)

            monkeypatch.setattr(witness.server, "plan", hand_on)
        return entry

    return start_narrowed


ATTEMPTS = [
    *attempts(test_targets.test_target, target=test_targets.NAMED),
    *attempts(test_targets.test_beside_the_target, more=test_targets.BESIDE),
    *attempts(test_targets.test_variables, value=test_targets.VARIABLES),
    *(
        pytest.param(test_targets.test_doors_without_a_yes, {"arguments": arguments, "who": "a person"}, id=name)
        for name, arguments in test_targets.ACTIONS.items()
    ),
    pytest.param(test_targets.test_registry_id, {}, id="registry id"),
    pytest.param(test_targets.test_renamed_in_mid_conversation, {}, id="renamed"),
    *(
        pytest.param(
            test_injection.test_tools_of_home_assistant,
            {"name": name, "arguments": arguments, "who": "a person"},
            id=f"Assist-{label}",
        )
        for label, (name, arguments) in test_injection.ASSIST.items()
    ),
    pytest.param(test_injection.test_in_the_house, {"spread": test_injection.in_a_name}, id="told"),
]


@pytest.mark.parametrize(("attempt", "given"), ATTEMPTS)
async def test_what_lies_outside(
    hass: HomeAssistant,
    witness: Witness,
    narrowed: SetUp,
    alice: Context,
    person: Callable[..., Context],
    attempt: Callable[..., Any],
    given: dict[str, Any],
) -> None:
    fixtures = {"hass": hass, "witness": witness, "start": narrowed, "alice": alice, "person": person}
    wanted = signature(attempt).parameters
    await attempt(**{name: value for name, value in (fixtures | given).items() if name in wanted})


@pytest.mark.parametrize("target", test_targets.NAMED.values(), ids=test_targets.NAMED.keys())
async def test_by_an_agent_that_knows_more(
    hass: HomeAssistant, witness: Witness, narrowed: SetUp, alice: Context, target: Any
) -> None:
    await narrowed(behind=True)
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": target}), text("I cannot do that."))
    await say(hass, "lights please", context=alice)
    assert len(_results(witness)) > 1, "nothing was handed on"


@pytest.mark.parametrize("way", ["another agent", "a command"])
async def test_an_agent_that_knows_more_is_told_nothing_of_the_rest(
    hass: HomeAssistant, witness: Witness, narrowed: SetUp, alice: Context, way: str
) -> None:
    """Neither its prompt nor a look at everything has it, as long as it answers for the first one."""
    await narrowed(behind=way == "another agent")
    witness.server.plan(tool_call("ha_query", {"entity_id": "*"}), text("That is all."))
    words = "/worker what is there?" if way == "a command" else "what is there?"
    await say(hass, words, context=alice)
    assert any(PERMITTED in result for result in _results(witness))
    assert not any(item in request.raw.decode() for request in witness.server.requests for item in OUTSIDE)


@pytest.mark.parametrize("query", ["*", HIDDEN_LIGHT, "light.*", "Bedroom", "Office RGBW Lights", "sensor.vault"])
async def test_questions(hass: HomeAssistant, witness: Witness, narrowed: SetUp, alice: Context, query: str) -> None:
    await narrowed()
    witness.server.respond(lambda body: text("I do not know."))
    for history in ({}, {"history": {"duration": "1h", "aggregate": "count"}}):
        witness.server.plan(tool_call("ha_query", {"entity_id": query, **history}))
        await say(hass, "what is on?", context=alice)
    assert not any(HIDDEN_LIGHT in str(result) for result in _results(witness, but=query))


async def test_outside_is_unknown(hass: HomeAssistant, witness: Witness, narrowed: SetUp, alice: Context) -> None:
    await narrowed()
    errors = []
    for entity_id in ("lock.kitchen_door", "lock.attic_door"):
        for tool, arguments in (("ha_control", {"action": "turn_on"}), ("ha_query", {})):
            witness.server.plan(tool_call(tool, {"entity_id": entity_id, **arguments}), text("I cannot."))
            await say(hass, "the door", context=alice)
            error = str(answers(witness.server)[-1]["error"]).partition(" Did you mean")
            assert "Kitchen Door" not in error[2]
            errors.append(error[0].replace(entity_id, "_"))
    assert errors[:2] == errors[2:]


SENTENCES = (
    "turn on the office rgbw lights", "turn on the offise rgbw lights", "is the kitchen door locked?",
    "unlock the kitchen door", "run secret script", "activate secret scene", "what is the state of the vault?",
    "set office rgbw lights to 50% brightness",
)  # fmt: skip


@pytest.mark.parametrize("words", SENTENCES)
async def test_sentences(hass: HomeAssistant, witness: Witness, narrowed: SetUp, alice: Context, words: str) -> None:
    await narrowed(model=False)
    said = []
    for hidden in (False, True):
        for item in OUTSIDE:
            async_expose_entity(hass, ASSISTANT, item, not hidden)
        await hass.async_block_till_done(wait_background_tasks=True)
        said.append([speech(await say(hass, words, context=who)) for who in (alice, Context())])
    assert said[0] == said[1]


@pytest.mark.parametrize("words", ["turn on all the lights in the bedroom", "turn on all the lights"])
async def test_of_many(hass: HomeAssistant, witness: Witness, narrowed: SetUp, alice: Context, words: str) -> None:
    await narrowed(model=False)
    for who in (alice, Context()):
        assert "RGBW" not in speech(await say(hass, words, context=who))


@pytest.mark.parametrize("by", ["areas", "labels"])
async def test_a_part_by_places(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, by: str) -> None:
    """The hidden light shares its room and its label with a light of the part; what is elsewhere does not exist."""
    area = ar.async_get(hass).async_get_or_create("Bedroom")
    part = {"exposed_areas": [area.id]} if by == "areas" else {"exposed_labels": ["watched"]}
    await start(profile={**part, "exposed_entities": ["switch"], "never_ask": ["lock"]})
    witness.server.respond(lambda body: text("I cannot."))
    for who in (alice, Context()):
        for arguments in (
            UNLOCK, {"action": "turn_on", "entity_id": DOOR}, {"action": "turn_off", "entity_id": "lock.*"},
        ):  # fmt: skip
            witness.server.plan(tool_call("ha_control", arguments))
            await say(hass, "the door", context=who)
            assert answers(witness.server)[-1]["success"] is False
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"}))
    await say(hass, "bed light", context=alice)
    assert answers(witness.server)[-1]["success"] is True


async def test_a_yes_for_what_is_outside(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    """The question was about a gate of the part; it left the part before the yes."""
    await start(profile={"exposed_labels": ["watched"], "exposed_entities": ["switch"]})
    registry = er.async_get(hass)
    registry.async_update_entity(GARAGE, labels={"watched"})
    await hass.async_block_till_done(wait_background_tasks=True)
    witness.server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": GARAGE}))
    asked = await say(hass, "open it", context=alice)
    assert speech(asked).endswith("?")
    registry.async_update_entity(GARAGE, labels=set())
    await say(hass, "yes", asked.conversation_id, context=alice)


async def test_lent_tools(hass: HomeAssistant, witness: Witness, narrowed: SetUp, alice: Context) -> None:
    """Another program uses the tools of the agent, without a turn of its own."""
    entry = await narrowed(profile={"offer_tools": True})
    asked_by = llm.LLMContext(platform="test", context=alice, language="en", assistant=ASSISTANT, device_id=None)
    api = await llm.async_get_api(hass, f"home_agent-{entry.subentries['profile-1'].subentry_id}", asked_by)

    async def call(name: str, **arguments: Any) -> str:
        result = await api.async_call_tool(llm.ToolInput(tool_name=name, tool_args=arguments))
        return json.dumps(getattr(result, "data", result))

    assert '"success": false' in await call("ha_control", action="turn_on", entity_id=HIDDEN_LIGHT)
    everything = await call("ha_query", entity_id="*")
    assert PERMITTED in everything
    assert HIDDEN_LIGHT not in everything


async def test_a_delegating_tool(hass: HomeAssistant, witness: Witness, narrowed: SetUp, alice: Context) -> None:
    """What a turn sets off knows no more of the home than the turn does."""
    data = {"text": "What is there?", "agent_id": "conversation.worker"}
    await narrowed(yaml=service("conversation.process", data=data, response=True), profile={"never_ask": ["act"]})
    witness.server.respond(lambda body: text("That is all."))
    witness.server.plan(tool_call("act", {"a": 1}), tool_call("ha_query", {"entity_id": "*"}))
    await say(hass, "ask around", context=alice)
    assert any(PERMITTED in result for result in _results(witness))
    assert not any(item in request.raw.decode() for request in witness.server.requests for item in OUTSIDE)


@pytest.mark.parametrize("part", ["narrowed", "everything"])
async def test_an_ai_task_that_a_tool_starts(
    hass: HomeAssistant, witness: Witness, narrowed: SetUp, start: SetUp, alice: Context, part: str
) -> None:
    """The model of the task has the tools of Assist, and knows no more of the home than the agent whose tool has started it."""
    assert await async_setup_component(hass, "ai_task", {})

    async def task(call: ServiceCall) -> None:
        [assist] = [api for api in llm.async_get_apis(hass) if api.id == "assist"]
        await ai_task.async_generate_data(
            hass, task_name="Party", entity_id="ai_task.scripted", instructions="Light!", llm_api=assist
        )

    hass.services.async_register("party", "begin", task)
    await (narrowed if part == "narrowed" else start)(yaml=service("party.begin"), profile={"never_ask": ["act"]})
    if part == "everything":
        witness.may_move.add(HIDDEN_LIGHT)
        async_expose_entity(hass, ASSISTANT, HIDDEN_LIGHT, True)
    witness.server.respond(lambda body: text("That is all."))
    lights = [tool_call("intent__HassTurnOn", {"name": name}) for name in ("Office RGBW Lights", "Bed Light")]
    witness.server.plan(tool_call("act", {"a": 1}), *lights)
    await say(hass, "a party", context=alice)
    outside, inside = (json.loads(item)["success"] for item in _results(witness)[1:3])
    assert (outside, inside) == (part == "everything", True)


def _results(witness: Witness, but: str = "") -> list[Any]:
    """Return the tool results of all requests, without what repeats the words that were asked for."""
    return [
        item["content"].replace(but, "_") if but else item["content"]
        for request in witness.server.requests
        for item in request.body["messages"]
        if item["role"] == "tool"
    ]
