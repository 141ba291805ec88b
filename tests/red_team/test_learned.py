"""Phrases that are learned from what a model did: none opens a door, goes beyond whoever says it, or is taught by a stranger."""

from collections.abc import Callable, Mapping
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.local.learned import LearnedPhrase, Slot, learned_phrases_of
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.plan import ServiceCall
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.house import say, speech, state_of
from tests.llm_server import Reply, text, tool_call, tool_calls
from tests.tools.custom.rest_server import answer

from .conftest import SetUp
from .world import DOOR, HIDDEN_LIGHT, ORDER, PERMITTED, UNLOCK, Witness, rest

BED, CEILING, KITCHEN = "light.bed_light", "light.ceiling_lights", "light.kitchen_lights"
LIT = {"action": "turn_on", "entity_id": BED}
ONCE: dict[str, Any] = {"options": {"memory": {"learning_after": 1}}, "profile": {"local_first": True}}


def learned(hass: HomeAssistant) -> list[str]:
    return [row.text for row in learned_phrases_of(hass).rows()]


async def settle(hass: HomeAssistant) -> None:
    """Wait until all is done that follows an answer."""
    await hass.async_block_till_done(wait_background_tasks=True)


def new(context: Context) -> Context:
    return Context(user_id=context.user_id)


def does(*calls: Mapping[str, Any]) -> tuple[Reply, Reply]:
    """Return that a model does something, and says so."""
    return tool_calls(*(("ha_control", dict(call)) for call in calls)), text("As you like.")


async def test_the_forbidden_is_not_kept(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    """Each of these works for whoever says it, and leaves nothing behind; the last one is of the same kind and does."""
    await start(**ONCE)
    server = witness.server
    many = [LIT, {**LIT, "action": "turn_off"}, {"action": "turn_on", "entity_id": PERMITTED}, LIT]
    query = {"entity_id": BED}
    cases: list[tuple[str, tuple[Reply, ...]]] = [
        ("could it be a bit cosy?", does(LIT)),
        ("film evening when I come home", does(LIT)),
        ("no film evening", does(LIT)),
        ("film evening tomorrow", does(LIT)),
        ("film evening unless it is dark", does(LIT)),
        ("has anybody seen the film", does(LIT)),
        ("film evening with 4711", does(LIT)),
        ("film evening with four seven one one", does(LIT)),
        ("film evening for anna@example.com", does(LIT)),
        ("yes", does(LIT)),
        ("forget it", does(LIT)),
        ("film evening " * 12, does(LIT)),
        ("film evening a", does({"action": "toggle", "entity_id": CEILING})),
        ("film evening b", does(*many)),
        ("film evening c", (tool_call("ha_query", query), *does(LIT))),
        ("film evening d", (tool_calls(("ha_control", LIT), ("ha_query", query)), text("Yes."))),
        ("film evening e", does(LIT, {**LIT, "entity_id": HIDDEN_LIGHT})),
        ("film evening f", does({**LIT, "entity_id": f"{BED},{CEILING}", "parameters": {"effect": "rainbow"}})),
        ("film evening g", (text("It is always film evening."),)),
    ]
    for words, replies in cases:
        server.plan(*replies)
        await say(hass, words, context=new(alice))
        await settle(hass)
        assert learned(hass) == [], words
    others: list[dict[str, Any]] = [{"extra_system_prompt": "Be brief."}, {"language": "sw"}, {"context": Context()}]
    for fields in others:
        server.plan(*does(LIT))
        await say(hass, "film evening", **{"context": new(alice), **fields})
        await settle(hass)
        assert learned(hass) == [], fields
    server.plan(text("Which film?"), *does(LIT))  # what it means is in the message before
    first = await say(hass, "I would like a film evening", context=new(alice))
    await say(hass, "the one with stars", first.conversation_id, context=new(alice))
    await settle(hass)
    assert learned(hass) == []
    server.plan(*does(LIT))
    await say(hass, "film evening", context=new(alice))
    await settle(hass)
    assert learned(hass) == ["film evening"]
    server.assert_done()


@pytest.mark.parametrize(("fields", "call"), [
    ({"profile": {"memory": "off"}}, LIT),
    ({"profile": {"always_ask": ["light"]}}, LIT),
    ({"profile": {"exposed_entities": ["light", PERMITTED]}}, LIT),
    ({"options": {"never_confirm": ["lock"]}}, UNLOCK),
    ({}, UNLOCK),
], ids=["agent of guests", "asked about", "a part of the home", "unlocked unasked", "unlocked with a yes"])  # fmt: skip
async def test_it_is_not_learned_here(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, fields: dict[str, Any], call: dict[str, Any]
) -> None:
    witness.may_move = {DOOR}
    await start(**{key: {**ONCE[key], **fields.get(key, {})} for key in ONCE})
    before = state_of(hass, call["entity_id"])
    witness.server.plan(tool_call("ha_control", call))
    witness.server.respond(lambda _body: text("As you like."))
    asked = await say(hass, "film evening", context=new(alice))
    if state_of(hass, call["entity_id"]) == before:
        await say(hass, "yes", asked.conversation_id, context=new(alice))
    await settle(hass)
    assert state_of(hass, call["entity_id"]) != before
    assert learned(hass) == []


async def test_strangers_teach_nothing(
    hass: HomeAssistant, witness: Witness, start: SetUp, person: Callable[..., Context]
) -> None:
    """Whose words they are: of a page that was read, of a user who may not control all, of an automation."""
    await start(yaml=rest(witness), **ONCE)
    witness.mine.answers["/v1/films"] = answer(ORDER)
    bob = person("Bob", {"entities": {"entity_ids": {BED: True}, "all": {"read": True}}})
    witness.server.plan(*does(LIT))
    await say(hass, "film evening", context=bob)
    witness.server.plan(tool_call("ask", {"a": "films"}), *does(LIT))
    await say(hass, "film evening", context=person("Carol"))
    await settle(hass)
    assert learned(hass) == []


def put(hass: HomeAssistant, words: str, entity_id: str, service: str = "turn_on", **fields: Any) -> None:
    """Have a phrase approved that does something with an entity."""
    known: dict[str, Any] = {
        "slot": Slot.NONE, "area_id": "", "named": (), "tool": "ha_control",
        "effects": (ServiceCall(domain=entity_id.partition(".")[0], service=service, entity_ids=(entity_id,)),),
    }  # fmt: skip
    row = LearnedPhrase(
        id=words, language="en", text=words, words=words, status=ProposalStatus.APPROVED, seen=2, trust=3, user_id=None,
        when=dt_util.utcnow(), **known | fields,
    )  # fmt: skip
    learned_phrases_of(hass).put(row)


async def test_what_was_learned_goes_no_further_than_whoever_says_it(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, person: Callable[..., Context]
) -> None:
    await start(**ONCE | {"options": {**ONCE["options"], "never_offer": [CEILING]}})
    put(hass, "film evening", BED)
    put(hass, "hidden evening", HIDDEN_LIGHT)
    put(hass, "gone evening", "light.gone")
    put(hass, "bright evening", CEILING)
    put(hass, "other evening", BED, tool="of_somebody_else")
    put(hass, "open evening", DOOR, "unlock")
    put(hass, "turn on bed light", PERMITTED)
    put(hass, "bed light party", PERMITTED)
    put(hass, "airy {}", "cover.kitchen_window", "open_cover", slot=Slot.AREA)
    bob = person("Bob", {"entities": {"entity_ids": {KITCHEN: True}, "all": {"read": True}}})
    witness.server.respond(lambda _body: text("I leave it."))
    before = {item: state_of(hass, item) for item in (BED, CEILING, PERMITTED)}
    for who, words in (
        (bob, "film evening"),
        (alice, "hidden evening"),
        (alice, "gone evening"),
        (alice, "bright evening"),
        (alice, "other evening"),
        (alice, "bed light party"),  # another thing is called so now than when it was learned
        (alice, "airy garage"),
        (alice, "film evening?"),
    ):
        asked = len(witness.server.requests)
        assert speech(await say(hass, words, context=new(who))) == "I leave it.", words
        assert len(witness.server.requests) == asked + 1
    asked = len(witness.server.requests)
    question = speech(await say(hass, "open evening", context=new(alice)))
    assert question.endswith("?")
    assert state_of(hass, DOOR) == "locked"
    assert {item: state_of(hass, item) for item in before} == before
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    await say(hass, "turn on the bed light", context=new(alice))  # Home Assistant's own sentence comes first
    assert (state_of(hass, BED), state_of(hass, PERMITTED)) == ("on", before[PERMITTED])
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    await say(hass, "film evening", context=new(alice))
    assert state_of(hass, BED) == "on"
    assert len(witness.server.requests) == asked
    # what is taken out of reach later is the model's again, as is what cannot be reached
    async_expose_entity(hass, ASSISTANT, BED, False)
    await settle(hass)
    assert speech(await say(hass, "film evening", context=new(alice))) == "I leave it."
