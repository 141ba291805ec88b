"""Commands for later: what is waiting is told and cancelled, each person's own; "soon" is no time."""

from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.languages.planning import PlanningKind, planning_of, put_off_in
from tests.house import person, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text

pytestmark = pytest.mark.usefixtures("demo_house")

LATER = "turn on the bed light in 5 minutes"


def _waiting(hass: HomeAssistant) -> list[str | None]:
    return [timer.conversation_command for timer in hass.data[TIMER_DATA].timers.values()]


@pytest.mark.parametrize(
    "said", ["what did you plan?", "what's waiting", "what have you got planned", "anything scheduled?"]
)
async def test_what_waits_is_told(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    anna = person(hass)
    assert speech(await say(hass, said, context=anna)) == "No command is waiting."
    await say(hass, LATER, context=anna)
    told = speech(await say(hass, said, context=anna))
    assert told.startswith("Waiting: turn on the bed light (")
    assert _waiting(hass) == ["turn on the bed light"]


@pytest.mark.parametrize(("said", "language", "later"), [
    *((said, "en", LATER) for said in ("cancel that", "never mind", "forget it", "no", "undo that", "cancel the light in 5 minutes")),
    ("vergiss es", "de", "in 5 Minuten Bed Light einschalten"), ("storniere das", "de", "in 5 Minuten Bed Light einschalten"),
    ("nein, doch nicht", "de", "in 5 Minuten Bed Light einschalten"), ("annule ça", "fr", "allume Bed Light dans 5 minutes"),
    ("cancela eso", "es", "enciende Bed Light en 5 minutos"), ("annulla questo", "it", "tra 5 minuti accendi Bed Light"),
    ("nee toch maar niet", "nl", "over 5 minuten Bed Light aan"), ("anuluj to", "pl", "za 5 minut włącz Bed Light"),
])  # fmt: skip
async def test_what_was_just_left_for_later_is_cancelled(
    hass: HomeAssistant, said: str, language: str, later: str
) -> None:
    await set_up(hass)
    anna = person(hass)
    first = await say(hass, later, context=anna, language=language)
    assert len(_waiting(hass)) == 1
    answer = speech(await say(hass, said, first.conversation_id, context=anna, language=language))
    assert not _waiting(hass)
    assert "Bed Light".casefold() in answer.casefold()
    assert state_of(hass, "light.bed_light") == "off"


async def test_one_of_several_is_cancelled_by_name_or_asked_about(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LATER, context=anna)
    await say(hass, "turn off the kitchen lights in 10 minutes", context=anna)
    asked = speech(await say(hass, "cancel that", context=anna))
    assert asked.startswith("Which one should I cancel? turn on the bed light (")
    assert len(_waiting(hass)) == 2
    await say(hass, "cancel the kitchen lights", context=anna)
    assert _waiting(hass) == ["turn on the bed light"]


async def test_all_of_them_are_cancelled(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LATER, context=anna)
    await say(hass, "turn off the kitchen lights in 10 minutes", context=anna)
    await say(hass, "cancel everything that's planned", context=anna)
    assert not _waiting(hass)


@pytest.mark.parametrize("said", ["cancel that", "cancel it please", "cancel everything"])
async def test_there_may_be_nothing_to_cancel(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    assert speech(await say(hass, said)) == "There's nothing I can cancel."


@pytest.mark.parametrize(
    "said", ["cancel that", "cancel the bed light", "cancel all of them", "never mind the bed light"]
)
async def test_nobody_else_hears_of_it_or_cancels_it(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await say(hass, LATER, context=person(hass, "Anna"))
    ben = person(hass, "Ben")
    assert speech(await say(hass, "what did you plan?", context=ben)) == "No command is waiting."
    assert speech(await say(hass, "what did you plan?")) == "No command is waiting.", "a satellite has no user"
    await say(hass, said, context=ben)
    await say(hass, said)
    assert _waiting(hass) == ["turn on the bed light"]


async def test_what_was_said_without_a_user_is_the_satellites(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, LATER)
    assert "bed light" in speech(await say(hass, "what's waiting?"))
    assert speech(await say(hass, "what's waiting?", context=person(hass))) == "No command is waiting."
    await say(hass, "cancel the bed light")
    assert not _waiting(hass)


async def test_other_words_of_cancelling_are_left_alone(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LATER, context=anna)
    await say(hass, "delete milk from the shopping list", context=anna)
    await say(hass, "cancel the meeting", context=anna)
    await say(hass, "turn off the bed light", context=anna)
    assert _waiting(hass) == ["turn on the bed light"]


async def test_in_front_of_a_model_as_well(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.respond(lambda _: text("I see."))
    await set_up(hass, llm_server, profile={"local_first": True})
    anna = person(hass)
    assert speech(await say(hass, "what did you plan?", context=anna)) == "I see."
    assert speech(await say(hass, "cancel that", context=anna)) == "I see."
    first = await say(hass, LATER, context=anna)
    assert "bed light" in speech(await say(hass, "what did you plan?", first.conversation_id, context=anna))
    await say(hass, "cancel the bed light", first.conversation_id, context=anna)
    assert not _waiting(hass)


@pytest.mark.parametrize(("said", "language"), [
    ("turn on the bed light soon", "en"), ("turn on the bed light in a moment", "en"), ("turn on the bed light later", "en"),
    ("mach gleich Bed Light an", "de"), ("schalte Bed Light gleich ein", "de"), ("mach nachher Bed Light an", "de"),
    ("allume Bed Light bientôt", "fr"), ("allume Bed Light tout à l'heure", "fr"), ("enciende Bed Light luego", "es"),
    ("accendi Bed Light più tardi", "it"), ("doe Bed Light straks aan", "nl"), ("zaraz włącz Bed Light", "pl"),
])  # fmt: skip
async def test_soon_is_no_time(hass: HomeAssistant, said: str, language: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    assert state_of(hass, "light.bed_light") == "off"
    assert not _waiting(hass)


@pytest.mark.parametrize(("said", "answer"), [
    ("turn on the bed light soon", "Please tell me in how many minutes."),
    ("at 9 pm turn on the bed light", "I can't do that at a set time yet."),
    ("turn on the bed light at half past nine", "I can't do that at a set time yet."),
    ("turn on the bed light tomorrow", "I can't do that at a set time yet."),
])  # fmt: skip
async def test_what_is_missing_is_said(hass: HomeAssistant, said: str, answer: str) -> None:
    await set_up(hass)
    assert speech(await say(hass, said)) == answer
    assert state_of(hass, "light.bed_light") == "off"


async def test_right_now_is_now(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "mach jetzt gleich Bed Light an", language="de")
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize(("code", "said", "kind"), [
    ("de", "was hast du vor?", PlanningKind.LIST), ("de", "Was hast du alles geplant?", PlanningKind.LIST),
    ("fr", "qu'est-ce que tu as prévu ?", PlanningKind.LIST), ("es", "¿Qué tienes programado?", PlanningKind.LIST),
    ("it", "Cosa hai in programma?", PlanningKind.LIST), ("nl", "Wat staat er gepland?", PlanningKind.LIST),
    ("pl", "co masz zaplanowane?", PlanningKind.LIST), ("sv", "what did you plan", PlanningKind.LIST),
    ("de", "Brich alle vorgemerkten Sachen ab", PlanningKind.CANCEL), ("fr", "Annule tout ce qui est programmé", PlanningKind.CANCEL),
    ("es", "cancela todo", PlanningKind.CANCEL), ("it", "annulla tutti i comandi", PlanningKind.CANCEL),
    ("nl", "annuleer alles", PlanningKind.CANCEL), ("pl", "anuluj wszystko", PlanningKind.CANCEL),
])  # fmt: skip
def test_words_of_each_language(code: str, said: str, kind: PlanningKind) -> None:
    planning = planning_of(said, code)
    assert planning is not None
    assert planning.kind is kind


def test_without_its_time_a_command_is_left() -> None:
    assert [one.text for one in put_off_in("turn on the light at 9 pm", "en")] == ["turn on the light"]
