"""A home as it was: Home Assistant's own triggers, conditions and templates work on it, with states and a clock of the past.

It stands in for `HomeAssistant` where code reads states, listens to the bus and sets timers. Registries are those of now. Nothing
can be called, fired or written through it.
"""

from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from itertools import count
import logging
from typing import Any, NoReturn, Self, override

from homeassistant.core import Context, Event, EventBus, EventOrigin, HassJob, HomeAssistant, State, StateMachine
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.script_variables import ScriptVariables
from homeassistant.helpers.template import Template, TemplateEnvironment
from homeassistant.helpers.template.render_info import render_info_cv
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassDict, HassKey
from jinja2 import pass_context

LATE = timedelta(milliseconds=1)
"""How much later than it is due something happens: no timer is early, and what is compared with the clock has passed by then."""
UNKNOWN_CONTEXT = Context()
"""The context of what no one is known to have done; one for all, since to make one takes time."""
_replaying: ContextVar[bool] = ContextVar("home_agent_replaying", default=False)
_SPEAKERS = (
    "homeassistant.components.homeassistant.triggers.numeric_state",
    "homeassistant.components.homeassistant.triggers.state",
    "homeassistant.components.zone.trigger",
    "homeassistant.helpers.automation",
    "homeassistant.helpers.condition",
    "homeassistant.helpers.event",
    "homeassistant.helpers.template",
    "homeassistant.helpers.template.helpers",
)
"""Loggers of code that warns on each change of what is wrong; of a replay that is told once, in its result."""


class NotReplayable(HomeAssistantError):
    """Something needs the home of now; the text says what."""


class PastTimer:
    """A timer of the past."""

    def __init__(self, when: float, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        """Take the moment in seconds since the epoch, and what is called then."""
        self._when = when
        self.callback: Callable[..., object] | None = callback
        self.args = args

    def when(self) -> float:
        """Return the moment."""
        return self._when

    def cancel(self) -> None:
        """Drop it."""
        self.callback = None

    def cancelled(self) -> bool:
        """Return whether it was dropped."""
        return self.callback is None


class PastClock:
    """The time of a replay; it stands in for the event loop where timers are set."""

    def __init__(self) -> None:
        """Begin at the epoch."""
        self._now = 0.0
        self._order = count()
        self._timers: list[tuple[float, int, PastTimer]] = []

    @property
    def moment(self) -> datetime:
        """The moment it is, in UTC."""
        return datetime.fromtimestamp(round(self._now, 6), UTC)

    @property
    def now(self) -> datetime:
        """What a clock shows when something is done that was due at this moment."""
        return self.moment + LATE

    def set(self, moment: datetime) -> None:
        """Go to a moment."""
        self._now = moment.timestamp()

    def time(self) -> float:
        """Return the moment in seconds since the epoch."""
        return self._now

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: object = None) -> PastTimer:
        """Set a timer."""
        timer = PastTimer(when, callback, args)
        heappush(self._timers, (max(when, self._now), next(self._order), timer))
        return timer

    def call_on(self, moment: datetime, callback: Callable[..., object], *args: Any) -> PastTimer:
        """Set a timer for a moment."""
        return self.call_at(moment.timestamp(), callback, *args)

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: object = None
    ) -> PastTimer:
        """Set a timer."""
        return self.call_at(self._now + delay, callback, *args)

    def call_soon(self, callback: Callable[..., object], *args: Any, context: object = None) -> PastTimer:
        """Set a timer for this moment."""
        return self.call_at(self._now, callback, *args)

    def run_until(self, moment: datetime) -> Iterator[None]:
        """Call what is due until a moment, one timer per step, and go to that moment."""
        until = moment.timestamp()
        while self._timers and self._timers[0][0] <= until:
            when, _, timer = heappop(self._timers)
            if timer.callback is not None:
                self._now = when
                timer.callback(*timer.args)
                yield
        self._now = until

    def clear(self) -> None:
        """Drop all timers."""
        self._timers.clear()


class PastBus(EventBus):
    """A bus that only the replay fires on."""

    def __init__(self) -> None:
        """Begin without listeners."""
        self.listening: dict[str, list[tuple[Callable[[Event[Any]], object], Callable[..., bool] | None, bool]]] = {}

    @override
    def async_listen(
        self, event_type: Any, listener: Any, event_filter: Any = None, run_immediately: object = None
    ) -> Callable[[], None]:
        return self._listen(str(event_type), listener, event_filter, is_once=False)

    @override
    def async_listen_once(self, event_type: Any, listener: Any, run_immediately: object = None) -> Callable[[], None]:
        return self._listen(str(event_type), listener, None, is_once=True)

    def _listen(self, event_type: str, listener: Any, event_filter: Any, *, is_once: bool) -> Callable[[], None]:
        row = (listener, event_filter, is_once)
        rows = self.listening.setdefault(event_type, [])
        rows.append(row)

        def remove() -> None:
            if row in rows:
                rows.remove(row)

        return remove

    def play(self, event: Event[Any]) -> None:
        """Hand an event to its listeners."""
        for row in list(self.listening.get(str(event.event_type), ())):
            listener, event_filter, is_once = row
            if event_filter is not None and not event_filter(event.data):
                continue
            if is_once and row in self.listening[str(event.event_type)]:
                self.listening[str(event.event_type)].remove(row)
            listener(event)

    @override
    def async_fire(self, *_: Any, **__: Any) -> NoReturn:
        raise NotReplayable("it fires an event")

    async_fire_internal = async_fire


class PastStates(StateMachine):
    """The states of a moment; what is not in the timeline has none."""

    def __init__(self) -> None:
        """Begin without states."""
        self.current: dict[str, State] = {}
        self.known: Collection[str] = ()
        self.missed: dict[str, None] = {}
        """What was asked for and is not in the timeline."""
        self.read: dict[str, None] | None = None
        """What was asked for since it was set."""

    @override
    def get(self, entity_id: str) -> State | None:
        entity_id = entity_id.lower()
        if self.read is not None:
            self.read[entity_id] = None
        if entity_id not in self.known:
            self.missed[entity_id] = None
        return self.current.get(entity_id)

    @override
    def is_state(self, entity_id: str, state: str) -> bool:
        found = self.get(entity_id)
        return found is not None and found.state == state

    @override
    def async_all(self, domain_filter: str | Iterable[str] | None = None) -> list[State]:
        if domain_filter is None:
            return list(self.current.values())
        domains = {domain_filter} if isinstance(domain_filter, str) else set(domain_filter)
        return [state for state in self.current.values() if state.domain in domains]

    @override
    def async_entity_ids(self, domain_filter: str | Iterable[str] | None = None) -> list[str]:
        return [state.entity_id for state in self.async_all(domain_filter)]

    @override
    def async_entity_ids_count(self, domain_filter: str | Iterable[str] | None = None) -> int:
        return len(self.async_all(domain_filter))

    all = async_all
    entity_ids = async_entity_ids

    @override
    def async_available(self, entity_id: str) -> bool:
        return entity_id.lower() not in self.current

    @override
    def async_set_internal(self, *_: Any, **__: Any) -> NoReturn:
        raise NotReplayable("it writes a state")

    set = async_set = async_remove = remove = async_reserve = async_set_internal


class PastHome(HomeAssistant):
    """Home Assistant as it was at a moment."""

    def __new__(cls, *_: object) -> Self:
        """Return one that the running code of Home Assistant does not take for its own."""
        return object.__new__(cls)

    def __init__(self, hass: HomeAssistant) -> None:
        """Share the registries and the configuration of the real one."""
        self._hass = hass
        self._environments: dict[Any, TemplateEnvironment] = {}
        self._clocked: set[TemplateEnvironment] = set()
        self.config = hass.config
        self.config_entries = hass.config_entries
        self.renew()

    def renew(self) -> None:
        """Begin anew: no states, no timers, no listeners."""
        hass = self._hass
        self._keep_environments()
        data = HassDict({key: value for key, value in hass.data.items() if not _is_of_running(value)})
        data.update(self._environments)
        self.data = data
        self.states: PastStates = PastStates()
        self.bus: PastBus = PastBus()
        self.clock = PastClock()
        self.loop = self.clock  # type: ignore[assignment]
        self.loop_thread_id = hass.loop_thread_id

    def _keep_environments(self) -> None:
        """Keep the environments of templates: what they have compiled is used again."""
        for key, value in getattr(self, "data", {}).items():
            if isinstance(value, TemplateEnvironment):
                self._environments[key] = value

    @property
    def environment(self) -> TemplateEnvironment:
        """The functions that templates have here."""
        environment = Template("", self)._env  # noqa: SLF001 - there is no public way to have other functions in a template
        if environment not in self._clocked:
            self._set_clock(environment)
            self._clocked.add(environment)
        return environment

    def template(self, text: str) -> Template:
        """Return a template that is rendered at the moment of this home."""
        _ = self.environment  # it is the one that the template takes
        return Template(text, self)

    def _set_clock(self, environment: TemplateEnvironment) -> None:
        """Let templates know no time but that of this home."""
        functions: dict[str, Callable[..., Any]] = {
            "now": lambda: self._seen(dt_util.as_local(self.clock.now)),
            "utcnow": lambda: self._seen(self.clock.now),
            "today_at": self._today_at,
            "relative_time": lambda value: self._age(value, 1, is_future=False),
            "time_since": lambda value, precision=1: self._age(value, precision, is_future=False),
            "time_until": lambda value, precision=1: self._age(value, precision, is_future=True),
        }
        for name, function in functions.items():
            wrapped = pass_context(lambda _, *args, _function=function, **kwargs: _function(*args, **kwargs))
            for known in (environment.globals, environment.filters):
                if name in known:
                    known[name] = wrapped

    @staticmethod
    def _seen[T](value: T) -> T:
        """Note that a template depends on the time."""
        if (info := render_info_cv.get()) is not None:
            info.has_time = True
        return value

    def _today_at(self, text: str = "") -> datetime:
        today = dt_util.start_of_local_day(dt_util.as_local(self._seen(self.clock.now)))
        if not text:
            return today
        if (found := dt_util.parse_time(text)) is None:
            raise ValueError(f"could not convert str to datetime: '{text}'")
        return datetime.combine(today, found, today.tzinfo)

    def _age(self, value: Any, precision: int, *, is_future: bool) -> Any:
        now = dt_util.as_local(self._seen(self.clock.now))
        if not isinstance(value, datetime):
            return value
        if value.tzinfo is None:
            value = dt_util.as_local(value)
        if is_future != (value >= now):
            return value
        # Home Assistant counts from its own clock: a moment as far from that one has the same age.
        shifted = dt_util.now() + (value - now)
        return (dt_util.get_time_remaining if is_future else dt_util.get_age)(shifted, precision)

    async def async_is_slow(self, template: Template, seconds: float) -> bool:
        """Return whether a template takes longer than that; it is tried in a thread, which is stopped."""
        if template.is_static:
            return False
        bound = self.template(template.template)
        self.loop = self._hass.loop
        try:
            return await bound.async_render_will_timeout(seconds, log_fn=_say_nothing)
        except HomeAssistantError:
            return False  # it fails, which is told elsewhere
        finally:
            self.loop = self.clock  # type: ignore[assignment]

    def rebound(self, value: Any) -> Any:
        """Return a configuration whose templates are rendered at the moment of this home."""
        match value:
            case Template():
                return self.template(value.template)
            case ScriptVariables():
                return ScriptVariables(self.rebound(value.variables))
            case Mapping():
                return {key: self.rebound(item) for key, item in value.items()}
            case list():
                return [self.rebound(item) for item in value]
            case tuple() if type(value) is tuple:
                return tuple(map(self.rebound, value))
        return value

    @override
    def async_run_hass_job(self, hassjob: HassJob[..., Any], *args: Any, **_: Any) -> None:
        found = hassjob.target(*args)
        if isinstance(found, Coroutine):
            drive(found)

    @override
    def async_create_task(self, target: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        drive(target)

    @override
    def async_create_background_task(self, target: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        drive(target)

    def become(self, entity_id: str, new: State | None) -> State | None:
        """Let an entity change without telling anybody; return what it was."""
        old = self.states.current.pop(entity_id, None)
        if new is not None:
            self.states.current[entity_id] = new
        return old

    def change(self, entity_id: str, new: State | None) -> State | None:
        """Let an entity change, tell those who listen, and return what it was."""
        old = self.become(entity_id, new)
        context = new.context if new is not None else UNKNOWN_CONTEXT
        self.play("state_changed", {"entity_id": entity_id, "old_state": old, "new_state": new}, context)
        return old

    def forget_trackers(self) -> None:
        """Forget who listened, with the bus."""
        for key, value in [*self.data.items()]:
            if _is_of_running(value) and not isinstance(value, TemplateEnvironment):
                self.data.pop(str(key))

    def play(self, event_type: str, data: Mapping[str, Any], context: Context = UNKNOWN_CONTEXT) -> None:
        """Let an event happen at this moment."""
        self.bus.play(Event(event_type, data, EventOrigin.local, self.clock.time() or None, context))


def drive(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that waits for nothing. Raises `NotReplayable` if it does."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise NotReplayable("it waits for something")


def _is_of_running(value: object) -> bool:
    """Return whether a value of `hass.data` belongs to the running bus, or renders templates now."""
    return isinstance(value, TemplateEnvironment) or (hasattr(value, "callbacks") and hasattr(value, "listener"))


_POOL: HassKey[list[PastHome]] = HassKey("home_agent_past_homes")


@contextmanager
def past_home(hass: HomeAssistant) -> Iterator[PastHome]:
    """Lend a home; there are only as many as are used at once, since Home Assistant never forgets one that a template asked."""
    pool = hass.data.setdefault(_POOL, [])
    home = pool.pop() if pool else PastHome(hass)
    home.renew()
    try:
        yield home
    finally:
        home.renew()
        pool.append(home)


def _say_nothing(_level: int, _message: str) -> None:
    """Keep what a trial of a template would log to itself: it has none of its variables, and runs in another thread."""


class _Quiet(logging.Filter):
    """Lets through what is not said in a replay."""

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        return not _replaying.get()


_QUIET = _Quiet()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what triggers, conditions and templates of this context warn of out of the log."""
    token = _replaying.set(True)
    for name in _SPEAKERS:
        logging.getLogger(name).addFilter(_QUIET)  # one that is there already is not added again
    try:
        yield
    finally:
        _replaying.reset(token)
