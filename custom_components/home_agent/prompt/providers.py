"""What rides in the turn part besides states: the owner's documents, events, memories. One context provider for each.

A provider returns what fits this request, best first; what the model already knows in this conversation is left out here.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from hashlib import blake2b
import re
from typing import Any, Protocol
from zlib import crc32
from zoneinfo import ZoneInfo

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util
from homeassistant.util.async_ import create_eager_task
from homeassistant.util.json import JsonValueType

from ..home.domain import Logged
from ..home.domains import domains_logged
from ..home.exposure import is_shared
from ..home.foreign import async_reader, note_read
from ..languages.data import ENGLISH, EVENT_LANGUAGES, PromptWords, code_of, data_of, prompt_words
from ..memory.memories import Memories
from ..memory.record import MemoryType
from ..search.knowledge import Knowledge
from ..search.model import Query
from ..search.passages import HEADER, taint
from ..support.bounds import in_slices
from ..support.encoding import dump, plain_text
from ..support.outages import Outages
from ..turn.turn import Turn, async_zone

TIMEOUT = 2.0  # seconds; all are asked together, while the entities are looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What the user asks, and how much room an answer to it has."""

    turn: Turn
    query: Query
    """The words with what is known about the user; `query.allowed` says which entities may be spoken of."""
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One passage, memory or event."""

    key: str
    """Same key, same content: what was sent with this key is not sent again while the model still sees it."""
    data: JsonValueType
    """What the model reads. It came from outside, so it is written as JSON, never as words of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What a provider adds."""

    items: Sequence[Item]
    heading: str = ""
    """A line of ours above the items. Without one they stand beside the states, under the provider's name."""


class ContextProvider(Protocol):
    """Has something to add to a request."""

    @property
    def name(self) -> str:
        """Its key in the turn part, and what it is called in the log: `memories`."""
        ...

    def is_asked(self, request: ContextRequest) -> bool:
        """Return at once whether it may have anything for this request; otherwise nothing is waited for."""
        ...

    async def async_block(self, request: ContextRequest) -> Block | None:
        """Return what to add, None for nothing; what raises or is not there in time is left out, and logged once per outage."""
        ...


class Providers:
    """All of them; owned by the entry."""

    def __init__(self, *providers: ContextProvider) -> None:
        """Ask these, in this order."""
        self._providers: Sequence[ContextProvider] = providers
        self._outages = Outages()

    async def async_blocks(self, request: ContextRequest) -> dict[str, Block]:
        """Return what each provider adds, by its name; all are asked at once, and none without room."""
        asked = [provider for provider in self._providers if request.tokens > 0 and provider.is_asked(request)]
        answer = self._outages.async_answer
        tasks = [create_eager_task(answer(item.name, TIMEOUT, item.async_block(request))) for item in asked]
        if waiting := [task for task in tasks if not task.done()]:
            await asyncio.gather(*waiting)
        found = zip(asked, tasks, strict=True)
        return {item.name: block for item, task in found if (block := task.result()) is not None}


def new_blocks(
    blocks: Mapping[str, Block], known: Collection[str], room: int, estimate: Callable[[str], int]
) -> Mapping[str, Block]:
    """Return what is new by provider, within `room` tokens together; `known` are the keys (`keys_of`) the model still sees."""
    found: dict[str, Block] = {}
    for name, block in blocks.items():
        left = room - (estimate(block.heading) if block.heading else 0)
        items = []
        for item in block.items:
            if f"{name}:{item.key}" not in known:
                tokens = estimate(dump(item.data).decode())
                if tokens <= left:
                    items.append(item)
                    left -= tokens
        if items:
            found[name] = replace(block, items=items)
            room = left
    return found


def keys_of(blocks: Mapping[str, Block]) -> Sequence[str]:
    """Return the keys under which the items are remembered."""
    return [f"{name}:{item.key}" for name, block in blocks.items() for item in block.items]


@dataclass(frozen=True, slots=True)
class KnowledgeProvider:
    """Adds passages of the owner's documents, below the states and behind their header."""

    knowledge: Knowledge
    name = "knowledge"

    def is_asked(self, request: ContextRequest) -> bool:
        """Return whether there is anything to look in for the user."""
        turn = request.turn
        for asking in turn.lineage:
            if (asked_for := asking.profile.documents_for) != "everyone" and (
                (user := turn.user) is None
                or asked_for == "nobody"
                or not (user.is_admin if asked_for == "admins" else user.permissions.access_all_entities(POLICY_READ))
            ):
                return False
        return not self.knowledge.search.is_empty

    async def async_block(self, request: ContextRequest) -> Block | None:
        """Return the nearest passages. What others wrote makes the conversation careful, whether it fits or not."""
        query = request.query
        passages = await self.knowledge.async_find(query.text, language=query.language, previous=query.previous)
        if not passages:
            return None
        taint(request.turn, passages)
        items = [
            Item(key=f"{item.collection}/{item.id}/{crc32(item.text.encode()):x}", data=item.as_told())
            for item in passages
        ]
        return Block(items=items, heading=HEADER)


@dataclass(frozen=True, slots=True)
class MemoryProvider:
    """Adds memories that match the question, beside the states."""

    hass: HomeAssistant
    memories: Memories
    name = "memories"

    def is_asked(self, request: ContextRequest) -> bool:
        """Return whether there is anything for the user; never for a rehearsal."""
        memories, turn = self.memories, request.turn
        return not (memories.is_empty or turn.rehearsal or memories.scope_of(turn) is None)

    async def async_block(self, request: ContextRequest) -> Block | None:
        """Return what matches best. Text that came from outside makes the conversation careful, whether it fits or not."""
        query, turn = request.query, request.turn
        if (scope := self.memories.scope_of(turn)) is None:
            return None
        found = await self.memories.async_find(
            query.text, scope, language=query.language, previous=query.previous, is_sparing=True
        )
        reader = await async_reader(self.hass, turn.user)
        for item in found:
            turn.record.taints |= item.memory.taints_of(reader)
        items = []
        for memory in [item.memory for item in found]:
            line = memory.content
            if memory.type not in (MemoryType.FACT, MemoryType.PREFERENCE):  # its day may matter
                line = f"{line} ({dt_util.as_local(memory.extracted_at).date().isoformat()})"
            items.append(Item(key=f"{memory.id}/{crc32(line.encode()):x}", data=line))
        return Block(items=items)


# The calendar context: events from calendars, to-do lists and the logbook, for a user who asks for them; only what is exposed
# and what the user may read now. They stand in the turn part, or where the owner's prompt has a place for them.

LIMIT = 20  # events
WEEK_DAYS = 7
MONTH_DAYS = 30
MAX_TITLE = 120  # characters
MAX_NOTES = 200
MAX_TAGS = 5

_END_OF_DAY = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRequest:
    """A period, both ends included, and whether lists were named: then also what has no date."""

    start: datetime
    end: datetime
    tasks: bool = False
    only_tasks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeEvent:
    """Something that happens, happened or is to be done."""

    when: date | None  # a moment in the home's zone, a whole day, or None for a task without a date
    title: str
    amount: str = ""
    currency: str = ""
    tags: tuple[str, ...] = ()
    notes: str = ""


MAX_READ = 2_000  # characters of a message that are looked at: a pasted book would take minutes
_KINDS = ("tasks", "show", "events", "ahead", "past")
_WHOLE_DAYS = {"day_before_yesterday": -2, "yesterday": -1, "today": 0, "day_after_tomorrow": 2, "tomorrow": 1}
"""Periods of the language files in days from today; the first one that is named counts."""
_SPANS = {"next_week": WEEK_DAYS, "week": -WEEK_DAYS, "month": -MONTH_DAYS}
"""The others: so many days from now on, or up to now where negative."""


@lru_cache(maxsize=16)
def _event_patterns(language: str) -> Mapping[str, re.Pattern[str]]:
    """Return what asks for events, by kind and by period, in a language and in those that are always understood."""
    asked = [data_of(known).events for known in dict.fromkeys((code_of(language), *EVENT_LANGUAGES))]
    listed = {kind: [part for words in asked for part in getattr(words, kind)] for kind in _KINDS}
    listed |= {
        period: [part for words in asked for part in words.periods.get(period, ())]
        for period in (*_WHOLE_DAYS, *_SPANS)
    }
    return {key: re.compile("|".join(parts), re.IGNORECASE) for key, parts in listed.items()}


def detect_event_request(text: str, now: datetime, language: str = ENGLISH) -> EventRequest | None:
    """Return which events a message asks for, None if it asks for none; by default of 7 days. `now` is in the home's zone."""
    text, patterns = text[:MAX_READ], _event_patterns(language)
    events, tasks = patterns["events"].search(text), patterns["tasks"].search(text) is not None
    if not events and not tasks and not patterns["show"].search(text):
        return None
    ahead = patterns["ahead"].search(text) is not None and not patterns["past"].search(text)
    day = next((day for period, day in _WHOLE_DAYS.items() if patterns[period].search(text)), None)
    if day is None:
        days = next((days for period, days in _SPANS.items() if patterns[period].search(text)), -WEEK_DAYS)
        days = abs(days) if ahead else days
        other = (now + timedelta(days=days)).replace(fold=0)  # the same time by the clock, also where it was changed
        start, end = (now, other) if days > 0 else (other, now)
    else:
        date_of = now.date() + timedelta(days=day)
        start, end = midnight(date_of, now), now
        if day or ahead:  # where clocks skip midnight, 23:59 as well
            last = midnight(date_of + timedelta(days=1), now).astimezone(UTC) - _END_OF_DAY
            end = last.astimezone(now.tzinfo)
    return EventRequest(start=start, end=end, tasks=tasks, only_tasks=tasks and not events)


def midnight(day: date, zone_of: datetime) -> datetime:
    """Return the first moment of a day: where the clocks skip midnight, the one after the gap."""
    zone = zone_of.tzinfo
    moment = datetime.combine(day, time.min, zone)
    return datetime.fromtimestamp(moment.timestamp(), zone) if isinstance(zone, ZoneInfo) else moment


def events_text(lines: Sequence[str], words: PromptWords) -> str:
    """Return the lines of events under their heading; a sentence when there are none."""
    return "\n".join((words.events, *lines)) if lines else words.events_none


def event_lines(events: Iterable[HomeEvent], words: PromptWords) -> list[str]:
    """Return one line for each event, and a second one where there are notes."""
    lines: list[str] = []
    for event in events:
        when = words.written(event.when) if event.when is not None else "-"
        amount = f" ({event.amount} {event.currency})" if event.amount else ""
        tags = f" #{', '.join(_one_line(tag, MAX_TITLE) for tag in event.tags[:MAX_TAGS])}" if event.tags else ""
        notes = f"\n  {text}" if (text := _one_line(event.notes, MAX_NOTES)) else ""
        lines.append(f"- [{when}] {_one_line(event.title, MAX_TITLE)}{amount}{tags}{notes}")
    return lines


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


def event_from_text(when: date | None, title: str, notes: str = "", tags: Iterable[str] = ()) -> HomeEvent:
    """Return an event whose amount and tags stand in its title or notes, as people write them: `Market 23.50 € #food`."""
    found = [*tags, *_TAG.findall(title), *_TAG.findall(notes)]
    title = _TAG.sub("", title)
    amount = currency = ""
    for match in _AMOUNT.finditer(title):
        if sign := match["last"] or match["first"]:
            amount, currency = match["number"], _CURRENCIES.get(sign.rstrip("."), sign)
            title = title[: match.start()] + title[match.end() :]
            break
    return HomeEvent(
        when=when,
        title=" ".join(title.split()) or amount,
        amount=amount,
        currency=currency,
        tags=tuple(dict.fromkeys(found)),
        notes=_TAG.sub("", notes).strip(),
    )


CALENDAR = "calendar"
TODO = "todo"
LOGBOOK = "logbook"
SOURCE_TIMEOUT = 1.5  # seconds, of each list and calendar; all are asked at once
MAX_DAYS = 31  # of the logbook, read day by day until there is enough

MAX_LOGGED = 400  # entities; the logbook's query names each of them, and a database takes no more than so many

_ALWAYS_LOGGED = domains_logged(Logged.ALWAYS)
_LOGGED_FOR_USER = (*_ALWAYS_LOGGED, *domains_logged(Logged.BY_USER))
_NOTHING_NEW = (STATE_UNAVAILABLE, STATE_UNKNOWN, None, "")


@dataclass(slots=True)
class CalendarContext:
    """Adds events: asks all sources at once; one that is slow or fails is left out."""

    _hass: HomeAssistant
    _outages: Outages = field(default_factory=Outages)
    name = "events"

    def is_asked(self, request: ContextRequest) -> bool:
        """Return whether the message asks for events, and the system prompt does not hold them."""
        turn, text = request.turn, request.turn.text[:MAX_READ]
        if turn.record.events_in_prompt or not turn.profile.tell_events:
            return False
        patterns = _event_patterns(turn.language)
        return any(patterns[kind].search(text) for kind in ("events", "tasks", "show"))

    async def async_block(self, request: ContextRequest) -> Block | None:
        """Return the events that a message asks for; None when it asks for none, or the system prompt holds them."""
        turn = request.turn
        if turn.record.events_in_prompt or (events := await self.async_events(turn)) is None:
            return None
        words = prompt_words(turn.language)
        if not events:
            return Block(items=[Item(key=words.events_none, data=words.events_none)])
        items = [
            Item(key=blake2b(line.encode("utf-8", "replace"), digest_size=8).hexdigest(), data=line)
            for line in event_lines(events, words)
        ]
        return Block(heading=words.events, items=items)

    async def async_events(self, turn: Turn) -> list[HomeEvent] | None:
        """Return the events that a message asks for, at most `LIMIT` in their order; None if it asks for none."""
        if not turn.profile.tell_events or not self._hass.config.location_name:
            return None
        zone = await async_zone(self._hass, turn.profile.timezone)
        request = detect_event_request(turn.text, dt_util.now(zone), turn.language)
        if request is None:
            return None
        done: list[HomeEvent] = []
        reading = self._async_logbook(turn, request, done)
        written, _ = await asyncio.gather(
            self._async_written(turn, request), self._outages.async_answer(LOGBOOK, SOURCE_TIMEOUT, reading)
        )
        found = (*written, *done[: LIMIT - len(written)])
        return sorted(found, key=lambda event: _moment(event, request.end))

    async def _async_written(self, turn: Turn, request: EventRequest) -> list[HomeEvent]:
        domains = (TODO,) if request.only_tasks else (CALENDAR, TODO)
        asked = [(entity_id, domain) for domain in domains for entity_id in await self._async_readable(turn, (domain,))]
        answers = await asyncio.gather(
            *(
                self._outages.async_answer(entity_id, SOURCE_TIMEOUT, self._async_rows(turn, request, entity_id))
                for entity_id, _ in asked
            )
        )
        found: list[HomeEvent] = []
        reader = await async_reader(self._hass, turn.user)
        for (entity_id, domain), rows in zip(asked, answers, strict=True):
            name = state.name if (state := self._hass.states.get(entity_id)) else entity_id
            before = len(found)
            async for row in in_slices(rows or ()):
                if domain == CALENDAR:
                    notes = "; ".join(str(row[key]) for key in ("description", "location") if row.get(key))
                    when = _when(row.get("start"), request.end)
                    found.append(event_from_text(when, str(row.get("summary") or ""), notes, (name,)))
                elif (item := _task(row, name, request)) is not None:
                    found.append(item)
            if len(found) > before and state is not None:
                turn.record.taints |= reader.taints_of(state)
                note_read(self._hass, turn, [*(rows or ())])
        found.sort(key=lambda event: _moment(event, request.end))
        return found[-LIMIT:] if request.end <= dt_util.utcnow() else found[:LIMIT]

    async def _async_readable(self, turn: Turn, domains: Sequence[str]) -> list[str]:
        """Return the ids of entities that are exposed and that the user may read, in the order of the domains."""
        may_read = turn.user.permissions.check_entity if turn.user else None
        ids = sorted(
            self._hass.states.async_entity_ids(domains), key=lambda item: domains.index(item.partition(".")[0])
        )
        return [
            entity_id
            async for entity_id in in_slices(ids)
            if is_shared(self._hass, entity_id) and (may_read is None or may_read(entity_id, POLICY_READ))
        ]

    async def _async_rows(self, turn: Turn, request: EventRequest, entity_id: str) -> Sequence[Mapping[str, Any]]:
        """Return the rows of a calendar or list. Reading is checked here: the action would ask for permission to control."""
        domain = entity_id.partition(".")[0]
        if domain == CALENDAR:
            end = max(request.end, request.start + timedelta(seconds=1))
            service = "get_events"
            data: dict[str, Any] = {"start_date_time": request.start, "end_date_time": end}
        else:
            service, data = "get_items", {"status": ["needs_action", "completed"]}
        context, data = Context(parent_id=turn.context.id), {"entity_id": entity_id, **data}
        response = await self._hass.services.async_call(
            domain, service, data, blocking=True, return_response=True, context=context
        )
        answer = (response or {}).get(entity_id)
        rows = answer.get("events" if domain == CALENDAR else "items") if isinstance(answer, dict) else None
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def _async_logbook(self, turn: Turn, request: EventRequest, found: list[HomeEvent]) -> None:
        """Add the newest entries to `found`, day by day, so that a long period costs no more than it has to."""
        if request.only_tasks or LOGBOOK not in self._hass.config.components:
            return
        # Only a home with a logbook loads these, and then they are loaded.
        from homeassistant.components.logbook import helpers, processor

        entity_ids = (await self._async_readable(turn, _LOGGED_FOR_USER if turn.user else _ALWAYS_LOGGED))[:MAX_LOGGED]
        if not entity_ids:
            return
        types = helpers.async_determine_event_types(self._hass, entity_ids, None)
        logbook = processor.EventProcessor(self._hass, types, entity_ids, timestamp=True)
        end, begin = min(request.end, dt_util.now(request.end.tzinfo)), request.start
        for _ in range(MAX_DAYS):
            if len(found) >= LIMIT or end <= begin:
                break
            start = max(begin, midnight((end - timedelta(microseconds=1)).date(), request.end))
            reading = get_instance(self._hass).async_add_executor_job(
                logbook.get_events, dt_util.as_utc(start), dt_util.as_utc(end)
            )
            for row in reversed(await reading):
                said = row.get("message") or row.get("state")
                by_user = turn.user is None or row.get("context_user_id") == turn.user.id
                if said in _NOTHING_NEW or not by_user or len(found) >= LIMIT:
                    continue
                name = row.get("name") or row.get("entity_id") or ""
                when = dt_util.utc_from_timestamp(float(row["when"])).astimezone(request.end.tzinfo)
                title = f"{name}: {said}" if row.get("state") else f"{name} {said}"
                found.append(HomeEvent(when=when, title=title))
            end = start


def _task(row: Mapping[str, Any], name: str, request: EventRequest) -> HomeEvent | None:
    """Return an item that belongs to the period: done in it, due until its end; without a date when lists are asked for."""
    done, tasks = row.get("status") == "completed", request.tasks
    when = _when(row.get("completed" if done else "due"), request.end)
    if when is None:
        belongs = tasks and not done
    else:
        moment = _as_moment(when, request.end)
        belongs = request.start <= moment <= request.end if done else tasks or moment <= request.end
    if not belongs:
        return None
    return event_from_text(when, str(row.get("summary") or ""), str(row.get("description") or ""), (name,))


def _when(value: object, zone_of: datetime) -> date | None:
    """Return a day, or a moment in the zone of another one; None for what is neither."""
    text = plain_text(str(value or ""))
    if (day := dt_util.parse_date(text)) is not None:
        return day
    moment = dt_util.parse_datetime(text)
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone_of.tzinfo)).astimezone(zone_of.tzinfo)


def _as_moment(when: date, zone_of: datetime) -> datetime:
    return when if isinstance(when, datetime) else midnight(when, zone_of)


def _moment(event: HomeEvent, zone_of: datetime) -> float:
    """Return where an event stands among others; what has no date stands last."""
    return float("inf") if event.when is None else _as_moment(event.when, zone_of).timestamp()
