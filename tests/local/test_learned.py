"""Phrases that only the model understood: seen, proposed, approved in Repairs, done without it, and given up again."""

from collections.abc import Mapping
from http import HTTPStatus
import json
from pathlib import Path
import time
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall as ServiceCallOfHass
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    issue_registry as ir,
)
from homeassistant.helpers.storage import STORAGE_DIR
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from custom_components.home_agent.local.learned import (
    COST,
    MAX_DECLINED,
    MAX_LEARNED,
    MAX_SEEN,
    MOST_TRUST,
    SEEN_FOR,
    TRUST,
    LearnedPhrase,
    Slot,
    learned_phrases_of,
    proposed_phrases,
)
from custom_components.home_agent.policy.proposals import MAX_WAITING
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.support.kept import kept_things
from custom_components.home_agent.turn.plan import ServiceCall
from custom_components.home_agent.turn.proposal import ProposalStatus
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import act, build_house, say as say_as, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call, tool_calls
from tests.stored import hass_storage  # noqa: F401

BED, CEILING, KITCHEN, DECO = (
    "light.bed_light", "light.ceiling_lights", "light.kitchen_lights", "switch.decorative_lights",
)  # fmt: skip
COSY = "Make it cosy, please!"
LIT = {"action": "turn_on", "entity_id": BED, "parameters": {"brightness_pct": 30}}
FILE = "home_agent.learned_phrases"


@pytest.fixture
def file(hass: HomeAssistant) -> Path:
    """Return where the phrases stand, in a folder that can be written to."""
    folder = Path(hass.config.path(STORAGE_DIR))
    folder.mkdir(exist_ok=True)
    return folder / FILE


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test, with its lights off."""
    await build_house(hass)
    await dark(hass)


async def dark(hass: HomeAssistant) -> None:
    """Turn everything off."""
    await hass.services.async_call("light", "turn_off", {"entity_id": "all"}, blocking=True)
    await hass.services.async_call("switch", "turn_off", {"entity_id": DECO}, blocking=True)


async def start(hass: HomeAssistant, server: LLMServer | None, **settings: Any) -> MockConfigEntry:
    """Set up an agent that handles simple commands itself."""
    return await set_up(hass, server, model_first=False, **settings)


class Talk:
    """Somebody who talks, each time in a new conversation and with minutes in between."""

    def __init__(self, hass: HomeAssistant, server: LLMServer, freezer: FrozenDateTimeFactory, who: Context) -> None:
        """Talk in the name of somebody."""
        self.hass, self.server, self.freezer, self.who = hass, server, freezer, who

    async def __call__(self, words: str, *calls: Mapping[str, Any], wait: float = 65, **fields: Any) -> str:
        """Say something; `calls` are what the model does for it, none: it must not be asked. Return what is answered."""
        self.freezer.tick(wait)
        before = len(self.server.requests)
        if calls:
            made = [("ha_control", dict(call)) for call in calls]
            self.server.plan(tool_calls(*made) if len(made) > 1 else tool_call(*made[0]), text("As you like."))
        user_id = fields.pop("user_id", self.who.user_id)
        result = await say_as(
            self.hass, words, fields.pop("conversation_id", None), context=Context(user_id=user_id), **fields
        )
        await self.hass.async_block_till_done(wait_background_tasks=True)
        self.server.assert_done()
        assert len(self.server.requests) - before == (2 if calls else 0), words
        return speech(result)


@pytest.fixture
def talk(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, alice: Context) -> Talk:
    """Let Alice talk."""
    return Talk(hass, llm_server, freezer, alice)


def rows(hass: HomeAssistant) -> list[tuple[str, ProposalStatus, int]]:
    return [(row.words, row.status, row.seen) for row in learned_phrases_of(hass).rows()]


def waiting(hass: HomeAssistant) -> dict[str, Any]:
    """Return the issues about phrases, with what everybody may read of them."""
    found = ir.async_get(hass).issues.values()
    return {
        one.issue_id: one.translation_placeholders
        for one in found
        if one.domain == DOMAIN and "phrases_" in one.issue_id
    }


async def approve(hass: HomeAssistant) -> None:
    phrases = learned_phrases_of(hass)
    phrases.async_decide(phrases.rows(), ProposalStatus.APPROVED)


class Repairs:
    """The page of Repairs, as its API."""

    def __init__(self, hass: HomeAssistant, new_client: ClientSessionGenerator) -> None:
        """Log in with the first question: a server that runs takes no more pages."""
        self._hass, self._new_client = hass, new_client
        self._client: Any = None

    async def open(self, issue: str) -> dict[str, Any]:
        """Begin to fix an issue."""
        if self._client is None:
            assert await async_setup_component(self._hass, "repairs", {})
            self._client = await self._new_client()
        answer = await self._client.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": issue})
        assert answer.status == HTTPStatus.OK
        return dict(await answer.json())

    async def send(self, form: Mapping[str, Any], **data: Any) -> dict[str, Any]:
        return dict(await (await self._client.post(f"/api/repairs/issues/fix/{form['flow_id']}", json=data)).json())


@pytest.fixture
def repairs(hass: HomeAssistant, hass_client: ClientSessionGenerator) -> Repairs:
    return Repairs(hass, hass_client)


PROPOSED, DOUBTED = "phrases_proposed_home", "phrases_doubted_home"


async def test_what_is_done_twice(hass: HomeAssistant, llm_server: LLMServer, talk: Talk, repairs: Repairs) -> None:
    entry = await start(hass, llm_server)
    await talk(COSY, LIT)
    assert rows(hass) == [("make cosy", ProposalStatus.SEEN, 1)]
    assert waiting(hass) == {}
    await dark(hass)
    await talk("make it cosy", LIT)
    assert rows(hass) == [("make cosy", ProposalStatus.PROPOSED, 2)]
    assert waiting(hass) == {PROPOSED: {"count": "1"}}  # everybody may list issues: no words
    await dark(hass)
    await talk("MAKE IT COSY", LIT)  # nobody has approved it
    form = await repairs.open(PROPOSED)
    assert form["menu_options"] == ["approve_all", "choose", "reject_all"]
    listed = "- For “Make it cosy, please!”: set Bed Light to 30 %"
    assert form["description_placeholders"]["proposals"] == listed
    ended = await repairs.send(form, next_step_id="approve_all")
    assert ended["type"] == "create_entry"
    assert waiting(hass) == {}

    await dark(hass)
    events = async_capture_events(hass, "home_agent.tool.executed")
    finished = async_capture_events(hass, "home_agent.conversation.finished")
    answer = await talk("Please make it cosy now")  # no request
    assert answer.startswith("Done. Bed Light is")
    assert hass.states.get(BED).attributes["brightness"] == 76  # type: ignore[union-attr]
    assert [event.data["tool_name"] for event in events] == ["learned_phrase"]
    understanding = finished[0].data["understanding"]
    assert understanding["learned"] is True
    assert (understanding["intents"], understanding["targets"]) == (["light.turn_on"], [BED])
    [action, *_] = entry.runtime_data.journal.newest_first(lambda _: True)
    assert (action.tool, action.words, action.user_id) == ("ha_control", "Please make it cosy now", talk.who.user_id)
    # it can be gone on from, and taken back, as anything else
    conversation = "talk"
    await talk("make it cosy", conversation_id=conversation)
    await talk("turn it off again", conversation_id=conversation)
    assert state_of(hass, BED) == "off"
    for words in ("make it cosy?", "make it not cosy", "make it very cosy"):
        llm_server.plan(text("Hm."))
        await say_as(hass, words, None, context=talk.who)
    await say_as(hass, "make it cosy in an hour", None, context=talk.who)  # it waits
    assert [wish.targets for wish in wishes_of(hass).all()] == [(BED,)]
    assert state_of(hass, BED) == "off"


async def test_what_does_not_follow_is_named(
    hass: HomeAssistant, llm_server: LLMServer, talk: Talk, freezer: FrozenDateTimeFactory
) -> None:
    """Of two lamps one does nothing: it is told, and the phrase gains no trust by it."""
    await start(hass, llm_server, options={"verify_seconds": 0.2})
    both = {"action": "turn_on", "entity_id": [BED, KITCHEN]}
    for _ in range(2):
        await dark(hass)
        await talk(COSY, both)
    await approve(hass)
    await dark(hass)

    async def half_a_second() -> None:
        for _ in range(10):
            await hass.async_add_executor_job(time.sleep, 0.02)
            freezer.tick(0.05)

    async def one_of_them(call: ServiceCallOfHass) -> None:
        hass.async_create_task(half_a_second())
        if call.data["entity_id"] == BED or BED in call.data["entity_id"]:
            hass.states.async_set(BED, "on", hass.states.get(BED).attributes)  # type: ignore[union-attr]

    hass.services.async_register("light", "turn_on", one_of_them)
    assert await talk(COSY) == "I sent the command, but nothing has changed: Kitchen Lights."
    [row] = learned_phrases_of(hass).rows()
    assert (row.used, row.trust) == (1, TRUST)


async def test_repairs_decide_several(hass: HomeAssistant, llm_server: LLMServer, talk: Talk, repairs: Repairs) -> None:
    await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    for words in ("film evening", "reading corner", "pyjama party", "early bird"):
        await dark(hass)
        await talk(words, LIT)
    assert waiting(hass) == {PROPOSED: {"count": "4"}}
    ids = {row.text: row.id for row in learned_phrases_of(hass).rows()}
    menu = await repairs.open(PROPOSED)
    listed = menu["description_placeholders"]["proposals"]
    assert all(f"“{words}”" in listed for words in ids)
    assert "Bed Light" in listed
    form = await repairs.send(menu, next_step_id="choose")
    both = {"approve": [ids["film evening"]], "reject": [ids["film evening"]]}
    form = await repairs.send(form, **both)
    assert form["errors"] == {"reject": "both"}
    ended = await repairs.send(form, approve=[ids["film evening"]], reject=[ids["pyjama party"]])
    assert (ended["type"], ended["reason"], ended["description_placeholders"]) == ("abort", "left", {"count": "2"})
    assert waiting(hass) == {PROPOSED: {"count": "2"}}
    ended = await repairs.send(await repairs.open(PROPOSED), next_step_id="reject_all")
    assert ended["type"] == "create_entry"
    assert waiting(hass) == {}
    expected = {
        "film evening": ProposalStatus.APPROVED, "pyjama party": ProposalStatus.DECLINED,
        "reading corner": ProposalStatus.DECLINED, "early bird": ProposalStatus.DECLINED,
    }  # fmt: skip
    assert {row.text: row.status for row in learned_phrases_of(hass).rows()} == expected
    await talk("pyjama party", LIT)  # what was rejected stays the model's, and is not proposed again
    assert waiting(hass) == {}
    await talk("film evening")


async def test_only_administrators_see_and_decide(
    hass: HomeAssistant,
    llm_server: LLMServer,
    talk: Talk,
    admin: Context,
    alice: Context,
    hass_client: ClientSessionGenerator,
    hass_read_only_access_token: str,
) -> None:
    entry = await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    await talk("film evening", LIT)
    await talk("reading corner", LIT, user_id=admin.user_id)
    assert await async_setup_component(hass, "repairs", {})
    guest = await hass_client(hass_read_only_access_token)
    answer = await guest.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": PROPOSED})
    assert answer.status == HTTPStatus.UNAUTHORIZED
    assert [row["text"] for row in (await act(hass, "list_learned_phrases", alice))["phrases"]] == ["film evening"]
    everything = (await act(hass, "list_learned_phrases", admin))["phrases"]
    assert [row["text"] for row in everything] == ["reading corner", "film evening"]
    assert everything[0] == {
        "id": everything[0]["id"], "text": "reading corner", "language": "en", "status": "proposed", "seen": 1, "used": 0,
        "user_id": admin.user_id, "when": everything[0]["when"], "also_for": None, "area_id": None,
        "actions": [{"action": "light.turn_on", "entity_id": [BED], "data": {"brightness_pct": 30}}],
    }  # fmt: skip
    with pytest.raises(Exception, match="There is no learned phrase reading corner"):
        await act(hass, "forget_learned_phrase", alice, phrase="reading corner")
    gone = await act(hass, "forget_learned_phrase", admin, phrase="Reading corner, please")
    assert [row["text"] for row in gone["forgotten"]] == ["reading corner"]
    diagnostics = await async_get_config_entry_diagnostics(hass, entry)
    assert diagnostics["kept"]["learned_phrases"] == {
        "seen": 0, "proposed": 1, "approved": 0, "doubted": 0, "tried": 0, "declined": 0,
    }  # fmt: skip
    assert "film evening" not in json.dumps(diagnostics, default=str)
    await approve(hass)
    await act(hass, "forget_learned_phrase", alice, phrase="film evening")
    await talk("film evening", LIT)  # the model's again


async def test_a_named_room_or_thing_may_be_another(hass: HomeAssistant, llm_server: LLMServer, talk: Talk) -> None:
    """What was done for just what the words name is done for another room, or another thing of the kind, by its name."""
    await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    bedroom = [{"action": "turn_on", "entity_id": entity_id} for entity_id in (BED, CEILING)]
    lamp = LIT
    await talk("It is film night in the bedroom", *bedroom)
    await talk("Bed light to the rescue", lamp)
    await talk("Bed light and company", *bedroom)
    assert {row.text: row.slot for row in learned_phrases_of(hass).rows()} == {
        "It is film night in the bedroom": Slot.AREA,
        "Bed light to the rescue": Slot.THING,
        "Bed light and company": Slot.NONE,
    }
    await approve(hass)
    await dark(hass)
    await talk("It is film night in the kitchen")
    assert [state_of(hass, item) for item in (KITCHEN, BED, CEILING)] == ["on", "off", "off"]
    await talk("Kitchen lights to the rescue", lamp)  # they cannot do the same as the bed light
    ceiling = hass.states.get(BED)
    assert ceiling is not None
    hass.states.async_set(KITCHEN, "off", {**ceiling.attributes, "friendly_name": "Kitchen Lights"})
    calls = async_capture_events(hass, "call_service")
    await talk("Kitchen lights to the rescue")
    assert calls[-1].data["service_data"]["entity_id"] == KITCHEN
    await dark(hass)
    llm_server.plan(text("No."), text("No."))
    for words in ("It is film night in the garden", "Kitchen lights and company"):
        await say_as(hass, words, None, context=Context(user_id=talk.who.user_id))
    assert state_of(hass, BED) == state_of(hass, CEILING) == "off"


@pytest.mark.parametrize(("language", "one", "other", "said"), [
    ("en", "The Lamp", "The Torch", "{} to the rescue please"),
    ("de", "Die Lampe", "Das Nachtlicht", "Filmabend mit {} bitte"),
    ("de", "Bitte Lampe", "Leuchte", "Filmabend mit {}"), ("fr", "La Lampe", "Le Phare", "ambiance douce avec {}"),
    ("es", "La Lámpara", "El Faro", "ambiente de cine con {}"),
    ("it", "La Lampada", "Il Faro", "serata cinema con {}"), ("nl", "De Lamp", "Het Licht", "filmavond met {}"),
    ("pl", "Lampa dla mnie", "Latarnia", "wieczór filmowy {}"),
    ("en", "The Lamp", "卧室灯", "film night {}"), ("en", "The Lamp", "กล้วย", "film night {}"),
    ("en", "The Lamp", "ນອນ", "film night {}"), ("en", "The Lamp", "ភ្លើង", "film night {}"),
    ("en", "The Lamp", "အိပ်ခန်း", "film night {}"),
])  # fmt: skip
async def test_a_name_with_an_article_or_a_nicety(
    hass: HomeAssistant, llm_server: LLMServer, talk: Talk, language: str, one: str, other: str, said: str
) -> None:
    await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    for entity_id, name in ((BED, one), (CEILING, other)):
        er.async_get(hass).async_update_entity(entity_id, aliases=[er.COMPUTED_NAME, name])
    await hass.async_block_till_done()
    await talk(said.format(one), LIT, language=language)
    [row] = learned_phrases_of(hass).rows()
    assert (row.slot, row.words.count("{}")) == (Slot.THING, 1)
    await approve(hass)
    for name, entity_id in ((one, BED), (other, CEILING)):
        await dark(hass)
        bed = hass.states.get(BED)
        assert bed is not None
        hass.states.async_set(CEILING, "off", {**bed.attributes, "friendly_name": other})  # it can do the same
        await talk(said.format(name), language=language)
        assert state_of(hass, entity_id) == "on"


async def test_another_thing_of_a_name_with_an_article(hass: HomeAssistant, llm_server: LLMServer, talk: Talk) -> None:
    """What was done for the words is no longer done when they name something else."""
    await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    er.async_get(hass).async_update_entity(CEILING, aliases=[er.COMPUTED_NAME, "The Cinema"])
    await hass.async_block_till_done()
    await talk("the cinema experience", LIT)
    [row] = learned_phrases_of(hass).rows()
    assert (row.slot, row.named) == (Slot.NONE, (CEILING,))
    await approve(hass)
    await dark(hass)
    er.async_get(hass).async_update_entity(CEILING, aliases=[er.COMPUTED_NAME])
    await hass.async_block_till_done()
    await talk("the cinema experience", LIT)  # the model's


async def test_rooms_in_a_row_are_no_repetition(hass: HomeAssistant, llm_server: LLMServer, talk: Talk) -> None:
    """Whoever goes through the rooms within a minute is content; the same room twice is what counts."""
    await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    await hass.services.async_call("light", "turn_on", {"entity_id": "all"}, blocking=True)
    await talk("film time in the kitchen", {"action": "turn_off", "entity_id": KITCHEN})
    await approve(hass)
    only_on_and_off = {"supported_color_modes": ["onoff"], "friendly_name": "Ceiling Lights", "supported_features": 0}
    hass.states.async_set(CEILING, "on", only_on_and_off)
    for room in ("bedroom", "kitchen"):
        await talk(f"film time in the {room}", wait=10)
    assert [state_of(hass, item) for item in (BED, CEILING, KITCHEN)] == ["off", "off", "off"]
    [row] = learned_phrases_of(hass).rows()
    assert (row.status, row.used, row.trust) == (ProposalStatus.APPROVED, 2, MOST_TRUST)
    await talk("film time in the bedroom", wait=10)
    [row] = learned_phrases_of(hass).rows()
    assert (row.used, row.trust) == (2, MOST_TRUST - COST)


async def test_undone_or_repeated(hass: HomeAssistant, llm_server: LLMServer, talk: Talk, repairs: Repairs) -> None:
    await start(hass, llm_server)
    # not yet approved: dropped at once
    await talk(COSY, LIT, conversation_id="one")
    await talk("undo", wait=1, conversation_id="one")
    assert rows(hass) == []
    await talk(COSY, LIT)
    await talk(COSY, LIT, wait=20)
    assert rows(hass) == []
    await talk(COSY, LIT)
    await talk(COSY, LIT, user_id=Context().user_id, device_id="kitchen_satellite", wait=20)  # somebody else
    assert rows(hass) == [("make cosy", ProposalStatus.PROPOSED, 2)]
    # much later it says nothing about the words
    await talk("undo", wait=700, conversation_id="two", user_id=talk.who.user_id)
    assert rows(hass) == [("make cosy", ProposalStatus.PROPOSED, 2)]
    # approved: one of them is forgiven, the second in a row takes it out of use
    await approve(hass)
    await dark(hass)
    await talk(COSY, conversation_id="three")
    await talk("undo", wait=1, conversation_id="three")
    assert state_of(hass, BED) == "off"
    [row] = learned_phrases_of(hass).rows()
    assert (row.status, row.trust) == (ProposalStatus.APPROVED, 2)
    await talk(COSY)
    await talk(COSY, wait=20)
    [row] = learned_phrases_of(hass).rows()
    assert (row.status, row.trust) == (ProposalStatus.DOUBTED, 0)
    assert waiting(hass) == {DOUBTED: {"count": "1"}}
    await dark(hass)
    await talk(COSY, LIT)
    assert waiting(hass) == {DOUBTED: {"count": "1"}}
    ended = await repairs.send(await repairs.open(DOUBTED), next_step_id="approve_all")
    assert ended["type"] == "create_entry"
    assert waiting(hass) == {}
    await talk(COSY, wait=1)  # whoever tries what was just approved says nothing against it
    await talk(COSY, wait=1)
    [row] = learned_phrases_of(hass).rows()
    assert (row.status, row.trust) == (ProposalStatus.APPROVED, 2)


async def test_another_thing_done_begins_anew(hass: HomeAssistant, llm_server: LLMServer, talk: Talk) -> None:
    await start(hass, llm_server)
    await talk(COSY, LIT)
    await talk(COSY, {**LIT, "parameters": {"brightness_pct": 60}})
    assert rows(hass) == [("make cosy", ProposalStatus.SEEN, 1)]
    await dark(hass)
    await talk(COSY, {**LIT, "parameters": {"brightness_pct": 60}})
    assert rows(hass) == [("make cosy", ProposalStatus.PROPOSED, 2)]


async def test_the_asking_room_is_part_of_the_phrase(hass: HomeAssistant, llm_server: LLMServer, talk: Talk) -> None:
    """“Cosy” in the bedroom is not “cosy” in the kitchen, nor what is typed."""
    await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    entry = MockConfigEntry(domain="test")
    entry.add_to_hass(hass)
    devices: dict[str, dict[str, Any]] = {}
    for area in ("Bedroom", "Kitchen"):
        device = dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", area)})
        dr.async_get(hass).async_update_device(device.id, area_id=ar.async_get(hass).async_get_or_create(area).id)
        devices[area] = {"device_id": device.id, "user_id": None}
    await talk("cosy", LIT, **devices["Bedroom"])
    await approve(hass)
    await dark(hass)
    await talk("cosy", {"action": "turn_on", "entity_id": KITCHEN}, **devices["Kitchen"])
    await talk("cosy", LIT)
    await dark(hass)
    await talk("cosy", **devices["Bedroom"])
    assert [state_of(hass, item) for item in (BED, KITCHEN)] == ["on", "off"]


@pytest.mark.parametrize("settings", [{"learning": False}, {"enabled": False}])
async def test_nothing_is_kept_or_used_while_it_is_off(
    hass: HomeAssistant, llm_server: LLMServer, talk: Talk, settings: dict[str, Any]
) -> None:
    entry = await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    await talk("film evening", LIT)
    await approve(hass)
    await talk("reading corner", LIT)
    assert [row[1] for row in rows(hass)] == [ProposalStatus.APPROVED, ProposalStatus.PROPOSED]
    hass.config_entries.async_update_entry(entry, options={"memory": settings})
    await hass.async_block_till_done()
    assert [row[1] for row in rows(hass)] == [ProposalStatus.APPROVED]
    assert waiting(hass) == {}
    await talk("film evening", LIT)
    await talk("early bird", LIT)
    assert [row[0] for row in rows(hass)] == ["film evening"]
    hass.config_entries.async_update_entry(entry, options={})
    await hass.async_block_till_done()
    await talk("film evening")


async def test_it_outlives_a_restart_and_leaves_with_its_user_and_the_entry(
    hass: HomeAssistant, llm_server: LLMServer, talk: Talk, admin: Context, file: Path
) -> None:
    entry = await start(hass, llm_server, options={"memory": {"learning_after": 2}})
    await talk("film evening", LIT)
    await talk("film evening", LIT)
    await approve(hass)
    await talk("reading corner", LIT)
    await talk("early bird", LIT, user_id=admin.user_id)
    before = learned_phrases_of(hass).rows()
    assert await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    assert learned_phrases_of(hass).rows() == before
    await dark(hass)
    await talk("film evening")
    assert state_of(hass, BED) == "on"
    await talk("reading corner", LIT)
    assert waiting(hass) == {PROPOSED: {"count": "1"}}
    alice = await hass.auth.async_get_user(str(talk.who.user_id))
    assert alice is not None
    await hass.auth.async_remove_user(alice)
    await hass.async_block_till_done()
    assert [row[0] for row in rows(hass)] == ["early bird"]
    await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()
    written = await hass.async_add_executor_job(file.read_text)
    assert "early bird" in written
    assert "film evening" not in written
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.config_entries.async_remove(entry.entry_id)
    await hass.async_block_till_done()
    assert not await hass.async_add_executor_job(file.exists)


async def test_a_broken_file_is_set_aside(hass: HomeAssistant, llm_server: LLMServer, talk: Talk, file: Path) -> None:
    entry = await start(hass, llm_server)
    await talk(COSY, LIT)
    await talk(COSY, LIT)
    await approve(hass)

    async def again(broken: bool) -> None:
        """Load anew what stands in the file, with a row that is none, or nothing that is any."""
        assert await hass.config_entries.async_unload(entry.entry_id)
        await hass.async_block_till_done()
        kept_things(hass).forget()
        content = json.loads(await hass.async_add_executor_job(file.read_text))
        [kept] = content["data"]["phrases"]
        content["data"]["phrases"] = [{"id": "x"}] if broken else [kept, {**kept, "effects": []}]
        await hass.async_add_executor_job(file.write_text, json.dumps(content))
        assert await hass.config_entries.async_setup(entry.entry_id)
        assert any("file_broken" in issue for _, issue in ir.async_get(hass).issues)

    await again(broken=False)
    await talk(COSY)
    await again(broken=True)
    assert rows(hass) == []
    await talk(COSY, LIT)
    assert rows(hass) == [("make cosy", ProposalStatus.SEEN, 1)]
    assert await hass.async_add_executor_job(lambda: len([*file.parent.glob(f"{FILE}.corrupt.*")])) == 2


@pytest.mark.parametrize("status", ["learned", "proposed", "doubted"])
async def test_what_a_newer_release_does_is_kept_and_not_used(
    hass: HomeAssistant, llm_server: LLMServer, talk: Talk, file: Path, status: str
) -> None:
    entry = await start(hass, llm_server)
    await talk(COSY, LIT)
    await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    content = json.loads(await hass.async_add_executor_job(file.read_text))
    [row] = content["data"]["phrases"]
    row |= {"status": status, "effects": [{**row["effects"][0], "kind": "automation_edit", "entity_ids": []}]}
    await hass.async_add_executor_job(file.write_text, json.dumps(content))
    assert await hass.config_entries.async_setup(entry.entry_id)
    assert not waiting(hass)
    if status == "learned":
        await talk(COSY, LIT)  # the model's
    await learned_phrases_of(hass).async_write()
    assert json.loads(await hass.async_add_executor_job(file.read_text))["data"]["phrases"] == [row]


def row_of(words: str, status: ProposalStatus, user_id: str | None = None) -> LearnedPhrase:
    """Return a phrase that lights the bed light."""
    return LearnedPhrase(
        id=f"id of {words}",
        language="en",
        text=words,
        words=words.replace("it ", ""),
        slot=Slot.NONE,
        area_id="",
        named=(),
        tool="ha_control",
        effects=(ServiceCall(domain="light", service="turn_on", entity_ids=(BED,), data={}),),
        status=status,
        seen=2,
        trust=3,
        user_id=user_id,
        when=dt_util.utcnow(),
    )


async def test_it_is_bounded(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    """Whoever says most forgets first, what nobody says again goes with the time, and no more wait than an administrator reads."""
    await start(hass, None)
    phrases = learned_phrases_of(hass)
    phrases.put(row_of("of bob", ProposalStatus.SEEN, "bob"))
    for number in range(MAX_SEEN + 5):
        phrases.put(row_of(f"of alice {number}", ProposalStatus.SEEN, "alice"))
    for number in range(MAX_DECLINED + 5):
        phrases.put(row_of(f"rejected {number}", ProposalStatus.DECLINED))
    kept = [row.text for row in phrases.rows(ProposalStatus.SEEN)]
    assert len(kept) == MAX_SEEN
    assert "of bob" in kept
    assert "of alice 0" not in kept
    assert len(phrases.rows(ProposalStatus.DECLINED)) == MAX_DECLINED
    freezer.tick(SEEN_FOR)
    freezer.tick(1)
    for number in range(MAX_WAITING):
        phrases.put(row_of(f"proposed {number}", ProposalStatus.PROPOSED))
    assert phrases.rows(ProposalStatus.SEEN) == []
    for number in range(MAX_LEARNED):
        phrases.put(row_of(f"learned {number}", ProposalStatus.APPROVED))
    [kind, _] = proposed_phrases(hass)
    reason = await kind.approve(kind.waiting())
    assert reason == f"No more than {MAX_LEARNED} phrases can be learned. Delete one first."
    assert len(phrases.rows(ProposalStatus.PROPOSED)) == MAX_WAITING


async def test_in_german_without_a_model_or_with_a_yes(hass: HomeAssistant, llm_server: LLMServer, talk: Talk) -> None:
    entry = await start(hass, llm_server, options={"memory": {"learning_after": 1}})
    await talk("Filmabend, wenn es dunkel ist", LIT, language="de")
    for words in ("visit http://evil.example", "film from www.evil", "cosy as on evil.example"):
        await talk(words, LIT)
    assert rows(hass) == []
    await talk("Mach es bitte gemütlich", LIT, language="de")
    await approve(hass)
    await dark(hass)
    await llm_server.stop()
    await talk("mach es gemütlich bitte schön", language="de")
    assert state_of(hass, BED) == "on"
    await dark(hass)
    hass.config_entries.async_update_entry(entry, options={**entry.options, "always_confirm": ["light"]})
    await hass.async_block_till_done()
    assert (await talk("mach es gemütlich", language="de", conversation_id="de")).endswith("?")
    assert state_of(hass, BED) == "off"
    await talk("ja", wait=1, language="de", conversation_id="de")
    assert state_of(hass, BED) == "on"


async def test_an_automation_is_learned_and_held_back(hass: HomeAssistant, llm_server: LLMServer, talk: Talk) -> None:
    automation = {
        "alias": "Holiday", "triggers": [], "conditions": f"{{{{ is_state('{BED}', 'off') }}}}",
        "actions": [{"event": "ran"}],
    }  # fmt: skip
    assert await async_setup_component(hass, "automation", {"automation": [automation]})
    await hass.async_block_till_done()
    async_expose_entity(hass, ASSISTANT, "automation.holiday", True)
    await start(hass, llm_server)
    ran = async_capture_events(hass, "ran")
    words = "the suitcases are packed"
    call = {"action": "trigger", "entity_id": "automation.holiday"}
    await talk(words, call)
    await talk(words, call)
    assert rows(hass) == [("suitcases are packed", ProposalStatus.PROPOSED, 2)]
    await approve(hass)
    assert await talk(words) == "Done."
    assert len(ran) == 3
    await hass.services.async_call("light", "turn_on", {"entity_id": BED}, blocking=True)
    assert await talk(words) == "It did not run, because its conditions are not met: Holiday."
    await dark(hass)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.holiday"}, blocking=True)
    assert await talk(words) == "It was not run, because it is disabled: Holiday."
    assert len(ran) == 3
