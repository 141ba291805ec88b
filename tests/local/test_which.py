"""Which one of several things is meant: the question, and what is understood as an answer to it."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components import conversation
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.home.domains import SWITCHED
from custom_components.home_agent.home.snapshot import HomeArea, HomeEntity, HomeSnapshot
from custom_components.home_agent.languages.phrasings import phrasings_of
from custom_components.home_agent.languages.vocabulary import language_of
from custom_components.home_agent.local.things import Things
from custom_components.home_agent.local.which import read_choice
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import act, say, set_up, speech, state_of
from tests.llm_server import LLMServer, error, text
from tests.local import said

type Row = tuple[Sequence[str], str, Mapping[str, str]]
"""What is said one after the other, the end of the last answer, and what changes by that."""

BLINDS = {"en": ("close the blind", "Bedroom blind, Left blind or Right blind?"),
          "de": ("schließe das Rollo", "Schlafzimmerrollo, Linkes Rollo oder Rechtes Rollo?")}  # fmt: skip
LEFT, RIGHT = {"cover.left": "closed"}, {"cover.right": "closed"}
ANSWERS: Mapping[str, Sequence[tuple[str, Mapping[str, str]]]] = {
    "en": [
        ("the left one", LEFT), ("left", LEFT), ("Left blind, please", LEFT), ("the second one", LEFT), ("number 3", RIGHT),
        ("the last", RIGHT), ("the one on the right", RIGHT), ("all of them", LEFT | RIGHT), ("left and right", LEFT | RIGHT),
        ("none", {}), ("never mind", {}), ("no", {}), ("is it raining?", {}), ("not the left one", {}), ("both", {}),
    ],
    "de": [
        ("die linke", LEFT), ("links", LEFT), ("Linkes Rollo", LEFT), ("das zweite", LEFT), ("das auf der rechten Seite", RIGHT),
        ("das letzte", RIGHT), ("alle", LEFT | RIGHT), ("das linke und das rechte", LEFT | RIGHT), ("keins", {}), ("vergiss es", {}),
        ("nicht das linke", {}), ("beide", {}),
    ],
}  # fmt: skip
ROWS: Mapping[str, Sequence[Row]] = {
    "en": [
        (["turn off the fan", "both"], "", {"fan.office": "off"}),
        (["turn on the fan", "bedroom"], "Turned on the fan", {"fan.bedroom": "on"}),
        (["turn on the fan", "the bedroom one", "turn it off again"], "", {"fan.bedroom": "off"}),
        (["close the blind", "the left one", "and the right one too"], "Right blind", RIGHT),
        (["turn off the fan", "the first one", "the other one"], "", {"fan.office": "off"}),
        (["close the blind", "the one in the living room"], "Which one: Left blind or Right blind?", {}),
        (["close the blind", "the one in the living room", "the second one"], "Right blind", RIGHT),
        (["close the blind", "left and right"], "Closing the Left blind. Closing the Right blind", LEFT | RIGHT),
        (["close the blind", "turn off the hallway light"], "", {"light.hall": "off"}),
        (["close the blind", "turn off the hallway light", "the left one"], "", {}),
        (["lock the door", "back"], "", {"lock.back": "locked"}),
        (["turn on the radio", "the kitchen one"], "", {"media_player.radio": "idle"}),
        (["turn on the light"], "room.", {}),  # more than a question can name
    ],
    "de": [
        (["mach den Ventilator aus", "beide"], "", {"fan.office": "off"}),
        (["mach den Ventilator an", "im Schlafzimmer"], "Schlafzimmerventilator eingeschaltet", {"fan.bedroom": "on"}),
        (["mach den Ventilator aus", "der erste", "der andere auch"], "", {"fan.office": "off"}),
        (["schließe das Rollo", "das im Wohnzimmer"], "Was meinst du: Linkes Rollo oder Rechtes Rollo?", {}),
        (["schließe das Rollo", "schalte das Flurlicht aus"], "", {"light.hall": "off"}),
    ],
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_answer_decides(hass: HomeAssistant, language: str) -> None:
    asks, names = BLINDS[language]
    rows = [*ROWS[language], *(([asks, answer], "", changes) for answer, changes in ANSWERS[language])]
    async for house in said.async_living(hass, language):
        user = await hass.auth.async_create_user("Somebody", group_ids=["system-admin"])
        wrong: list[tuple[Any, ...]] = []
        for sentences, ending, changes in rows:
            house.prepare({})
            conversation_id, before, result = None, house.snapshot(), None
            for sentence in sentences:
                before = house.snapshot()
                result = await conversation.async_converse(
                    hass, sentence, conversation_id, Context(user_id=user.id), language, "conversation.home_agent"
                )
                await hass.async_block_till_done()
                conversation_id = result.conversation_id
                if sentence == asks and not (speech(result).endswith(names) and result.continue_conversation):
                    wrong.append((sentence, speech(result)))
            assert result is not None
            after = house.snapshot()
            changed = {item: after[item].state for item in after if after[item].state != before[item].state}
            if changed != changes or not speech(result).endswith(ending):
                wrong.append((*sentences, speech(result), changed))
        assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.usefixtures("demo_house")
async def test_two_of_one_name_are_told_apart_by_their_rooms(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    lamps = {"light.kitchen_lights": "study", "light.ceiling_lights": "attic"}
    for entity_id, area in lamps.items():
        area_id = ar.async_get(hass).async_get_or_create(area.title()).id
        entry = er.async_get(hass).async_update_entity(entity_id, aliases=[])
        assert entry.device_id is not None
        dr.async_get(hass).async_update_device(entry.device_id, name_by_user="Reading Lamp", area_id=area_id)
        await hass.services.async_call("light", "turn_off", {"entity_id": entity_id}, blocking=True)
    await hass.async_block_till_done()
    await set_up(hass)
    alice = Context(user_id=hass_admin_user.id)

    asked = await say(hass, "turn on the reading lamp", context=alice)
    rooms = {"Reading Lamp (Attic)", "Reading Lamp (Study)"}
    assert speech(asked) in {"Which one: " + " or ".join(order) + "?" for order in permutations(sorted(rooms))}
    assert asked.continue_conversation
    assert [state_of(hass, lamp) for lamp in lamps] == ["off", "off"]
    await say(hass, "the one in the attic", asked.conversation_id, context=alice)
    assert [state_of(hass, lamp) for lamp in lamps] == ["off", "on"]
    await say(hass, "turn on the reading lamp in the study", context=alice)
    assert [state_of(hass, lamp) for lamp in lamps] == ["on", "on"]


@pytest.mark.usefixtures("demo_house")
async def test_who_is_asked_what(
    hass: HomeAssistant, hass_admin_user: MockUser, hass_read_only_user: MockUser, limited: Any
) -> None:
    """Another user, another conversation and who comes late answer nothing; nobody is asked for what they may not do."""
    async_expose_entity(hass, ASSISTANT, "lock.kitchen_door", True)
    for item in ("lock.front_door", "lock.kitchen_door"):
        await hass.services.async_call("lock", "lock", {"entity_id": item}, blocking=True)
    await hass.async_block_till_done()
    await set_up(hass)
    alice = Context(user_id=hass_admin_user.id)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    question = "Which one: Front Door or Kitchen Door?"

    asked = await say(hass, "unlock the door", context=alice)
    assert (speech(asked), asked.continue_conversation, asked.response.error_code) == (question, True, None)
    await say(hass, "the front one", asked.conversation_id, context=Context(user_id=hass_read_only_user.id))
    await say(hass, "the front one", context=alice)
    for context in (Context(user_id=hass_read_only_user.id), limited("lock.front_door"), Context()):
        refused = await say(hass, "unlock the door", context=context)
        assert not speech(refused).endswith("?"), speech(refused)
    assert not called

    asked = await say(hass, "unlock the door", context=alice)
    yes = await say(hass, "the front one", asked.conversation_id, context=alice)
    assert (speech(yes), yes.continue_conversation) == ("Front Door is locked. Unlock it?", True)
    assert not called
    done = await say(hass, "yes", asked.conversation_id, context=alice)
    assert speech(done) == "Done. Front Door is unlocked."
    assert [event.data["service"] for event in called] == ["unlock"]
    assert state_of(hass, "lock.kitchen_door") == "locked"


@pytest.mark.usefixtures("demo_house")
async def test_five_minutes(hass: HomeAssistant, hass_admin_user: MockUser, freezer: FrozenDateTimeFactory) -> None:
    async_expose_entity(hass, ASSISTANT, "lock.kitchen_door", True)
    await set_up(hass)
    alice = Context(user_id=hass_admin_user.id)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    asked = await say(hass, "unlock the door", context=alice)
    assert speech(asked).startswith("Which one")
    freezer.tick(200)
    done = await say(hass, "the front one", asked.conversation_id, context=alice)
    assert speech(done).startswith("Front Door")
    asked = await say(hass, "lock the door", context=alice)
    called.clear()
    freezer.tick(301)
    await say(hass, "the front one", asked.conversation_id, context=alice)
    assert not called


@pytest.mark.usefixtures("demo_house")
async def test_the_model_then_the_home(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    async_expose_entity(hass, ASSISTANT, "lock.kitchen_door", True)
    await set_up(hass, llm_server, profile={"local_first": True})
    alice = Context(user_id=hass_admin_user.id)
    llm_server.plan(text("Front or kitchen?"))
    assert speech(await say(hass, "lock the door", context=alice)) == "Front or kitchen?"
    llm_server.respond(lambda _: error(503, "overloaded"))
    asked = await say(hass, "lock the door", context=alice)
    assert speech(asked) == "Which one: Front Door or Kitchen Door?"
    told = (await act(hass, "process", alice, text="lock the door"))["understanding"]
    assert (told["asked"], told["candidates"]) == (True, ["lock.front_door", "lock.kitchen_door"])
    requests = len(llm_server.requests)
    await say(hass, "the kitchen one", asked.conversation_id, context=alice)
    assert state_of(hass, "lock.kitchen_door") == "locked"
    assert len(llm_server.requests) == requests


@pytest.mark.parametrize(
    ("language", "names", "answers"),
    [
        ("en", ("Lamp", "Lamp 2"), {"lamp": "0", "lamp 2": "1", "2": "1", "the first": "0", "the lamp": "0"}),
        ("es", ("Persiana izquierda", "Persiana derecha"), {"la izquierda": "0", "la segunda": "1", "ambas": "01", "ninguna": ""}),
        ("fr", ("Volet gauche", "Volet droit"), {"le gauche": "0", "le deuxième": "1", "les deux": "01", "aucun": ""}),
        ("it", ("Tenda sinistra", "Tenda destra"), {"la sinistra": "0", "la seconda": "1", "entrambe": "01", "nessuna": ""}),
        ("nl", ("Linker rolluik", "Rechter rolluik"), {"het linker": "0", "de tweede": "1", "allebei": "01", "geen van beide": ""}),
        ("pl", ("Lewa roleta", "Prawa roleta"), {"lewa": "0", "druga": "1", "obie": "01", "żadna": ""}),
    ],
)  # fmt: skip
def test_every_language_reads_its_answer(language: str, names: Sequence[str], answers: Mapping[str, str]) -> None:
    ids = [f"cover.{number}" for number, _ in enumerate(names)]
    home = HomeSnapshot(
        {item: HomeEntity(item, (name,), "living") for item, name in zip(ids, names, strict=True)},
        {"living": HomeArea("living", ("Salon",))},
    )
    known = Things(home, language_of(language, {}, language), phrasings_of(language, SWITCHED), lambda _: None)
    for answer, meant in answers.items():
        picked = read_choice(answer, known)
        assert picked is not None, answer
        assert [item.partition(".")[2] for item in picked.entity_ids] == [*meant], answer
    assert read_choice("xyz", known) is None
