"""Spans of time, moments, durations and numbers, in the words of eight languages."""

from datetime import UTC, date, datetime, time, timedelta
import json
from pathlib import Path
from zoneinfo import ZoneInfo

from hypothesis import given, settings, strategies as st
import pytest
from unicode_rbnf import RbnfEngine

from custom_components.home_agent.languages.spoken_numbers import NumberReader, words_in
from custom_components.home_agent.languages.times import dates_in, durations_in, numbers_in, spans_in, times_in

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 15, 30, tzinfo=BERLIN)
"""A Wednesday."""
TABLE = json.loads((Path(__file__).parent / "times.json").read_text("utf-8"))
"""By language: a text, when the span begins and ends that it names, and which of its words say so."""
STEADY = settings(deadline=None, derandomize=True, database=None, max_examples=60)


@pytest.mark.parametrize("language", TABLE)
def test_spans_of_the_table(language: str) -> None:
    wrong = []
    for text, *wanted in TABLE[language]:
        spans, words = spans_in(text, language, NOW), words_in(text)
        found = [
            part
            for span in spans
            for part in (
                f"{span.start:%Y-%m-%d %H:%M}",
                f"{span.end:%Y-%m-%d %H:%M}",
                text[words[span.first].start : words[span.behind - 1].end],
            )
        ]
        if found != wanted:
            wrong.append((text, found, wanted))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(("language", "text", "now", "start", "hours"), [
    # the clock goes from 3 back to 2 on the 25th of October, from 2 to 3 on the 29th of March
    ("en", "the last 24 hours", datetime(2026, 10, 25, 12, tzinfo=BERLIN), "2026-10-24T13:00:00+02:00", 24),
    ("de", "die letzten zwei Tage", datetime(2026, 10, 25, 12, tzinfo=BERLIN), "2026-10-23T12:00:00+02:00", 49),
    ("en", "today", datetime(2026, 10, 25, 12, tzinfo=BERLIN), "2026-10-25T00:00:00+02:00", 25),
    ("ru", "сегодня", datetime(2026, 3, 29, 12, tzinfo=BERLIN), "2026-03-29T00:00:00+01:00", 23),
    ("de", "seit 2:30", datetime(2026, 3, 29, 12, tzinfo=BERLIN), "2026-03-29T03:30:00+02:00", 8.5),
    ("en", "last 2 hours", datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1), "2026-10-25T01:30:00+02:00", 2),
    ("en", "this week", datetime(2026, 3, 29, 12, tzinfo=BERLIN), "2026-03-23T00:00:00+01:00", 167),
    ("en", "since the beginning of the year", datetime(2026, 1, 1, 5, tzinfo=UTC), "2026-01-01T00:00:00+00:00", 5),
])  # fmt: skip
def test_the_change_of_the_clock(language: str, text: str, now: datetime, start: str, hours: float) -> None:
    (span,) = spans_in(text, language, now)

    assert span.start.isoformat() == start
    assert span.end.astimezone(UTC) - span.start.astimezone(UTC) == timedelta(hours=hours)


@pytest.mark.parametrize(("language", "text", "days"), [
    ("es", "pasado mañana", [2]), ("es", "mañana por la mañana", [1]), ("es", "esta mañana", []),
    ("es", "a las 8 de la mañana", []), ("fr", "après-demain", [2]), ("fr", "vendredi", [2]),
    ("it", "dopodomani", [2]), ("it", "venerdì", [2]), ("nl", "overmorgen", [2]), ("nl", "vrijdag", [2]),
    ("pl", "pojutrze", [2]), ("pl", "w piątek", [2]),
])  # fmt: skip
def test_days_of_other_languages(language: str, text: str, days: list[int]) -> None:
    """None is read where a word for a part of the day is also one for the next day."""
    found = [one.value for one in dates_in(text, language, NOW)]
    assert found == [NOW.date() + timedelta(days=day) for day in days]


def test_a_day_without_a_direction_is_the_last_or_the_next() -> None:
    assert dates_in("on Monday", "en", NOW) == dates_in("next Monday", "en", NOW)
    assert dates_in("on Monday", "en", NOW, ahead=False) == dates_in("last Monday", "en", NOW)
    assert [found.value for found in dates_in("am 29. Februar", "de", NOW)] == [date(2028, 2, 29)]
    assert dates_in("am 31. Februar", "de", NOW) == []
    assert spans_in("last 99999999999 years", "en", NOW) == []
    assert spans_in("vor 9999 Jahren", "de", NOW) == []


@pytest.mark.parametrize(("language", "text", "minutes"), [
    ("en", "for an hour and a half", 90), ("en", "1 h 30 min", 90), ("en", "90 seconds", 1.5),
    ("en", "a quarter of an hour", 15), ("en", "two and a half hours", 150), ("de", "zweieinhalb Stunden", 150),
    ("de", "eine Stunde und 10 Minuten", 70), ("de", "eine Viertelstunde", 15), ("de", "eine halbe Stunde", 30),
    ("ru", "полтора часа", 90), ("ru", "2 часа 30 минут", 150), ("ru", "полчаса", 30),
    ("es", "durante siete minutos", 7), ("es", "dos horas y media", 150), ("es", "media hora", 30),
    ("es", "tres cuartos de hora", 45), ("es", "una hora y cuarto", 75),
    ("fr", "pendant quatre-vingt-dix-sept minutes", 97), ("fr", "une demi-heure", 30), ("fr", "une heure et demie", 90),
    ("fr", "trois quarts d'heure", 45), ("it", "per ventuno minuti", 21), ("it", "mezz'ora", 30),
    ("it", "un'ora e mezza", 90), ("it", "1 ora e 10 minuti", 70), ("nl", "voor tweeëntwintig minuten", 22),
    ("nl", "een half uur", 30), ("nl", "anderhalf uur", 90), ("nl", "drie kwartier", 45), ("nl", "7 uur", 420),
    ("pl", "przez trzydzieści pięć minut", 35), ("pl", "pół godziny", 30), ("pl", "półtorej godziny", 90),
    ("pl", "dwie i pół godziny", 150), ("pl", "przez godzinę", 60),
])  # fmt: skip
def test_how_long(language: str, text: str, minutes: float) -> None:
    assert [found.value for found in durations_in(text, language)] == [timedelta(minutes=minutes)]


@pytest.mark.parametrize(("language", "text", "wanted"), [
    ("en", "at 7", "07:00"), ("en", "7:30 pm", "19:30"), ("en", "half past seven", "07:30"), ("en", "12 am", "00:00"),
    ("en", "ten to nine", "08:50"), ("en", "at noon", "12:00"), ("en", "8 in the evening", "20:00"),
    ("en", "7 o'clock", "07:00"), ("en", "7 hours", ""), ("en", "from 8 to 10", ""), ("en", "7", ""),
    ("de", "um 7", "07:00"), ("de", "19 Uhr 30", "19:30"), ("de", "halb acht", "07:30"),
    ("de", "um 7.30 Uhr", "07:30"), ("de", "dreiviertel acht", "07:45"), ("de", "um 7 Uhr abends", "19:00"),
    ("de", "fünf nach acht", "08:05"), ("de", "Viertel vor acht", "07:45"), ("ru", "в 7 вечера", "19:00"),
    ("ru", "в 7 часов", "07:00"), ("ru", "в половине восьмого", "07:30"), ("ru", "7 часов", ""),
    ("ru", "3 часа дня", "15:00"), ("es", "a las 8 de la tarde", "20:00"), ("fr", "à 8 heures du soir", "20:00"),
    ("it", "alle 8 di sera", "20:00"), ("nl", "om half acht", "07:30"), ("nl", "7 uur", ""),
    ("pl", "o 8 wieczorem", "20:00"), ("pl", "8 godzin", ""),
])  # fmt: skip
def test_times_of_day(language: str, text: str, wanted: str) -> None:
    assert [f"{found.value:%H:%M}" for found in times_in(text, language)] == ([wanted] if wanted else [])


@pytest.mark.parametrize(("language", "text", "wanted"), [
    ("en", "1,000", 1000), ("en", "21.5", 21.5), ("en", "21,5", 21.5), ("de", "21,5", 21.5), ("de", "1.000", 1000),
    ("ru", "21,5", 21.5), ("de", "minus fünf", -5), ("en", "-5 degrees", -5), ("en", "one hundred", 100),
    ("ru", "за двух", 2), ("fr", "21,5", 21.5),
])  # fmt: skip
def test_numbers(language: str, text: str, wanted: float) -> None:
    assert [found.value for found in numbers_in(words_in(text), language)] == [wanted]


@pytest.mark.parametrize("language", ["en", "de", "ru", "es", "fr", "it", "nl", "pl"])
def test_numbers_that_are_spelled_out(language: str) -> None:
    engine = RbnfEngine.for_language(language)
    for number in range(101):
        said = engine.format_number(number).text_by_ruleset["spellout-numbering"].replace("\u00ad", "")
        found = [one.value for one in numbers_in(words_in(said), language)]
        assert found == [number], said


SAID = {
    "en": ("the last {} {}", {"minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800}),
    "de": ("in den letzten {} {}", {"Minuten": 60, "Stunden": 3600, "Tagen": 86400, "Wochen": 604800}),
    "ru": ("за последние {} {}", {"минут": 60, "часов": 3600, "дней": 86400, "недель": 604800}),
}


@STEADY
@given(
    language=st.sampled_from(sorted(SAID)),
    number=st.integers(1, 99),
    spelled=st.booleans(),
    unit=st.integers(0, 3),
    now=st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),
)
def test_what_is_said_comes_back(language: str, number: int, spelled: bool, unit: int, now: datetime) -> None:
    pattern, units = SAID[language]
    name, seconds = list(units.items())[unit]
    engine = RbnfEngine.for_language(language)
    said = engine.format_number(number).text_by_ruleset["spellout-numbering"] if spelled else str(number)
    text = pattern.format(said, name)

    (span,) = spans_in(f"xyz {text} xyz", language, now)

    assert span.end == now
    assert (span.end - span.start).total_seconds() == number * seconds
    words = words_in(f"xyz {text} xyz")
    assert (span.first, span.behind) == (1, len(words) - 1)


@STEADY
@given(
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
    day=st.dates(date(2020, 1, 1), date(2035, 1, 1)),
    language=st.sampled_from(["en", "de", "ru", "es", "fr", "it", "nl", "pl"]),
)
def test_what_is_written_comes_back(hour: int, minute: int, day: date, language: str) -> None:
    text = f"{day.isoformat()}; {hour:02d}:{minute:02d}"

    assert [found.value for found in dates_in(text, language, NOW)] == [day]
    assert [found.value for found in times_in(text, language)] == [time(hour, minute)]


@STEADY
@given(text=st.text(max_size=200), language=st.sampled_from(["en", "de", "ru", "es", "fr", "it", "nl", "pl", "xx"]))
def test_no_text_is_too_much(text: str, language: str) -> None:
    for span in spans_in(text, language, NOW):
        assert span.start < span.end
        assert span.first < span.behind <= len(words_in(text))


@pytest.mark.parametrize("text", ["from 8 to ", "last ", "since the beginning of ", "1.1. ", "в 7 часов ", "since "])
def test_twice_as_long_is_twice_the_work(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    asked, says = [0], NumberReader.says

    def counting(self: NumberReader, name: str, at: int) -> tuple[str, int] | None:
        asked[0] += 1
        return says(self, name, at)

    monkeypatch.setattr(NumberReader, "says", counting)
    for language in ("en", "de", "ru"):
        work = []
        for times in (20, 40):
            asked[0] = 0
            spans_in(text * times, language, NOW)
            work.append(asked[0])
        assert work[1] <= 2.2 * work[0], language
