"""Triggers that look at the clock, on a home of the past: Home Assistant's own ones read the clock of now."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta
from typing import Any, override

from homeassistant.const import WEEKDAYS
from homeassistant.core import Event, State
from homeassistant.exceptions import TemplateError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.automation import get_relative_description_key
from homeassistant.helpers.sun import get_astral_event_next
from homeassistant.helpers.template import Template, render_complex, result_as_boolean
from homeassistant.helpers.trigger import TriggerConfig
from homeassistant.loader import async_get_integration
from homeassistant.util import dt as dt_util
import probatio

from .past import NotReplayable, PastHome, PastTimer

type Fire = Callable[[dict[str, Any]], None]


class PastTrigger:
    """One trigger."""

    def __init__(
        self, home: PastHome, config: Mapping[str, Any], path: str, fire: Fire, variables: Mapping[str, Any]
    ) -> None:
        """Take the home, the trigger, where it is written, and what is called with the variables of a run."""
        self.home = home
        self.config = config
        self.path = path
        self.fire = fire
        self.variables = variables
        self.event_types: frozenset[str] = frozenset()
        """Types whose events are known."""

        self.removes: list[Callable[[], object]] = []
        self._is_over = False

    async def async_attach(self) -> None:
        """Begin to wait. Raises `NotReplayable`."""

    def detach(self) -> None:
        """Wait no longer."""
        self._is_over = True
        while self.removes:
            self.removes.pop()()

    def listen(self, event_type: str, listener: Callable[[Event[Any]], object]) -> None:
        """Hear events of a type while it waits."""
        self.removes.append(self.home.bus.async_listen(event_type, listener))

    def call_on(self, moment: datetime, callback: Callable[..., object], *args: Any) -> PastTimer:
        """Set a timer for a moment, if it still waits by then."""
        return self.home.clock.call_on(moment, lambda: None if self._is_over else callback(*args))

    def call_later(self, delay: float, callback: Callable[[], object]) -> PastTimer:
        """Set a timer, if it still waits by then."""
        return self.home.clock.call_later(delay, lambda: None if self._is_over else callback())

    def run(self, description: str, **found: Any) -> None:
        """Trigger at this moment."""
        self.fire({"platform": self.config["trigger_kind"], "description": description, **found})

    @property
    def options(self) -> Mapping[str, Any]:
        """Return its fields, also where a release has them in `options`."""
        found = self.config.get("options")
        return found if isinstance(found, Mapping) else self.config


class _ClockTrigger(PastTrigger):
    """A trigger that looks at the clock; `next` says when the next time is."""

    def next(self, after: datetime) -> datetime | None:
        """Return the first moment from one on, in UTC."""
        raise NotImplementedError

    @override
    async def async_attach(self) -> None:
        self._set(self.home.clock.moment)

    def _set(self, after: datetime) -> None:
        if (moment := self.next(after)) is not None:
            self.call_on(moment, self._due, moment)

    def _due(self, moment: datetime) -> None:
        self._set(moment + timedelta(seconds=1))
        self.happen(moment)

    def happen(self, moment: datetime) -> None:
        """Trigger."""
        self.run("time", now=dt_util.as_local(moment))


def next_time(after: datetime, hours: Sequence[int], minutes: Sequence[int], seconds: Sequence[int]) -> datetime:
    """Return the next local time that fits, in UTC, as Home Assistant counts it when clocks are changed."""
    local = dt_util.as_local(after)
    if local.microsecond:
        local = dt_util.as_local(after.replace(microsecond=0) + timedelta(seconds=1))
    found = dt_util.find_next_time_expression_time(local, list(seconds), list(minutes), list(hours))
    return dt_util.as_utc(found)


def at_time(after: datetime, clock: time) -> datetime:
    """Return the next moment that a local clock shows a time, in UTC."""
    return next_time(after, [clock.hour], [clock.minute], [clock.second])


class _PatternTrigger(_ClockTrigger):
    @override
    async def async_attach(self) -> None:
        hours, minutes, seconds = (self.config.get(key) for key in ("hours", "minutes", "seconds"))
        if minutes is None and hours is not None:
            minutes = 0
        if seconds is None and minutes is not None:
            seconds = 0
        self._fit = (
            dt_util.parse_time_expression(hours, 0, 23),
            dt_util.parse_time_expression(minutes, 0, 59),
            dt_util.parse_time_expression(seconds, 0, 59),
        )
        await super().async_attach()

    @override
    def next(self, after: datetime) -> datetime | None:
        return next_time(after, *self._fit)

    @override
    def happen(self, moment: datetime) -> None:
        self.run("time pattern", now=dt_util.as_local(moment))


class _TimeTrigger(PastTrigger):
    """Times of the day, and those that a date and time helper or a sensor names."""

    @override
    async def async_attach(self) -> None:
        self._waiting: dict[tuple[str, timedelta], PastTimer] = {}
        for at in self.config["at"]:
            if isinstance(at, Template):
                at = at.async_render(dict(self.variables), limited=True)
                at = dt_util.parse_time(at) or at if isinstance(at, str) else at
            match at:
                case time():
                    self._each_day(at, self.home.clock.moment, None, None)
                case str():
                    self._follow(at, timedelta())
                case Mapping():
                    self._follow(at["entity_id"], at.get("offset", timedelta()))
                case _:
                    raise NotReplayable("its time is no time")

    def _happen(self, moment: datetime, entity_id: str | None) -> None:
        local = dt_util.as_local(moment)
        weekday = self.config.get("weekday")
        days = [weekday] if isinstance(weekday, str) else weekday
        if days is None or WEEKDAYS[local.weekday()] in days:
            self.run(f"time set in {entity_id}" if entity_id else "time", now=local, entity_id=entity_id)

    def _each_day(self, clock: time, after: datetime, entity_id: str | None, key: tuple[str, timedelta] | None) -> None:
        moment = at_time(after, clock)

        def due() -> None:
            self._each_day(clock, moment + timedelta(seconds=1), entity_id, key)
            self._happen(moment, entity_id)

        timer = self.call_on(moment, due)
        if key is not None:
            self._waiting[key] = timer

    def _follow(self, entity_id: str, offset: timedelta) -> None:
        def changed(event: Event[Any]) -> None:
            if event.data["entity_id"] == entity_id:
                self._set(entity_id, offset, event.data["new_state"])

        self.listen("state_changed", changed)
        self._set(entity_id, offset, self.home.states.get(entity_id))

    def _set(self, entity_id: str, offset: timedelta, state: State | None) -> None:
        key = (entity_id, offset)
        if (earlier := self._waiting.pop(key, None)) is not None:
            earlier.cancel()
        if state is None:
            return
        moment: datetime | None = None
        if state.domain == "input_datetime":
            found = state.attributes
            has_time = found.get("has_time")
            clock = time(found["hour"], found["minute"], found["second"]) if has_time else time()
            if found.get("has_date"):
                day = datetime(found["year"], found["month"], found["day"], tzinfo=dt_util.get_default_time_zone())
                moment = datetime.combine(day, clock, day.tzinfo) + offset
                moment = dt_util.as_utc(moment) if moment >= self.home.clock.now else None
            elif has_time:
                shifted = datetime.combine(dt_util.as_local(self.home.clock.now), clock) + offset
                self._each_day(shifted.time(), self.home.clock.moment, entity_id, key)
        elif state.attributes.get("device_class") in ("timestamp", "uptime"):
            moment = dt_util.parse_datetime(state.state)
            moment = moment + offset if moment is not None else None
            if moment is not None and moment <= self.home.clock.now:
                moment = None
        if moment is not None:
            self._waiting[key] = self.call_on(moment, self._happen, moment, entity_id)


class _SunTrigger(_ClockTrigger):
    """What happens at a position of the sun."""

    _next: Callable[[datetime], datetime | None]

    @override
    async def async_attach(self) -> None:
        key = str(self.config["trigger_kind"])
        if key == "sun":
            event, offset = self.options["event"], self.options.get("offset") or timedelta()
            self._next = lambda after: get_astral_event_next(self.home, event, after, offset)
        else:
            integration = await async_get_integration(self.home, "sun")
            platform = await integration.async_get_platform("trigger")
            kind = (await platform.async_get_triggers(self.home)).get(get_relative_description_key("sun", key))
            trigger = kind(self.home, TriggerConfig(key=key, target=None, options=self.config.get("options")))
            if (found := getattr(trigger, "_get_next_event", None)) is None:
                raise NotReplayable(f"{key} cannot be looked up in the past")
            self._next = found
        await super().async_attach()

    @override
    def next(self, after: datetime) -> datetime | None:
        with suppress(ValueError):  # the sun does not do it at this place
            return self._next(after)
        return None

    @override
    def happen(self, moment: datetime) -> None:
        self.run(f"sun event {self.options.get('event', self.config['trigger_kind'])}", event=self.options.get("event"))


class _TemplateTrigger(PastTrigger):
    """A template that becomes true. It is rendered when an entity that it reads changes, and each minute if it reads the clock."""

    @override
    async def async_attach(self) -> None:
        self._template: Template = self.config["value_template"]
        self._timer: PastTimer | None = None
        self._last: object = None
        self._has_result = False
        self._minute: PastTimer | None = None
        self._render()
        self._is_armed = not isinstance(self._result, TemplateError) and not result_as_boolean(self._result)
        self.listen("state_changed", self._changed)

    def _render(self) -> None:
        info = self._template.async_render_to_info(dict(self.variables))
        try:
            self._result: object = info.result()
        except TemplateError as err:
            self._result = err
        self._info = info
        if info.has_time and self._minute is None:
            moment = next_time(self.home.clock.moment + timedelta(microseconds=1), range(24), range(60), [0])
            self._minute = self.call_on(moment, self._each_minute)

    def _each_minute(self) -> None:
        self._minute = None
        if self._info.has_time:
            self._refresh(None)

    def _changed(self, event: Event[Any]) -> None:
        entity_id, old, new = (event.data[key] for key in ("entity_id", "old_state", "new_state"))
        info = self._info
        domain = entity_id.partition(".")[0]
        appears = old is None or new is None
        if (
            info.all_states
            or (appears and (info.all_states_lifecycle or domain in info.domains_lifecycle))
            or entity_id in info.entities
            or domain in info.domains
        ):
            self._refresh(event)

    def _refresh(self, event: Event[Any] | None) -> None:
        self._render()
        result = self._result
        if self._has_result and (
            result == self._last or (isinstance(result, TemplateError) and isinstance(self._last, TemplateError))
        ):
            return
        self._has_result, self._last = True, result
        if isinstance(result, TemplateError):
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not result_as_boolean(result):
            self._is_armed = True
            return
        if not self._is_armed:
            return
        self._is_armed = False
        found = {
            "entity_id": event.data["entity_id"] if event else None,
            "from_state": event.data["old_state"] if event else None,
            "to_state": event.data["new_state"] if event else None,
        }
        told = f"{found['entity_id']} via template" if event else "time change or manual update via template"
        if (period := self.config.get("for")) is None:
            self.run(told, **found)
            return
        variables = {**self.variables, "trigger": {"platform": "template", **found}}
        with suppress(TemplateError, probatio.Invalid):
            wait = cv.positive_time_period(render_complex(period, variables))
            self._timer = self.call_later(wait.total_seconds(), lambda: self.run(told, **found))


class _CalendarTrigger(PastTrigger):
    """Events of a calendar, as far as its state has told of them."""

    @override
    async def async_attach(self) -> None:
        options = self.options
        key = str(self.config["trigger_kind"])
        entities = (self.config.get("target") or options).get("entity_id") or ()
        self._entities = {entities} if isinstance(entities, str) else set(entities)
        if not self._entities:
            raise NotReplayable("calendars of areas and devices cannot be looked up in the past")
        self._attribute = "end_time" if key.endswith("ended") or options.get("event") == "end" else "start_time"
        self._offset = options.get("offset") or timedelta()
        if "target" in self.config and options.get("offset_type", "before") == "before":
            self._offset = -self._offset
        self._waiting: dict[tuple[str, str], PastTimer] = {}
        self.listen("state_changed", lambda event: self._see(event.data["new_state"]))
        for entity_id in self._entities:
            self._see(self.home.states.get(entity_id))

    def _see(self, state: State | None) -> None:
        if state is None or state.entity_id not in self._entities:
            return
        text = str(state.attributes.get(self._attribute) or "")
        moment = dt_util.parse_datetime(text)
        if moment is None:
            return
        moment = moment.replace(tzinfo=dt_util.get_default_time_zone()) if moment.tzinfo is None else moment
        moment = dt_util.as_utc(moment + self._offset)
        key = (text, str(state.attributes.get("message")))
        for known in [known for known in self._waiting if self._attribute == "start_time" and known != key]:
            if self._waiting[known].when() > self.home.clock.time() and known[0] >= text:
                self._waiting.pop(known).cancel()  # another event stands before it, or it was moved
        if key not in self._waiting and moment >= self.home.clock.moment - timedelta(minutes=15):
            event = {
                "summary": key[1],
                "start": state.attributes.get("start_time"),
                "end": state.attributes.get("end_time"),
            }
            self._waiting[key] = self.call_on(
                moment, lambda: self.run("calendar event state change", entity_id=state.entity_id, calendar_event=event)
            )


class _StartTrigger(PastTrigger):
    """Home Assistant has started."""

    @override
    async def async_attach(self) -> None:
        if self.config.get("event") != "start":
            raise NotReplayable("when Home Assistant was told to stop is not recorded")
        self.listen("homeassistant_started", lambda _: self.run("Home Assistant starting", event="start"))


CLOCK_TRIGGERS: Mapping[str, type[PastTrigger]] = {
    "time": _TimeTrigger,
    "time_pattern": _PatternTrigger,
    "template": _TemplateTrigger,
    "homeassistant": _StartTrigger,
}
_CHANGES_OF_SUN = ("sun.elevation_changed", "sun.elevation_crossed_threshold")


def clock_trigger(kind: str) -> type[PastTrigger] | None:
    """Return the class for a trigger that looks at the clock, None for any other."""
    if kind.partition(".")[0] == "sun" and kind not in _CHANGES_OF_SUN:
        return _SunTrigger
    if kind.partition(".")[0] == "calendar":
        return _CalendarTrigger
    return CLOCK_TRIGGERS.get(kind)
