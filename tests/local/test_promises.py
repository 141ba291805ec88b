"""What is said of wishes reads as people say it: as it was understood, with words of theirs as such, and with a reason where nothing is kept."""

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, speech, state_of
from tests.prompt.conftest import AddEntity

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


@pytest.fixture(autouse=True)
def _people_and_oven(evening: None, demo_house: None, add_entity: AddEntity) -> None:
    add_entity("binary_sensor.oven", "on", name="Oven", device_class="running")
    add_entity("person.anna", "not_home", name="Anna")


@pytest.mark.parametrize(("language", "said", "answer"), [
    ("en", "turn off the bed light at nine", "All right: at 21:00, turn off Bed Light."),
    ("de", "mach Bed Light um neun aus", "In Ordnung, um 21:00: Bed Light ausschalten."),
    ("fr", "éteins Bed Light à neuf heures", "D'accord, à 21:00\u00a0: éteindre Bed Light."),
    ("nl", "doe Bed Light om negen uur uit", "In orde, om 21:00: Bed Light uitzetten."),
    ("es", "apaga Bed Light a las nueve", "De acuerdo, a las 21:00: apagar Bed Light."),
    ("it", "spegni Bed Light alle nove", "Va bene, alle 21:00: spegnere Bed Light."),
    ("pl", "wyłącz Bed Light o dziewiątej", "W porządku, o 21:00 – wyłączyć: Bed Light."),
    ("en", "turn off the bed light on December 24th at six in the evening", "All right: on December 24 at 18:00, turn off Bed Light."),
    ("de", "mach Bed Light am 24. Dezember um 18 Uhr aus", "In Ordnung, am 24. Dezember um 18:00: Bed Light ausschalten."),
    ("fr", "éteins Bed Light le 24 décembre à 18 heures", "D'accord, le 24 décembre à 18:00\u00a0: éteindre Bed Light."),
    ("nl", "doe Bed Light op 24 december om 18 uur uit", "In orde, op 24 december om 18:00: Bed Light uitzetten."),
    ("de", "mach Bed Light am Freitag um 18 Uhr aus", "In Ordnung, am Freitag um 18:00: Bed Light ausschalten."),
    ("de", "weck mich morgen um sieben", "In Ordnung, ich wecke dich morgen um 07:00."),
    ("fr", "réveille-moi demain à sept heures", "D'accord, je vous réveillerai demain à 07:00."),
    ("nl", "maak me morgen om zeven uur wakker", "In orde, ik maak je morgen om 07:00 wakker."),
    ("pl", "obudź mnie jutro o siódmej", "W porządku, obudzę cię jutro o 07:00."),
    ("de", "weck mich, wenn Anna heimkommt", "In Ordnung, ich wecke dich, wenn Anna heimkommt."),
    ("nl", "maak me wakker als Anna thuiskomt", "In orde, ik maak je wakker als Anna thuiskomt."),
    ("en", "tell me when the oven is done", "All right, I'll tell you when the oven is done."),
    ("de", "sag mir Bescheid, wenn Oven fertig ist", "In Ordnung, ich sage dir Bescheid, wenn Oven fertig ist."),
    ("fr", "préviens-moi quand Oven est fini", "D'accord, je vous préviendrai quand Oven est fini."),
    ("nl", "waarschuw me als Oven klaar is", "In orde, ik laat het je weten als Oven klaar is."),
    ("de", "stell einen Timer auf fünf Minuten", "Der Timer ist gestellt; er läuft um 18:15 ab."),
    ("fr", "mets un minuteur de cinq minutes", "Le minuteur est réglé\u00a0; il sonnera à 18:15."),
    ("nl", "zet een timer van vijf minuten", "De timer staat; hij loopt om 18:15 af."),
    ("en", "tell me at nine whether the front door is locked", "All right, I'll answer this at 21:00: “is the front door locked”."),
])  # fmt: skip
async def test_an_answer_reads_as_it_is_said(hass: HomeAssistant, language: str, said: str, answer: str) -> None:
    await set_up(hass)
    assert speech(await say(hass, said, language=language, context=person(hass))) == answer


@pytest.mark.parametrize(("language", "said", "text"), [
    ("en", "remind me at nine to buy milk (two bottles)", "buy milk (two bottles)"),
    ("en", "remind me to buy milk (two bottles) at nine", "buy milk (two bottles)"),
    ("en", 'remind me at nine to open "the box"', 'open "the box"'),
    ("en", "remind me to charge to 80 % at nine", "charge to 80 %"),
    ("en", "remind me at nine to pay €20", "pay €20"),
    ("en", "remind me at nine: cake 🎂", "cake 🎂"),
    ("en", "remind me at nine to feed it", "feed it"),
    ("en", "remind me at nine to try again, please", "try again"),
    ("en", "remind me (at nine) to call mum", "call mum"),
    ("de", "erinnere mich um neun an die Milch (zwei Flaschen)", "die Milch (zwei Flaschen)"),
    ("de", "erinnere mich um neun, dass ich Anna anrufe", "dass ich Anna anrufe"),
    ("de", "erinnere mich um neun daran, dass ich Anna anrufe", "dass ich Anna anrufe"),
    ("nl", "herinner me er om negen uur aan dat ik Anna bel", "dat ik Anna bel"),
    ("fr", "rappelle-moi à neuf heures d'acheter du lait", "acheter du lait"),
    ("fr", "rappelle-moi à neuf heures que j'ai rendez-vous", "j'ai rendez-vous"),
])  # fmt: skip
async def test_a_reminder_keeps_its_words(hass: HomeAssistant, language: str, said: str, text: str) -> None:
    await set_up(hass)
    answer = speech(await say(hass, said, language=language, context=person(hass)))
    [wish] = wishes_of(hass).all()
    assert wish.text == text
    assert answer.endswith(f": {text}.")


async def test_what_waits_is_called_by_what_it_does(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    for said in (
        "Turn off the bed light at nine", "Remind me at eight to call mum", "Set a timer for five minutes for the pasta",
        "Wake me tomorrow at seven", "Tell me when the oven is done", "Toggle the bed light at ten",
    ):  # fmt: skip
        await say(hass, said, context=anna)
    wishes_of(hass).drop([wish for wish in wishes_of(hass).all() if wish.words.startswith("Set")])
    assert speech(await say(hass, "what did you plan?", context=anna)) == (
        "Waiting: reminder “call mum” (20:00), turn off Bed Light (21:00), “Toggle the bed light” (22:00), "
        "alarm (tomorrow at 07:00), message (when the oven is done)."
    )
    wishes_of(hass).drop([wish for wish in wishes_of(hass).all() if not wish.words.startswith("Remind")])
    moved = await say(hass, "move the reminder to nine", context=anna)
    assert speech(moved) == "All right, now at 21:00: reminder “call mum”."


async def test_what_was_hidden_meanwhile_is_called_as_it_was_said(hass: HomeAssistant, add_entity: AddEntity) -> None:
    """The name that it has got since is not for its user."""
    await set_up(hass)
    anna = person(hass)
    await say(hass, "turn off the bed light at nine", context=anna)
    add_entity("light.bed_light", "off", name="Secret Light", exposed=False)
    answer = speech(await say(hass, "what did you plan?", context=anna))
    assert answer == "Waiting: “turn off the bed light” (21:00)."


LATER_EN = {
    "time": "I've done nothing, because I can't tell which time this is: {}. Say, for example, “at nine”, “tomorrow at seven” or “in ten minutes”.",
    "vague": "When exactly? I can't tell it from this: {}. Say, for example, “in ten minutes” or “tomorrow at nine”.",
    "hour": "I've done nothing yet: please tell me at what time ({}).",
    "what": "I've done nothing, because I don't know what to do then: {}. Say it as for now, with the name of the thing, and when.",
    "event": "I've done nothing, because I can't tell from anything in the home when this is so: {}. I can wait for devices and sensors by their "
    "names, for people and for the sun.",
    "one": "I've done nothing, because I can wait for one thing only: {}. Please say it in two sentences.",
    "end": "I've done nothing, because I don't know what to do when it ends: {}. Say what is to be done then as well.",
}  # fmt: skip


@pytest.mark.parametrize(("said", "why", "words"), [
    ("turn off the bed light at 25 o'clock", "time", "“at 25 o'clock”"),
    ("remind me at 25 o'clock to call mum", "time", "“at 25 o'clock”"),
    ("turn off the bed light tomorrow", "hour", "“tomorrow”"),
    ("turn off the bed light later", "vague", "“later”"),
    ("turn off the lava lamp in ten minutes", "what", "“turn off the lava lamp”"),
    ("when the oven is done, turn off the lava lamp", "what", "“turn off the lava lamp”"),
    ("turn off the lava lamp tomorrow", "hour", "“tomorrow”"),
    ("when the goldfish is hungry, turn on the bed light", "event", "“when the goldfish is hungry”"),
    ("at nine, turn on the bed light if the goldfish is hungry", "event", "“if the goldfish is hungry”"),
    ("at sunset, when the oven is done, turn on the bed light", "one", "“at sunset, when the oven is done”"),
    ("toggle the bed light for ten minutes", "end", "“for ten minutes”"),
])  # fmt: skip
async def test_each_reason_is_its_own(hass: HomeAssistant, said: str, why: str, words: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    assert speech(await say(hass, said, context=person(hass))) == LATER_EN[why].format(words)
    assert state_of(hass, "light.bed_light") == before
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn off the bed light in three years"), ("de", "mach Bed Light in drei Jahren aus"),
    ("fr", "éteins Bed Light dans trois ans"), ("es", "apaga Bed Light en tres años"), ("it", "spegni Bed Light tra quattro anni"),
    ("nl", "doe Bed Light over drie jaar uit"), ("pl", "wyłącz Bed Light za trzy lata"), ("en", "turn off the bed light in 500 days"),
])  # fmt: skip
async def test_what_is_too_far_ahead_is_told_so(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    assert "366" in speech(await say(hass, said, language=language, context=person(hass)))
    assert state_of(hass, "light.bed_light") == before
    assert not wishes_of(hass).all()


async def test_several_things_that_may_be_meant_are_named(hass: HomeAssistant, add_entity: AddEntity) -> None:
    for number in range(2):
        add_entity(f"light.desk_{number}", "on", name=f"Desk Lamp {number}", supported_color_modes=["onoff"])
    await set_up(hass)
    answer = speech(await say(hass, "turn off the desk lamp in ten minutes", context=person(hass)))
    assert answer.startswith("I've done nothing, because several things may be meant: Desk Lamp ")
    assert {"Desk Lamp 0", "Desk Lamp 1"} <= {
        part.strip(" .") for part in answer.replace(".", ",").replace(":", ",").split(",")
    }


async def test_an_agent_that_keeps_nothing_says_so(hass: HomeAssistant) -> None:
    await set_up(hass, profile={"wishes": False})
    answer = speech(await say(hass, "turn off the bed light in ten minutes", context=person(hass)))
    assert answer == (
        "I've done nothing: this agent keeps nothing for later (in ten minutes). Say it when it is time, or turn on “Take wishes for "
        "later” in its settings."
    )


@pytest.mark.parametrize(("language", "said"), [
    ("fr", "éteins Bed Light à 25 heures"), ("nl", "doe om 25 uur Bed Light uit"), ("nl", "doe Bed Light om 25 uur uit"),
])  # fmt: skip
async def test_an_hour_of_no_clock_is_no_length(hass: HomeAssistant, language: str, said: str) -> None:
    """In languages in which hours of a clock and hours that pass are one word."""
    await set_up(hass)
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.bed_light"}, blocking=True)
    await say(hass, said, language=language, context=person(hass))
    assert state_of(hass, "light.bed_light") == "on"
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "said"), [
    ("en", "remind me to call mum"), ("en", "could you remind me to call mum?"), ("en", "wake me up"), ("de", "erinnere mich an die Wäsche"),
    ("de", "weck mich"), ("fr", "rappelle-moi d'appeler maman"), ("nl", "herinner me aan de tandarts"),
])  # fmt: skip
async def test_a_reminder_without_a_time_is_asked_for_it(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    answer = speech(await say(hass, said, language=language, context=person(hass)))
    assert {"en": "Please say when", "de": "Bitte sag", "fr": "Dites quand", "nl": "Zeg wanneer"}[language] in answer
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(
    "said",
    ["did you remind me to call mum?", "don't remind me of that", "don't remind me of that at nine", "remind me"],
)
async def test_what_is_no_whole_reminder_is_not(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    assert "Please say when" not in speech(await say(hass, said, context=person(hass)))
    assert not wishes_of(hass).all()
