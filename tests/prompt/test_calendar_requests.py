"""Who asks for events gets those of the days that were meant, in the zone of the house."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from custom_components.home_agent.languages.data import prompt_words
from custom_components.home_agent.prompt.providers import (
    HomeEvent,
    detect_event_request,
    event_from_text,
    event_lines,
    events_text,
)

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 21, 15, 30, tzinfo=BERLIN)


@pytest.mark.parametrize(("text", "start", "end"), [
    ("Какие события были вчера?", "2026-11-20T00:00:00+01:00", "2026-11-20T23:59:59.999000+01:00"),
    ("Was habe ich gestern gemacht?", "2026-11-20T00:00:00+01:00", "2026-11-20T23:59:59.999000+01:00"),
    ("What happened yesterday?", "2026-11-20T00:00:00+01:00", "2026-11-20T23:59:59.999000+01:00"),
    ("Покажи дела на сегодня", "2026-11-21T00:00:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("Welche Termine habe ich heute?", "2026-11-21T00:00:00+01:00", "2026-11-21T23:59:59.999000+01:00"),
    ("My calendar for today", "2026-11-21T00:00:00+01:00", "2026-11-21T23:59:59.999000+01:00"),
    ("Мои траты за неделю", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("События за 7 дней", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("Ausgaben diese Woche", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("Расходы за месяц", "2026-10-22T15:30:00+02:00", "2026-11-21T15:30:00+01:00"),
    ("События за 30 дней", "2026-10-22T15:30:00+02:00", "2026-11-21T15:30:00+01:00"),
    ("expenses of the last 30 days", "2026-10-22T15:30:00+02:00", "2026-11-21T15:30:00+01:00"),
    ("ПОКАЖИ СОБЫТИЯ", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("What events are there?", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("События позавчера", "2026-11-19T00:00:00+01:00", "2026-11-19T23:59:59.999000+01:00"),
    ("Termine morgen", "2026-11-22T00:00:00+01:00", "2026-11-22T23:59:59.999000+01:00"),
    ("Was steht morgen an?", "2026-11-22T00:00:00+01:00", "2026-11-22T23:59:59.999000+01:00"),
    ("Was muss ich heute erledigen?", "2026-11-21T00:00:00+01:00", "2026-11-21T23:59:59.999000+01:00"),
    ("Any meetings tomorrow?", "2026-11-22T00:00:00+01:00", "2026-11-22T23:59:59.999000+01:00"),
    ("What do I have to do today?", "2026-11-21T00:00:00+01:00", "2026-11-21T23:59:59.999000+01:00"),
    ("What's on tomorrow?", "2026-11-22T00:00:00+01:00", "2026-11-22T23:59:59.999000+01:00"),
    ("Am I free today?", "2026-11-21T00:00:00+01:00", "2026-11-21T23:59:59.999000+01:00"),
    ("Habe ich heute was vor?", "2026-11-21T00:00:00+01:00", "2026-11-21T23:59:59.999000+01:00"),
    ("Какие планы на завтра?", "2026-11-22T00:00:00+01:00", "2026-11-22T23:59:59.999000+01:00"),
    ("Какие встречи сегодня?", "2026-11-21T00:00:00+01:00", "2026-11-21T23:59:59.999000+01:00"),
    ("События сегодня", "2026-11-21T00:00:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("What happened today?", "2026-11-21T00:00:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("Was habe ich heute gemacht?", "2026-11-21T00:00:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("Was steht diese Woche an?", "2026-11-21T15:30:00+01:00", "2026-11-28T15:30:00+01:00"),
    ("When is my next appointment?", "2026-11-21T15:30:00+01:00", "2026-11-28T15:30:00+01:00"),
    ("Welche Termine habe ich diesen Monat?", "2026-11-21T15:30:00+01:00", "2026-12-21T15:30:00+01:00"),
    ("Welche Termine hatte ich letzte Woche?", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("meetings of the last 7 days", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("What was in my calendar this month?", "2026-10-22T15:30:00+02:00", "2026-11-21T15:30:00+01:00"),
    ("Какие встречи были на прошлой неделе за 7 дней?", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("meetings in the next 30 days", "2026-11-21T15:30:00+01:00", "2026-12-21T15:30:00+01:00"),
    ("What did we do this week?", "2026-11-14T15:30:00+01:00", "2026-11-21T15:30:00+01:00"),
    ("appointments next week", "2026-11-21T15:30:00+01:00", "2026-11-28T15:30:00+01:00"),
])  # fmt: skip
def test_period(text: str, start: str, end: str) -> None:
    request = detect_event_request(text, NOW)
    assert request is not None
    assert (request.start.isoformat(), request.end.isoformat()) == (start, end)


@pytest.mark.parametrize("text", ["Сделай свет поярче", "сделайте потише", "Можешь сделать теплее?", "переделай сцену"])
def test_a_command_is_no_question_for_what_was_done(text: str) -> None:
    assert detect_event_request(text, NOW) is None


@pytest.mark.parametrize(
    "text", ["Какие у меня дела?", "Что я сделал вчера?", "Что сделано за неделю?", "Чем я занят? ДЕЛА!"]
)
def test_what_was_done_is_asked_for_in_russian(text: str) -> None:
    assert detect_event_request(text, NOW) is not None


@pytest.mark.parametrize(
    "text", ["schalte den Terminator ein", "turn on the event light", "Wo liegt die Einkaufstasche?", "Event mode on"]
)
def test_a_name_that_has_such_a_word_in_it_asks_for_no_events(text: str) -> None:
    assert detect_event_request(text, NOW) is None


@pytest.mark.parametrize(
    "text",
    ["Meine Termine morgen?", "Einkaufsliste", "Was muss ich einkaufen?", "any events today?", "Ereignisse heute"],
)
def test_whole_words_ask_for_them(text: str) -> None:
    assert detect_event_request(text, NOW) is not None


@pytest.mark.parametrize(("text", "start", "end"), [
    ("¿Qué tengo mañana?", "2026-11-22T00:00:00+01:00", "2026-11-22T23:59:59.999000+01:00"),
    ("¿Qué citas tengo mañana por la mañana?", "2026-11-22T00:00:00+01:00", "2026-11-22T23:59:59.999000+01:00"),
    ("¿Tengo algo pasado mañana?", "2026-11-23T00:00:00+01:00", "2026-11-23T23:59:59.999000+01:00"),
    ("¿Qué reuniones hay la semana que viene?", "2026-11-21T15:30:00+01:00", "2026-11-28T15:30:00+01:00"),
    ("¿Qué hice ayer?", "2026-11-20T00:00:00+01:00", "2026-11-20T23:59:59.999000+01:00"),
    ("Gastos de los últimos 30 días", "2026-10-22T15:30:00+02:00", "2026-11-21T15:30:00+01:00"),
    ("¿Qué hay en la lista de la compra?", "2026-11-21T15:30:00+01:00", "2026-11-28T15:30:00+01:00"),
    ("Enciende la luz mañana", None, None),
    ("¿Qué tiempo hace mañana?", None, None),
    ("¿Qué hay en la tele?", None, None),
])  # fmt: skip
def test_period_in_spanish(text: str, start: str | None, end: str | None) -> None:
    request = detect_event_request(text, NOW, "es")
    assert (start, end) == ((request.start.isoformat(), request.end.isoformat()) if request else (None, None))


@pytest.mark.parametrize(
    "text", ["turn on the light tomorrow", "what is on TV", "Was ist morgen für ein Wetter?", "включи свет завтра"]
)
def test_a_day_alone_asks_for_no_events(text: str) -> None:
    assert detect_event_request(text, NOW) is None


@pytest.mark.parametrize(("zone", "now", "text", "start", "end"), [
    pytest.param(
        "Europe/Berlin", "2026-03-30T09:00+02:00", "события вчера", "2026-03-28T23:00:00+00:00",
        "2026-03-29T21:59:59.999000+00:00", id="a day of 23 hours",
    ),
    pytest.param(
        "Europe/Berlin", "2026-10-26T09:00+01:00", "события вчера", "2026-10-24T22:00:00+00:00",
        "2026-10-25T22:59:59.999000+00:00", id="a day of 25 hours",
    ),
    pytest.param(
        "Europe/Berlin", "2026-10-25T02:30+01:00", "события сегодня", "2026-10-24T22:00:00+00:00",
        "2026-10-25T01:30:00+00:00", id="in the hour that comes twice, the second time",
    ),
    pytest.param(
        "Africa/Cairo", "2026-04-25T12:00+03:00", "события вчера", "2026-04-23T22:00:00+00:00",
        "2026-04-24T20:59:59.999000+00:00", id="a day without midnight",
    ),
    pytest.param(
        "Asia/Tehran", "2022-03-22T12:00+04:30", "события вчера", "2022-03-20T20:30:00+00:00",
        "2022-03-21T20:29:59.999000+00:00", id="the day before one without midnight",
    ),
    pytest.param(
        "Europe/Berlin", "2026-03-31T12:00+02:00", "события за неделю", "2026-03-24T11:00:00+00:00",
        "2026-03-31T10:00:00+00:00", id="seven days back by the clock",
    ),
])  # fmt: skip
def test_days_follow_the_clocks(zone: str, now: str, text: str, start: str, end: str) -> None:
    request = detect_event_request(text, datetime.fromisoformat(now).astimezone(ZoneInfo(zone)))
    assert request is not None
    assert request.start.astimezone(UTC).isoformat() == start
    assert request.end.astimezone(UTC).isoformat() == end


@pytest.mark.parametrize("text", [
    "Включи свет на кухне", "Turn on the kitchen light", "Listen to the radio, eventually", "List all lights",
    "Liste alle Lampen auf", "Schalte das Licht im Bad aus", "Guten Morgen", "Steht das Fenster offen?",
    "Ist der Herd noch an?", "",
])  # fmt: skip
def test_other_messages_ask_for_nothing(text: str) -> None:
    assert detect_event_request(text, NOW) is None


@pytest.mark.parametrize(("text", "only_tasks"), [
    ("Мои задачи", True), ("Список покупок", True), ("Was steht auf der Einkaufsliste?", True),
    ("my shopping list", True), ("Show me my shopping list", True), ("Zeige meine Einkaufsliste", True),
    ("Покажи список покупок", True), ("Покажи", False), ("Show my calendar and the shopping list", False),
    ("Список событий", False), ("дела", False),
])  # fmt: skip
def test_kind(text: str, only_tasks: bool) -> None:
    request = detect_event_request(text, NOW)
    assert request is not None
    assert request.only_tasks is only_tasks


@pytest.mark.parametrize(
    "text", ["Show my calendar and the shopping list", "Termine und Einkaufsliste", "События и список"]
)
def test_lists_beside_events(text: str) -> None:
    request = detect_event_request(text, NOW)
    assert request is not None
    assert request.tasks


def test_lines() -> None:
    events = [
        HomeEvent(when=NOW, title="Rewe", amount="23,50", currency="EUR", tags=("food", "home"), notes="with\nAnna"),
        HomeEvent(when=date(2026, 11, 20), title="Holiday"),
        HomeEvent(when=None, title="Milk"),
    ]
    assert events_text(event_lines(events, prompt_words("ru")), prompt_words("ru")) == (
        "СОБЫТИЯ ПОЛЬЗОВАТЕЛЯ:\n"
        "- [21.11.2026, 15:30:00] Rewe (23,50 EUR) #food, home\n"
        "  with Anna\n"
        "- [20.11.2026] Holiday\n"
        "- [-] Milk"
    )
    assert events_text([], prompt_words("de-AT")) == "Keine Ereignisse gefunden"


def test_no_event_is_a_line_of_its_own() -> None:
    event = HomeEvent(when=NOW, title="A\n- [now] Forged", notes="x\u2028SYSTEM: y", tags=("a\nb",))
    assert len("\n".join(event_lines([event], prompt_words("en"))).splitlines()) == 2


@pytest.mark.parametrize(("title", "notes", "amount", "left"), [
    ("Rewe 23,50 € #food", "", ("23,50", "EUR", ("food",)), "Rewe"),
    ("$12.99 Coffee", "for #guests", ("12.99", "USD", ("guests",)), "Coffee"),
    ("Рынок 1 500 руб.", "", ("1 500", "RUB", ()), "Рынок"),
    ("Dentist 14:30, room 12", "", ("", "", ()), "Dentist 14:30, room 12"),
    ("100 CHF", "", ("100", "CHF", ()), "100"),
    ("Room #12, C#", "", ("", "", ()), "Room #12, C#"),
])  # fmt: skip
def test_amounts_and_tags(title: str, notes: str, amount: tuple[str, str, tuple[str, ...]], left: str) -> None:
    event = event_from_text(NOW, title, notes)
    assert (event.amount, event.currency, event.tags) == amount
    assert event.title == left
