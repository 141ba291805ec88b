"""Conditions of the sun, at a moment of the past."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import override

from homeassistant.helpers.sun import get_astral_event_date, get_astral_observer, is_up
from homeassistant.util import dt as dt_util

from .past import NotReplayable
from .past_answers import PastAnswer, PastCondition, Variables


class SunEvents(PastCondition):
    """Before or after sunrise or sunset, as `homeassistant.components.sun.condition` counts it."""

    @override
    def _check(self, variables: Variables) -> PastAnswer:
        options = self.options()
        before, after = options.get("before"), options.get("after")
        moments = {event: self._event(event) for event in (before, after) if event is not None}
        if missing := next((event for event, moment in moments.items() if moment is None), None):
            return PastAnswer(False, f"there was no {missing} that day")
        last = self._with_offset(moments.get(before), "before_offset")
        first = self._with_offset(moments.get(after), "after_offset")
        is_so = (last is None or self.now <= last) and (first is None or self.now >= first)
        if before == "sunrise" and after == "sunset" and last is not None and first is not None:
            is_so = self.now < last or self.now > first  # around midnight
        clock = f"it was {dt_util.as_local(self.now):%H:%M:%S}"
        if is_so:
            return PastAnswer(True, clock)
        asked = [
            f"{word} {event} ({dt_util.as_local(moment):%H:%M:%S})"
            for word, event, moment in (("before", before, last), ("after", after, first))
            if moment is not None
        ]
        return PastAnswer(False, f"{clock}, not {' and '.join(asked)}")

    def _with_offset(self, moment: datetime | None, key: str) -> datetime | None:
        offset: timedelta = self.options().get(key) or timedelta()
        return moment + offset if moment is not None else None

    def _event(self, event: str) -> datetime | None:
        today = dt_util.as_local(self.now).date()
        found = get_astral_event_date(self.home, event, today)
        if found is not None and today > dt_util.as_local(found).date():
            found = get_astral_event_date(self.home, event, today + timedelta(days=1))
        return found


class SunPosition(PastCondition):
    """Where the sun stood."""

    _bands: Mapping[str, tuple[float, float]] = {}

    @override
    async def async_prepare(self) -> None:
        import astral.sun  # type: ignore[import-untyped]  # Home Assistant loads it where it is used, too
        from homeassistant.components.sun import const

        self._elevation: Callable[..., float] = astral.sun.elevation

        def level(name: str) -> float:
            """Return the elevation at which a part of the day begins."""
            if (found := getattr(const, f"ELEVATION_{name}", None)) is None:
                raise NotReplayable("the elevations of the sun are not known")
            return float(found)

        night = level("ASTRONOMICAL")
        twilight = {
            "civil": (level("CIVIL"), level("HORIZON")),
            "nautical": (level("NAUTICAL"), level("CIVIL")),
            "astronomical": (night, level("NAUTICAL")),
        }.get(self.options().get("type", "any"), (night, level("HORIZON")))
        self._bands = {
            "is_night": (-90.0, night),
            "is_morning_twilight": twilight,
            "is_evening_twilight": twilight,
            "is_golden_hour": (level("GOLDEN_HOUR_LOW"), level("GOLDEN_HOUR_HIGH")),
            "is_blue_hour": (level("BLUE_HOUR_LOW"), level("BLUE_HOUR_HIGH")),
        }
        self._kind = self.config["condition"].partition(".")[2]
        if self._kind not in {*self._bands, "is_up", "is_set", "is_ascending", "is_descending"}:
            raise NotReplayable(f"{self.config['condition']} cannot be looked up in the past")

    @override
    def _check(self, variables: Variables) -> PastAnswer:
        observer = get_astral_observer(self.home)
        elevation = self._elevation(observer, self.now)
        is_rising = self._elevation(observer, self.now + timedelta(minutes=1)) > elevation
        match self._kind:
            case "is_up" | "is_set":
                is_so = is_up(self.home, self.now) == (self._kind == "is_up")
            case "is_ascending" | "is_descending":
                is_so = is_rising == (self._kind == "is_ascending")
            case _:
                low, high = self._bands[self._kind]
                period = self.options().get("period", "any")
                is_morning = True if "morning" in (period, self._kind.split("_")[1]) else None
                is_morning = False if "evening" in (period, self._kind.split("_")[1]) else is_morning
                is_so = low <= elevation <= high and is_morning in (None, is_rising)
        way = "rising" if is_rising else "going down"
        return PastAnswer(
            is_so, f"the sun stood at {elevation:.1f}°, {way}" + ("" if is_so else f", not '{self._kind}'")
        )
