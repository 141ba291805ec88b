"""Whether somebody asks for events, of which days, and how events are told to the model (S4-31 to S4-42). Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
import re
from zoneinfo import ZoneInfo

from .words import PromptWords

LIMIT = 20  # events
WEEK_DAYS = 7
MONTH_DAYS = 30
MAX_TITLE = 120  # characters
MAX_NOTES = 200
MAX_TAGS = 5

_END_OF_DAY = timedelta(milliseconds=1)


class EventType(StrEnum):
    """What kind of events is asked for."""

    TASKS = "tasks"
    """Items of to-do and shopping lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRequest:
    """A period, both ends included, and maybe one kind."""

    start: datetime
    end: datetime
    type: EventType | None = None
    tasks: bool = False
    """Lists were named: what is on them is asked for whether it has a date or not, beside other events as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseEvent:
    """Something that happens, happened or is to be done."""

    when: date | None
    """A moment in the house's zone, a whole day, or None for a task without a date."""
    title: str
    amount: str = ""
    currency: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""


_TASKS = (
    re.compile(r"задач|список|покупк", re.IGNORECASE),
    re.compile(
        r"\baufgaben?\b|\beinkauf|\beinkäufe|\bto-?do|\w+liste\b|\b(?:meine|unsere|die|der|einer?) liste\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\btasks?\b|\bto-?dos?\b|\bshopping\b|\bpurchases?\b|\b(?:my|our|the|packing|wish|birthday) lists?\b",
        re.IGNORECASE,
    ),
)
_SHOW = (
    re.compile(r"покажи", re.IGNORECASE),
    re.compile(r"\bzeige? (?:mir )?(?:meine|alle)\b", re.IGNORECASE),
    re.compile(r"\bshow (?:me )?(?:my|all)\b", re.IGNORECASE),
)
"""What asks for everything, unless it is said of lists."""
_EVENTS = (
    re.compile(
        r"событи|(?<![а-яё])дела|сдела[лн]|что я делал|расход|трат|план\w* на\b|запланирован|\bвстреч|расписани|\bкалендар|\bчто у (?:меня|нас)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\bereignis|\btermin|\bkalender|\bausgaben?\b|\bausgegeben\b|\berledig(?:t|en)|\bbesprechung|\bverabredung|\bsteht\b.{1,20}\ban\b"
        r"|\bwas (?:habe ich|hab ich|ist|war)\b.*\b(?:gemacht|getan|passiert|los)\b|\bliegt\b.{1,20}\ban\b|\bpläne\b.{0,20}\bfür\b"
        r"|\b(?:habe? ich|haben wir)\b.{0,30}\bvor\b\W*$|\bbin ich\b.{0,15}\bfrei\b|\bwas (?:muss ich|müssen wir)\b.{0,20}\b(?:machen|tun|erledigen)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\bevents?\b|\bmeetings?\b|\bappointments?\b|\bcalendars?\b|\bagenda\b|\bexpenses?\b|\bspend(?:ing|ings)?\b|\bspent\b"
        r"|\bwhat (?:did (?:i|we) do|have (?:i|we) done|happened)\b|\bi have to do\b|\banything planned\b|\b(?:my|our) schedule\b|\bplans? for\b"
        r"|\bwhat(?:['’]?s| is) (?:on|up|planned|scheduled|happening)(?: for)?(?: the| this| next)? (?:today|tomorrow|week)\b|\bam i (?:free|busy)\b"
        r"|\bwhat do (?:i|we) have (?:on |planned )?(?:for )?(?:the |this |next )?(?:today|tomorrow|week)\b|\bdo (?:i|we) have anything on\b",
        re.IGNORECASE,
    ),
)

_AHEAD = (
    re.compile(r"план\w* на\b|запланирован|\bвстреч|расписани|\bкалендар|\bчто у (?:меня|нас)\b", re.IGNORECASE),
    re.compile(
        r"\btermin|\bkalender|\bbesprechung|\bverabredung|\b(?:steht|liegt)\b.{1,20}\ban\b|\bvor\b\W*$|\bfrei\b|\bpläne\b|\bmuss ich\b|\bmüssen wir\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\bmeetings?\b|\bappointments?\b|\bcalendars?\b|\bagenda\b|\bschedule|\bplan|\bfree\b|\bbusy\b|\bi have to do\b|\b(?:do|have) (?:i|we)\b"
        r"|\bwhat(?:['’]?s| is) (?:on|up|happening)\b",
        re.IGNORECASE,
    ),
)
"""What asks for what is still to come: appointments and plans."""
_DONE = re.compile(
    r"\bdone\b|\bdid\b|\bhad\b|\bwere\b|\bwhat was\b|\b(?:last|past|previous)\b|\bwar(?:en)?\b|\bhatten?\b|\bgemacht\b|\bgetan\b"
    r"|\b(?:letzt|vergangen|vorig)\w*|\bбыл|прошл|последн|прошедш",
    re.IGNORECASE,
)
"""What looks back."""

MAX_READ = 2_000
"""Characters of a message that are looked at: nobody asks in more, and a pasted book would take minutes."""

type Bounds = Callable[[datetime], tuple[datetime, datetime]]


def _day(offset: int) -> Bounds:
    """Return the bounds of a whole day, `offset` days from today."""

    def bounds(now: datetime) -> tuple[datetime, datetime]:
        day = now.date() + timedelta(days=offset)
        end = (
            midnight(day + timedelta(days=1), now).astimezone(UTC) - _END_OF_DAY
        )  # where clocks skip midnight, 23:59 as well
        return midnight(day, now), end.astimezone(now.tzinfo)

    return bounds


def _today(now: datetime) -> tuple[datetime, datetime]:
    return midnight(now.date(), now), now


def _days(days: int) -> Bounds:
    """Return the bounds of so many days: up to now, or from now on when negative."""

    def bounds(now: datetime) -> tuple[datetime, datetime]:
        other = (now - timedelta(days=days)).replace(
            fold=0
        )  # the same time by the clock, whatever it was put to in between
        return (other, now) if days > 0 else (now, other)

    return bounds


_LAST_WEEK, _LAST_MONTH = _days(WEEK_DAYS), _days(MONTH_DAYS)
_COMING: Mapping[Bounds, Bounds] = {_today: _day(0), _LAST_WEEK: _days(-WEEK_DAYS), _LAST_MONTH: _days(-MONTH_DAYS)}
"""The same days for what looks ahead."""
_PERIODS: tuple[tuple[re.Pattern[str], Bounds], ...] = (
    (re.compile(r"позавчера|\bvorgestern\b|\bday before yesterday\b", re.IGNORECASE), _day(-2)),
    (re.compile(r"вчера|\bgestern\b|\byesterday\b", re.IGNORECASE), _day(-1)),
    (re.compile(r"сегодня|\bheute\b|\btoday\b", re.IGNORECASE), _today),
    (re.compile(r"\bпослезавтра\b|\bübermorgen\b|\bday after tomorrow\b", re.IGNORECASE), _day(2)),
    (re.compile(r"\bзавтра\b|\bmorgen\b|\btomorrow\b", re.IGNORECASE), _day(1)),
    (
        re.compile(r"следующ\w+ недел|\b(?:nächste\w*|kommende\w*) woche\b|\b(?:next|coming) week\b", re.IGNORECASE),
        _days(-WEEK_DAYS),
    ),
    (re.compile(r"неделю|7 дней|\bwoche\b|\b7 tage\w?\b|\bweek\b|\b7 days\b", re.IGNORECASE), _LAST_WEEK),
    (re.compile(r"месяц|30 дней|\bmonats?\b|\b30 tage\w?\b|\bmonth\b|\b30 days\b", re.IGNORECASE), _LAST_MONTH),
)


def detect_event_request(text: str, now: datetime) -> EventRequest | None:
    """Return which events a message asks for; None when it asks for none.

    `now` is in the house's zone, a `ZoneInfo`. Days begin and end by the clocks of that zone, also on days that
    are shorter or longer than 24 hours. Without a period: the last 7 days.
    """
    text = text[:MAX_READ]
    events = any(pattern.search(text) for pattern in _EVENTS)
    tasks = any(pattern.search(text) for pattern in _TASKS)
    if not events and not tasks and not any(pattern.search(text) for pattern in _SHOW):
        return None
    days = next((days for pattern, days in _PERIODS if pattern.search(text)), _LAST_WEEK)
    if any(pattern.search(text) for pattern in _AHEAD) and not _DONE.search(text):
        days = _COMING.get(days, days)
    start, end = days(now)
    return EventRequest(start=start, end=end, type=EventType.TASKS if tasks and not events else None, tasks=tasks)


def midnight(day: date, zone_of: datetime) -> datetime:
    """Return the first moment of a day: where the clocks skip midnight, the one after the gap."""
    zone = zone_of.tzinfo
    moment = datetime.combine(day, time.min, zone)
    return datetime.fromtimestamp(moment.timestamp(), zone) if isinstance(zone, ZoneInfo) else moment


def events_text(lines: Sequence[str], words: PromptWords) -> str:
    """Return the lines of events under their heading; a sentence when there are none."""
    return "\n".join((words.events, *lines)) if lines else words.events_none


def event_lines(events: Iterable[HouseEvent], words: PromptWords) -> list[str]:
    """Return one line for each event, and a second one where there are notes."""
    return [_line(event, words) for event in events]


def _line(event: HouseEvent, words: PromptWords) -> str:
    when = words.written(event.when) if event.when is not None else "-"
    amount = f" ({event.amount} {event.currency})" if event.amount else ""
    tags = f" #{', '.join(_one_line(tag, MAX_TITLE) for tag in event.tags[:MAX_TAGS])}" if event.tags else ""
    notes = f"\n  {text}" if (text := _one_line(event.notes, MAX_NOTES)) else ""
    return f"- [{when}] {_one_line(event.title, MAX_TITLE)}{amount}{tags}{notes}"


def _one_line(text: str, longest: int) -> str:
    """Return a text that cannot pass for a line of its own."""
    text = " ".join(text[: 4 * longest].split())
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


_CURRENCIES = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₽": "RUB", "руб": "RUB", "₴": "UAH", "zł": "PLN"}
_CODES = "EUR|USD|GBP|CHF|RUB|PLN|CZK|SEK|NOK|DKK|UAH|JPY|CAD|AUD"
_NUMBER = r"\d{1,3}(?:[ .,]\d{3})*(?:[.,]\d{1,2})?|\d{1,9}(?:[.,]\d{1,2})?"
_AMOUNT = re.compile(
    rf"(?<![\w.,])(?:(?P<first>[€$£¥]) ?)?(?P<number>{_NUMBER})(?: ?(?P<last>[€$£¥₽₴]|руб\.?|zł|{_CODES}))?(?![\w])"
)
_TAG = re.compile(r"(?<!\w)#([^\W\d_]\w{1,39})")


def event_from_text(when: date | None, title: str, notes: str = "", tags: Iterable[str] = ()) -> HouseEvent:
    """Return an event whose amount and tags stand in its title or notes, as people write them: `Market 23.50 € #food`."""
    found = [*tags, *_TAG.findall(title), *_TAG.findall(notes)]
    title = _TAG.sub("", title)
    amount = currency = ""
    for match in _AMOUNT.finditer(title):
        if sign := match["last"] or match["first"]:
            amount, currency = match["number"], _CURRENCIES.get(sign.rstrip("."), sign)
            title = title[: match.start()] + title[match.end() :]
            break
    return HouseEvent(
        when=when,
        title=" ".join(title.split()) or amount,
        amount=amount,
        currency=currency,
        tags=tuple(dict.fromkeys(found)),
        notes=_TAG.sub("", notes).strip(),
    )
