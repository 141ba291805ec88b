"""Wishes that wait get another time, another end or a condition by talking, and none but the one that is meant."""

from dataclasses import replace

from homeassistant.core import Context, HomeAssistant
import pytest

from custom_components.home_agent.wishes.wish import WishKind
from custom_components.home_agent.wishes.wishes import MOST_OF_USER, wishes_of
from tests.house import person, say, set_up, speech, state_of
from tests.local.talks import due_times, only_wish, talk

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


@pytest.mark.parametrize(("language", "wished", "said", "due"), [
    ("en", "wake me at seven", "wake me at half past seven instead", "25T07:30"),
    ("de", "weck mich um sieben", "weck mich doch erst um halb acht", "25T07:30"),
    ("fr", "réveille-moi à sept heures", "réveille-moi plutôt à huit heures", "25T08:00"),
    ("es", "despiértame a las siete", "mejor despiértame a las ocho", "25T08:00"),
    ("it", "svegliami alle sette", "svegliami piuttosto alle otto", "25T08:00"),
    ("nl", "wek me om zeven uur", "wek me toch maar om acht uur", "25T08:00"),
    ("pl", "obudź mnie o siódmej", "obudź mnie jednak o ósmej", "25T08:00"),
    ("en", "turn off the bed light at eight", "turn off the bed light at nine instead", "24T21:00"),
    ("de", "mach Bed Light um acht aus", "mach Bed Light lieber um neun aus", "24T21:00"),
    ("nl", "wek me om zeven uur", "maak er acht uur van", "25T08:00"), ("nl", "wek me om zeven uur", "verzet de wekker naar half negen", "25T08:30"),
    ("fr", "réveille-moi à sept heures", "mets plutôt huit heures", "25T08:00"), ("fr", "réveille-moi à sept heures", "non, sept heures moins le quart", "25T06:45"),
    ("en", "remind me at eight to call Ben", "push it to tomorrow", "25T20:00"), ("de", "erinnere mich um acht an Ben", "verschieb das auf morgen", "25T20:00"),
    ("es", "recuérdame a las ocho llamar a Ben", "pásalo a mañana", "25T20:00"), ("it", "ricordami alle otto di chiamare Ben", "spostalo a domani", "25T20:00"),
    ("pl", "przypomnij mi o ósmej wieczorem o Benie", "przełóż to na jutro", "25T20:00"),
    ("en", "turn off the bed light at eight", "move it by five minutes", "24T20:05"), ("en", "turn off the bed light at eight", "delay it by five minutes", "24T20:05"),
    ("en", "turn off the bed light at eight", "make it ten minutes earlier", "24T19:50"), ("de", "mach Bed Light um acht aus", "verschieb es um fünf Minuten", "24T20:05"),
    ("de", "mach Bed Light um acht aus", "zieh es zehn Minuten vor", "24T19:50"), ("fr", "éteins Bed Light à 20h", "repousse de cinq minutes", "24T20:05"),
    ("fr", "éteins Bed Light à 20h", "dix minutes plus tôt", "24T19:50"), ("es", "apaga Bed Light a las ocho", "retrásalo cinco minutos", "24T20:05"),
    ("es", "apaga Bed Light a las ocho", "adelántalo diez minutos", "24T19:50"), ("it", "spegni Bed Light alle otto", "posticipa di cinque minuti", "24T20:05"),
    ("it", "spegni Bed Light alle otto", "anticipalo di dieci minuti", "24T19:50"), ("nl", "doe Bed Light om acht uur uit", "vijf minuten later", "24T20:05"),
    ("nl", "doe Bed Light om acht uur uit", "vervroeg het met tien minuten", "24T19:50"), ("pl", "wyłącz Bed Light o ósmej wieczorem", "przesuń o pięć minut", "24T20:05"),
    ("pl", "wyłącz Bed Light o ósmej wieczorem", "dziesięć minut wcześniej", "24T19:50"),
    ("en", "turn off the bed light at eight", "not at eight but at nine", "24T21:00"), ("de", "mach Bed Light um acht aus", "nicht um acht, sondern um neun", "24T21:00"),
    ("en", "turn off the bed light at eight", "at nine instead of eight", "24T21:00"), ("en", "turn off the bed light at eight", "make it half eight, I'm tired", "24T20:30"),
    ("en", "turn off the bed light in ten minutes", "make it twenty minutes", "24T18:30"),
])  # fmt: skip
async def test_what_was_just_wished_is_moved(
    hass: HomeAssistant, language: str, wished: str, said: str, due: str
) -> None:
    await set_up(hass)
    await talk(hass, language, wished, said)
    assert len(wishes_of(hass).all()) == 1
    assert due_times(hass)[0][:6] == due[:6]
    assert state_of(hass, "light.bed_light") == "off"


@pytest.mark.parametrize(("language", "wished", "said", "due"), [
    ("en", ("wake me at seven", "remind me at eight to call Ben"), "move the alarm to eight", ["25T08:00", "24T20:00"]),
    ("de", ("weck mich um sieben", "erinnere mich um acht an Ben"), "verschieb den Wecker von sieben auf acht", ["25T08:00", "24T20:00"]),
    ("fr", ("réveille-moi à sept heures", "rappelle-moi à 20h d'appeler Ben"), "décale le réveil à huit heures", ["25T08:00", "24T20:00"]),
    ("es", ("despiértame a las siete", "recuérdame a las ocho llamar a Ben"), "cambia la alarma a las ocho", ["25T08:00", "24T20:00"]),
    ("it", ("svegliami alle sette", "ricordami alle otto di chiamare Ben"), "sposta la sveglia alle otto", ["25T08:00", "24T20:00"]),
    ("nl", ("wek me om zeven uur", "herinner me om acht uur aan Ben"), "verzet de wekker naar acht uur", ["25T08:00", "24T20:00"]),
    ("pl", ("obudź mnie o siódmej", "przypomnij mi o ósmej wieczorem o Benie"), "przesuń budzik na ósmą", ["25T08:00", "24T20:00"]),
    ("en", ("turn off the bed light at eight", "turn off the kitchen lights at nine"), "move the kitchen lights to ten", ["24T20:00", "24T22:00"]),
    ("en", ("turn off the bed light at eight", "turn off the kitchen lights at nine"), "change the nine o'clock one to ten", ["24T20:00", "24T22:00"]),
    ("en", ("turn off the bed light at eight", "turn off the kitchen lights at nine", "what's waiting"), "move the first one to seven", ["24T19:00", "24T21:00"]),
])  # fmt: skip
async def test_one_that_is_named_is_moved(
    hass: HomeAssistant, language: str, wished: tuple[str, ...], said: str, due: list[str]
) -> None:
    await set_up(hass)
    await talk(hass, language, *wished, said)
    assert due_times(hass) == due


@pytest.mark.parametrize(("language", "said"), [
    ("en", "don't move it to nine"), ("en", "set the bed light to nine percent"), ("en", "move the meeting to nine"), ("en", "wake me at nine"),
    ("en", "turn on the kitchen lights at nine instead"), ("en", "please do not push it to nine"), ("de", "verschieb es nicht auf neun"), ("de", "weck mich um neun"),
    ("de", "mach Kitchen Lights lieber um neun aus"), ("fr", "ne change pas à neuf heures"), ("es", "no lo cambies a las nueve"), ("it", "non spostarlo alle nove"),
    ("de", "bitte nicht auf neun verlegen"), ("nl", "je moet het niet naar negen uur verplaatsen"), ("fr", "surtout ne décale pas à neuf heures"),
    ("nl", "verzet het niet naar negen uur"), ("pl", "nie przesuwaj na dziewiątą"), ("en", "move the eleven o'clock one to nine"),
])  # fmt: skip
async def test_what_is_no_change_moves_nothing(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn off the bed light at eight")
    await talk(hass, language, said)
    assert due_times(hass)[0] == "24T20:00"


@pytest.mark.parametrize(("answer", "due"), [
    ("the second one", ["24T20:00", "24T22:00"]), ("the one at eight", ["24T22:00", "24T21:00"]), ("the kitchen lights", ["24T20:00", "24T22:00"]),
    ("both", ["24T22:00", "24T22:00"]), ("neither", ["24T20:00", "24T21:00"]), ("the earlier one", ["24T22:00", "24T21:00"]), ("at five", ["24T20:00", "24T21:00"]),
])  # fmt: skip
async def test_which_one_is_to_be_moved_is_asked(hass: HomeAssistant, answer: str, due: list[str]) -> None:
    await set_up(hass)
    user = person(hass).user_id
    for text in ("turn off the bed light at eight", "turn off the kitchen lights at nine"):
        await say(hass, text, context=Context(user_id=user))
    asked = await say(hass, "move it to ten", context=Context(user_id=user))
    assert speech(asked).startswith("Which one do you mean?")
    await say(hass, answer, asked.conversation_id, context=Context(user_id=user))
    assert due_times(hass) == due


@pytest.mark.parametrize(("language", "wished", "said", "due"), [
    ("en", "turn on the bed light for ten minutes", "turn on the bed light for twenty minutes", "24T18:30"),
    ("en", "turn on the bed light for ten minutes", "leave it on for half an hour", "24T18:40"), ("en", "turn on the bed light for ten minutes", "no, keep it on until eight", "24T20:00"),
    ("de", "mach Bed Light für zehn Minuten an", "lass es lieber eine halbe Stunde an", "24T18:40"), ("fr", "allume Bed Light pendant dix minutes", "laisse allumé jusqu'à 20h", "24T20:00"),
    ("es", "enciende Bed Light durante diez minutos", "mejor media hora", "24T18:40"), ("it", "accendi Bed Light per dieci minuti", "basta mezz'ora", "24T18:40"),
    ("nl", "doe Bed Light tien minuten aan", "toch maar tot acht uur", "24T20:00"), ("pl", "włącz Bed Light na dziesięć minut", "wystarczy pół godziny", "24T18:40"),
])  # fmt: skip
async def test_another_end_takes_the_place_of_the_first(
    hass: HomeAssistant, language: str, wished: str, said: str, due: str
) -> None:
    await set_up(hass)
    await talk(hass, language, wished, said)
    assert due_times(hass) == [due]
    assert only_wish(hass).ends
    assert state_of(hass, "light.bed_light") == "on"


async def test_the_first_end_is_back_where_another_one_is_undone(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(
        hass, "en", "turn on the bed light for ten minutes", "turn on the bed light for twenty minutes", "undo that"
    )
    assert due_times(hass) == ["24T18:20"]


async def test_an_end_that_is_still_to_begin_stays(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the bed light at nine for ten minutes", "turn on the bed light for twenty minutes")
    assert sorted(due_times(hass)) == ["24T18:30", "24T21:00", "24T21:10"]


async def test_a_beginning_takes_its_end_along(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the bed light at eight for ten minutes", "make it nine")
    assert sorted(due_times(hass)) == ["24T21:00", "24T21:10"]


async def test_a_condition_is_added(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn off the bed light at eight", "but only if the decorative lights are on")
    [watch] = only_wish(hass).when.conditions
    assert watch.entity_ids == ("switch.decorative_lights",)
    assert due_times(hass) == ["24T20:00"]


async def test_a_bare_number_is_the_wish_s_in_a_home_with_a_heating(hass: HomeAssistant) -> None:
    hass.states.async_set("climate.living_room", "heat", {"temperature": 20, "supported_features": 1})
    await set_up(hass)
    await talk(hass, "en", "turn off the bed light at eight", "what's waiting", "make it nine")
    assert due_times(hass) == ["24T21:00"]


async def test_a_day_without_an_hour_is_asked_for_the_hour(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = await talk(hass, "en", "turn on the bed light tomorrow")
    assert answer == "I've done nothing yet: please tell me at what time (“tomorrow”)."
    assert not wishes_of(hass).all()


async def test_a_beginning_and_its_end_are_moved_both_or_none(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = await talk(
        hass, "en", "turn on the bed light tomorrow at 18:05 for ten minutes", "365 days later"
    )  # the end would be too far ahead
    assert sorted(due_times(hass)) == ["25T18:05", "25T18:15"]
    assert "366" in answer


async def test_where_there_is_no_room_for_the_end_nothing_begins(hass: HomeAssistant) -> None:
    await set_up(hass)
    user = person(hass)
    await say(hass, "remind me at eight to call Ben", context=user)
    first = only_wish(hass)
    wishes_of(hass).put(*(replace(first, id=f"{first.id}{at}", text=f"call {at}") for at in range(MOST_OF_USER - 2)))
    answer = speech(
        await say(hass, "turn on the bed light at nine for ten minutes", context=Context(user_id=user.user_id))
    )
    assert "All right" not in answer
    assert {wish.kind for wish in wishes_of(hass).all()} == {WishKind.REMINDER}
