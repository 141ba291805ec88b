"""When something is to be done is read out of a sentence, what is to be done is left as it was said, and nothing is lost.

Rows of `timing.json` have a sentence, what is to be done, and when: `at` and `back` are what the clock shows, the seconds of a length, or
an event of the sun with the seconds after it and maybe its day. All are said on Tuesday, 2026-11-24, at ten past six in the evening.
"""

from datetime import UTC, datetime, timedelta
import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from custom_components.home_agent.languages.later import later_in
from custom_components.home_agent.languages.said_moments import SaidMoment, moment_in
from custom_components.home_agent.languages.timing import Timed, timed_in

FOLDER = Path(__file__).parent
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 24, 18, 10, tzinfo=BERLIN)
ROWS = [(code, *row) for code, rows in json.loads((FOLDER / "timing.json").read_text("utf-8")).items() for row in rows]
LATER = json.loads((FOLDER / "later.json").read_text("utf-8"))


def moment_as_row(moment: SaidMoment) -> str | int:
    """Return a moment in the form of the rows."""
    if moment.sun:
        day = "" if moment.at == NOW else f" {moment.at:%Y-%m-%d}"
        return f"{moment.sun} {moment.offset:+d}{day}"
    return moment.wall or moment.seconds


def as_row(timed: Timed) -> dict[str, Any]:
    """Return a reading in the form of the rows."""
    row: dict[str, Any] = {}
    for key, moment in (("at", timed.moment), ("back", timed.back)):
        if moment is not None:
            row[key] = moment_as_row(moment)
    for clause in timed.clauses:
        key = "unless" if clause.negated else "if" if clause.is_if else "until" if clause.until else "when"
        row |= {key: clause.text} | ({"delay": clause.delay} if clause.delay else {})
        row |= {"lasting": clause.lasting} if clause.lasting else {}
    if timed.window is not None:
        row["within"] = " ".join(f"{moment:%dT%H}" for moment in timed.window)
    if timed.daylight is not None:
        row["daylight"] = timed.daylight
    return row | {key: words for key, words in (("unread", timed.unread), ("forever", timed.forever)) if words}


def first(text: str, code: str, now: datetime = NOW, named: tuple[str, ...] = ()) -> Timed:
    """Return the likeliest reading."""
    return next(timed_in(text, code, now, named))


def wall_of(text: str, code: str, now: str) -> str:
    """Return what the clock shows at the moment of a sentence that was said at another one."""
    moment = first(text, code, datetime.fromisoformat(now).replace(tzinfo=BERLIN)).moment
    assert moment is not None, text
    assert moment.at.replace(tzinfo=None).isoformat(timespec="minutes") == moment.wall or moment.seconds
    return moment.at.replace(tzinfo=None).isoformat(timespec="minutes")


@pytest.mark.parametrize(("code", "text", "rest", "when"), ROWS)
def test_what_is_said_is_read(code: str, text: str, rest: str, when: dict[str, Any]) -> None:
    timed = first(text, code)
    assert (timed.rest, as_row(timed)) == (rest, when)


@pytest.mark.parametrize(("code", "text"), [row[:2] for row in ROWS])
def test_a_capital_letter_and_a_full_stop_change_nothing(code: str, text: str) -> None:
    assert as_row(first(f"{text[0].upper()}{text[1:]}.", code)) == as_row(first(f"{text[0].upper()}{text[1:]}", code))


@pytest.mark.parametrize("code", LATER)
def test_nothing_that_puts_a_sentence_off_is_lost(code: str) -> None:
    for time in LATER[code]["times"]:
        for command in LATER[code]["commands"]:
            for text in (f"{time} {command}", f"{time}, {command}", f"{command} {time}", f"{command}, {time}"):
                readings = list(timed_in(text, code, NOW))
                assert 0 < len(readings) <= 8, text
                for timed in readings:
                    assert timed.moment or timed.back or timed.clauses or timed.unread or timed.forever, text
                    assert timed.words, text
                    assert all(moment.at >= NOW for moment in (timed.moment, timed.back) if moment is not None), text


@pytest.mark.parametrize("code", LATER)
def test_a_sentence_for_now_has_no_reading(code: str) -> None:
    for command in LATER[code]["commands"]:
        assert list(timed_in(command, code, NOW)) == [], command


@pytest.mark.parametrize(
    "text", ["when", "until " * 30, "when if when " * 20, "ten minutes after", "at nine " * 30, "wenn um zehn"]
)
def test_words_without_a_sense_are_unread(text: str) -> None:
    for code in ("en", "de"):
        if later_in(text, code):
            assert all(timed.unread or timed.moment or timed.clauses for timed in timed_in(text, code, NOW))
            assert list(timed_in(text, code, NOW))


def test_a_language_without_words_for_it_has_no_reading() -> None:
    assert list(timed_in("matikan lampu dalam sepuluh menit", "id", NOW)) == []


def test_a_name_is_no_time() -> None:
    assert list(timed_in("activate Evening", "en", NOW, ["Evening"])) == []
    timed = first("activate Evening at ten", "en", NOW, ("Evening",))
    assert (timed.rest, as_row(timed)) == ("activate Evening", {"at": "2026-11-24T22:00"})
    timed = first("every evening at ten activate Evening", "en", NOW, ("Evening",))
    assert (timed.rest, timed.forever) == ("activate Evening", "every evening")
    timed = first("tomorrow evening turn on Evening", "en", NOW, ("Evening",))
    assert (timed.rest, as_row(timed)) == ("turn on Evening", {"at": "2026-11-25T20:00"})


@pytest.mark.parametrize(("now", "text", "wall"), [
    ("2026-11-24T20:59:59", "at nine turn it off", "2026-11-24T21:00"), ("2026-11-24T21:00", "at nine turn it off", "2026-11-25T09:00"),
    ("2026-11-24T08:59", "at nine turn it off", "2026-11-24T09:00"), ("2026-11-24T11:59", "at noon turn it off", "2026-11-24T12:00"),
    ("2026-11-24T12:00", "at noon turn it off", "2026-11-25T12:00"), ("2026-11-24T23:59", "at midnight turn it off", "2026-11-25T00:00"),
    ("2026-11-24T00:00", "at midnight turn it off", "2026-11-25T00:00"), ("2026-11-24T23:30", "at 23:15 turn it off", "2026-11-25T23:15"),
    ("2026-11-24T19:59", "this evening turn it off", "2026-11-24T20:00"), ("2026-11-24T01:00", "tonight at two turn it off", "2026-11-24T02:00"),
    ("2026-11-24T05:59", "wake me at six", "2026-11-24T06:00"), ("2026-11-24T06:00", "wake me at six", "2026-11-25T06:00"),
    ("2026-12-31T23:50", "in twenty minutes turn it off", "2027-01-01T00:10"), ("2026-12-31T20:00", "tomorrow at seven turn it off", "2027-01-01T07:00"),
    ("2026-11-30T20:00", "tomorrow at seven turn it off", "2026-12-01T07:00"), ("2028-02-28T20:00", "tomorrow at seven turn it off", "2028-02-29T07:00"),
    ("2027-02-28T20:00", "tomorrow at seven turn it off", "2027-03-01T07:00"), ("2028-01-31T09:00", "in a month turn it off", "2028-02-29T09:00"),
    ("2026-11-24T18:10", "on 29 february at nine turn it off", "2028-02-29T09:00"),
    ("2026-11-29T20:00", "on sunday at nine turn it off", "2026-12-06T09:00"), ("2026-11-29T20:00", "on monday at nine turn it off", "2026-11-30T09:00"),
    ("2026-11-24T18:10", "on tuesday at nine turn it off", "2026-12-01T09:00"), ("2026-11-24T18:10", "sunday week at ten turn it off", "2026-12-06T10:00"),
])  # fmt: skip
def test_boundaries(now: str, text: str, wall: str) -> None:
    assert wall_of(text, "en", now) == wall


@pytest.mark.parametrize(("text", "wall", "hours"), [
    ("in six hours turn it off", "2026-03-29T05:00", 6), ("tomorrow at 2:30 am turn it off", "2026-03-29T03:30", 4.5),
    ("tomorrow at seven turn it off", "2026-03-29T07:00", 8), ("in two days turn it off", "2026-03-30T22:00", 47),
])  # fmt: skip
def test_the_night_that_loses_an_hour(text: str, wall: str, hours: float) -> None:
    now = datetime(2026, 3, 28, 22, tzinfo=BERLIN)
    moment = first(text, "en", now).moment
    assert moment is not None
    assert moment.at.replace(tzinfo=None).isoformat(timespec="minutes") == wall
    assert moment.at.astimezone(UTC) - now.astimezone(UTC) == timedelta(hours=hours)


@pytest.mark.parametrize(("text", "wall", "hours"), [
    ("in six hours turn it off", "2026-10-25T03:00", 6), ("tomorrow at 2:30 am turn it off", "2026-10-25T02:30", 4.5),
    ("tomorrow at seven turn it off", "2026-10-25T07:00", 10), ("for six hours turn it on", "2026-10-25T03:00", 6),
])  # fmt: skip
def test_the_night_that_has_an_hour_twice(text: str, wall: str, hours: float) -> None:
    now = datetime(2026, 10, 24, 22, tzinfo=BERLIN)
    timed = first(text, "en", now)
    moment = timed.moment or timed.back
    assert moment is not None
    assert moment.at.replace(tzinfo=None).isoformat(timespec="minutes") == wall
    assert moment.at.astimezone(UTC) - now.astimezone(UTC) == timedelta(hours=hours)


@pytest.mark.parametrize(
    "text",
    ["today at nine in the morning turn it off", "at nine today and at ten turn it off", "in 0 minutes turn it off"],
)
def test_what_is_past_or_now_is_unread(text: str) -> None:
    timed = first(text, "en", datetime(2026, 11, 24, 23, 30, tzinfo=BERLIN))
    assert (timed.moment, bool(timed.unread)) == (None, True)


@pytest.mark.parametrize(("code", "text", "rest", "clause"), [
    ("en", "when the washer is done turn the light on", "turn the light on", "the washer is done"),
    ("en", "turn the light on when the washer is done", "turn the light on", "the washer is done"),
    ("en", "turn the light on, when the washer is done, in the kitchen", "turn the light on in the kitchen", "the washer is done"),
    ("de", "wenn der Trockner fertig ist schaltest du das Licht aus", "schaltest du das Licht aus", "der Trockner fertig ist"),
    ("de", "mach, wenn der Trockner fertig ist, das Licht aus", "mach das Licht aus", "der Trockner fertig ist"),
    ("fr", "quand la porte s'ouvre éteins la lampe", "éteins la lampe", "la porte s'ouvre"),
    ("es", "si la humedad baja del sesenta apaga el ventilador", "apaga el ventilador", "la humedad baja del sesenta"),
    ("it", "quando la porta si apre spegni la luce", "spegni la luce", "la porta si apre"),
    ("nl", "als de deur open is doe het licht aan", "doe het licht aan", "de deur open is"),
    ("pl", "gdy drzwi się otworzą zapal światło", "zapal światło", "drzwi się otworzą"),
])  # fmt: skip
def test_one_reading_has_the_clause_whole(code: str, text: str, rest: str, clause: str) -> None:
    assert (rest, (clause,)) in [
        (one.rest, tuple(each.text for each in one.clauses)) for one in timed_in(text, code, NOW)
    ]


@pytest.mark.parametrize(("code", "text", "wall"), [
    ("en", "nine", "2026-11-24T21:00"), ("en", "make it half nine", "2026-11-24T21:30"), ("en", "tomorrow at six", "2026-11-25T06:00"),
    ("de", "mach lieber halb zehn draus", "2026-11-24T21:30"), ("fr", "plutôt à neuf heures et demie", "2026-11-24T21:30"),
    ("es", "mejor a las nueve y cuarto", "2026-11-24T21:15"), ("it", "facciamo alle nove e mezza", "2026-11-24T21:30"),
    ("nl", "doe maar om half tien", "2026-11-24T21:30"), ("pl", "lepiej o wpół do dziesiątej", "2026-11-24T21:30"),
])  # fmt: skip
def test_a_moment_by_itself(code: str, text: str, wall: str) -> None:
    moment = moment_in(text, code, NOW)
    assert moment is not None
    assert moment.wall == wall


@pytest.mark.parametrize(("code", "text", "rest", "then"), [
    ("en", "turn on the lamp for ten minutes then off", "turn on the lamp", "off"),
    ("en", "keep the lamp on till half ten, and then turn off the tv", "keep the lamp on", "turn off the tv"),
    ("de", "mach das Licht für zehn Minuten an und dann wieder aus", "mach das Licht an", "wieder aus"),
    ("fr", "allume la lampe pendant dix minutes et ensuite éteins-la", "allume la lampe", "éteins-la"),
    ("es", "enciende la luz durante diez minutos y luego apágala", "enciende la luz", "apágala"),
    ("it", "accendi la luce per dieci minuti e poi spegnila", "accendi la luce", "spegnila"),
    ("nl", "doe het licht tien minuten aan en dan weer uit", "doe het licht aan", "weer uit"),
    ("pl", "włącz światło na dziesięć minut a potem wyłącz", "włącz światło", "wyłącz"),
    ("en", "turn on the lamp for ten minutes", "turn on the lamp", ""),
])  # fmt: skip
def test_what_is_said_behind_an_end(code: str, text: str, rest: str, then: str) -> None:
    timed = first(text, code)
    assert (timed.rest, timed.then, timed.unread) == (rest, then, "")
    assert timed.back is not None


@pytest.mark.parametrize(("code", "text"), [
    ("en", "turn on the lamp and in ten minutes off again"), ("en", "lamp on now and at ten off"), ("de", "Lampe an, um zehn aus"),
    ("en", "turn on the lamp at ten turn it off"), ("de", "schalte die Lampe ein um zehn schalte sie aus"),
    ("de", "Lampe an und in zehn Minuten wieder aus"), ("fr", "allume la lampe et dans dix minutes éteins-la"),
    ("es", "enciende la luz y en diez minutos apágala"), ("it", "accendi la luce e tra dieci minuti spegnila"),
    ("nl", "doe het licht aan en over tien minuten weer uit"), ("pl", "włącz światło i za dziesięć minut wyłącz"),
])  # fmt: skip
def test_a_time_between_two_commands_is_unread(code: str, text: str) -> None:
    assert first(text, code).unread


def test_a_clause_between_two_commands_has_no_reading_with_both() -> None:
    readings = timed_in("turn on the lamp, when Anna comes home turn it off", "en", NOW)
    assert "turn on the lamp turn it off" not in [timed.rest for timed in readings]


@pytest.mark.parametrize("text", ["the kitchen", "at nine or at ten", "tomorrow"])
def test_what_is_no_single_moment(text: str) -> None:
    assert moment_in(text, "en", NOW) is None
