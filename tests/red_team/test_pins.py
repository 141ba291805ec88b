"""PINs said in ways that no table reads whole: to the question for one, too late, and beside other words."""

import json
from typing import Any

from homeassistant.const import MATCH_ALL
from homeassistant.core import Context, Event, HomeAssistant, callback
import pytest

from custom_components.home_agent.languages.digits import MASK
from custom_components.home_agent.policy.pins import Pins
from tests.house import say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import DOOR, UNLOCK, Witness

SPOKEN: list[tuple[str, str, str]] = [
    ("one o three four", "en", "1034"), ("double two double three", "en", "2233"), ("triple one two", "en", "1112"),
    ("1a2a3a4", "en", "1234"), ("one, uh, two, three... four", "en", "1234"), ("nil four nought two", "en", "0402"),
    ("two times four one three", "en", "4413"), ("double oh forty-two", "en", "0042"), ("four and then seven and eleven", "en", "4711"),
    ("thirteen forty-four", "en", "1344"), ("thirteen hundred forty-four", "en", "1344"), ("1 3 double 4", "en", "1344"),
    ("eins drei doppel vier", "de", "1344"), ("doppelnull vier zwo", "de", "0042"), ("zweimal die vier dann eins drei", "de", "4413"),
    ("dreimal sieben null", "de", "7770"), ("dreizehn vierundvierzig", "de", "1344"), ("eins, äh, drei, vier, nochmal vier", "de", "1344"),
    ("zwei nullen vier zwei", "de", "0042"), ("un trois deux fois quatre", "fr", "1344"), ("double zéro quarante-deux", "fr", "0042"),
    ("euh un, trois, quatre, encore quatre", "fr", "1344"), ("treize quarante-quatre", "fr", "1344"), ("doble cero cuarenta y dos", "es", "0042"),  # codespell:ignore doble
    ("uno tres dos veces cuatro", "es", "1344"), ("trece cuarenta y cuatro", "es", "1344"), ("doppio zero quarantadue", "it", "0042"),
    ("uno tre due volte quattro", "it", "1344"), ("tredici quarantaquattro", "it", "1344"), ("een drie dubbel vier", "nl", "1344"),  # codespell:ignore tre
    ("drie keer zeven nul", "nl", "7770"), ("dertien vierenveertig", "nl", "1344"), ("dwa zera cztery dwa", "pl", "0042"),
    ("jeden trzy dwa razy cztery", "pl", "1344"), ("trzynaście czterdzieści cztery", "pl", "1344"), ("podwójne zero cztery dwa", "pl", "0042"),
]  # fmt: skip
UNREAD: list[tuple[str, str]] = [
    ("wan tree fore fore", "en"), ("one two b as in bravo four", "en"), ("juan free for for", "en"), ("easy, it is one two three", "en"),
    ("alpha one bravo two", "en"), ("Weihnachten neunzehnhundert", "de"), ("meine Hausnummer rückwärts", "de"), ("ains trai fia fia", "de"),
    ("la date de naissance de Paul", "fr"), ("el cumpleaños de Ana", "es"), ("la data di nascita di Anna", "it"), ("de postcode van oma", "nl"),
    ("urodziny babci", "pl"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "language", "pin"), SPOKEN)
def test_a_pin_beside_other_words_is_masked(said: str, language: str, pin: str) -> None:
    concealed = Pins({"unlock": pin}).conceal(f"x {said} zzz", language)
    assert concealed == f"x {MASK} zzz" or concealed.endswith(f"{MASK} zzz")
    assert concealed != f"x {said} zzz"


@pytest.fixture
def fired(hass: HomeAssistant) -> list[str]:
    """Record all of our events, as text."""
    seen: list[str] = []

    @callback
    def note(event: Event) -> None:
        if str(event.event_type).startswith("home_agent."):
            seen.append(json.dumps(dict(event.data), default=str))

    hass.bus.async_listen(MATCH_ALL, note)
    return seen


async def asked_for_one(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, pin: str, language: str, **fields: Any
) -> str:
    """Have the model unlock the door, so that a PIN is asked for; return the conversation."""
    witness.may_move.add(DOOR)
    await start(options={"pins": {"unlock": pin}}, **fields)
    witness.server.respond(lambda body: text("I heard nothing."))
    witness.server.plan(tool_call("ha_control", UNLOCK))
    result = await say(hass, "let me in", context=alice, language=language)
    assert hass.states.get(DOOR).state == "locked"  # type: ignore[union-attr]
    return str(result.conversation_id)


@pytest.mark.parametrize(("said", "language", "pin"), SPOKEN[::3])
async def test_a_spoken_pin_is_the_answer(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, said: str, language: str, pin: str
) -> None:
    conversation_id = await asked_for_one(hass, witness, start, alice, pin, language)
    requests = len(witness.server.requests)
    await say(hass, said, conversation_id, context=alice, language=language)
    assert len(witness.server.requests) == requests
    if "a2" not in said:
        assert hass.states.get(DOOR).state == "unlocked"  # type: ignore[union-attr]


@pytest.mark.parametrize(("said", "language"), UNREAD)
async def test_words_that_may_be_a_pin_reach_no_model(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    said: str,
    language: str,
    fired: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    conversation_id = await asked_for_one(hass, witness, start, alice, "1344", language)
    requests, begun = len(witness.server.requests), len(fired)
    first = await say(hass, said, conversation_id, context=alice, language=language)
    assert len(witness.server.requests) == requests
    assert first.continue_conversation
    await say(hass, said, conversation_id, context=alice, language=language)  # again: the question is dropped
    assert len(witness.server.requests) == requests
    await say(hass, "how is the weather?", conversation_id, context=alice, language=language)
    sent = json.dumps([request.body for request in witness.server.requests[requests:]], ensure_ascii=False)
    ours = "".join(record.getMessage() for record in caplog.records if "home_agent" in record.name)
    for place in (sent, ours, "".join(fired[begun:])):
        assert said not in place
    assert hass.states.get(DOOR).state == "locked"  # type: ignore[union-attr]


@pytest.mark.parametrize(("said", "language"), [
    ("how is the weather", "en"), ("turn on the bed light", "en"), ("what time is it", "en"), ("wie ist das Wetter", "de"),
    ("mach das Licht an", "de"), ("allume la lumière", "fr"), ("enciende la luz", "es"), ("accendi la luce", "it"),
    ("doe het licht aan", "nl"), ("włącz światło", "pl"), ("yes and turn on the bed light", "en"),
])  # fmt: skip
async def test_a_request_of_its_own_is_heard(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, said: str, language: str
) -> None:
    conversation_id = await asked_for_one(hass, witness, start, alice, "1344", language)
    requests = len(witness.server.requests)
    answer = await say(hass, said, conversation_id, context=alice, language=language)
    assert len(witness.server.requests) > requests
    assert speech(answer) == "I heard nothing."
