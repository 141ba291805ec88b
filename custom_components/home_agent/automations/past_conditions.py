"""Conditions at a moment of the past: whether they were true, and if not, what was so instead."""

from collections.abc import Mapping, Sequence
from datetime import time
from typing import Any, override

from homeassistant.const import WEEKDAYS
from homeassistant.core import State
from homeassistant.exceptions import ConditionError, ConditionErrorMessage, HomeAssistantError
from homeassistant.helpers import condition as condition_helper
from homeassistant.helpers.template import Template
from homeassistant.util import dt as dt_util

from .past import NotReplayable, PastHome
from .past_answers import ERRORS, MAX_TOLD, MAX_VALUE, UNKNOWN, PastAnswer, PastCondition, Variables, each_of, quoted
from .past_purposes import DeviceCondition, PurposeCondition
from .past_sun import SunEvents, SunPosition


class _DisabledCondition(PastCondition):
    @override
    def check(self, variables: Variables) -> PastAnswer:
        return PastAnswer(None)


class _SeveralCondition(PastCondition):
    """`and`, `or`, `not`."""

    parts: Sequence[PastCondition] = ()

    @override
    async def async_prepare(self) -> None:
        self.parts = [
            await async_past_condition(self.home, one, f"{self.path}.conditions[{number}]")
            for number, one in enumerate(self.config["conditions"])
        ]

    @override
    def begin(self) -> None:
        for part in self.parts:
            part.begin()

    @override
    def changed(self, entity_id: str, state: State | None) -> None:
        for part in self.parts:
            part.changed(entity_id, state)

    @override
    def check(self, variables: Variables) -> PastAnswer:
        answers = [part.check(variables) for part in self.parts]
        failed = next((answer for answer in answers if answer.has_failed), None)
        told = " and ".join(dict.fromkeys(answer.because for answer in answers[:MAX_TOLD] if answer.because))
        match self.config["condition"]:
            case "and":
                false = next((one for one in answers if one.result is False and not one.has_failed), None)
                return false or failed or PastAnswer(True, told)
            case "or":
                true = next((one for one in answers if one.result is True), None)
                return true or failed or PastAnswer(False, told or "none of its conditions is switched on")
        true = next((one for one in answers if one.result), None)
        if true is not None:
            return PastAnswer(False, f"{true.because}, and that must not be so")
        return failed or PastAnswer(True, told)


class _StateCondition(PastCondition):
    @override
    def _check(self, variables: Variables) -> PastAnswer:
        return each_of(
            self.config["entity_id"],
            lambda entity_id: self._of(entity_id, variables),
            is_any=self.config.get("match", "all") == "any",
        )

    def _of(self, entity_id: str, variables: Variables) -> PastAnswer:
        config, attribute = self.config, self.config.get("attribute")
        wanted = config["state"] if isinstance(config["state"], list) else [config["state"]]
        is_so = condition_helper.state(self.home, entity_id, wanted, None, attribute, dict(variables))
        state = self.home.states.current[entity_id]
        name = f"'{attribute}' of {entity_id}" if attribute else entity_id
        if attribute and attribute not in state.attributes:
            return PastAnswer(False, f"{entity_id} had no attribute '{attribute}'")
        value = quoted(state.attributes[attribute] if attribute else state.state)
        if not is_so:
            return PastAnswer(False, f"{name} was {value}, not {' or '.join(map(quoted, wanted[:MAX_TOLD]))}")
        if (period := config.get("for")) is not None and (short := self.lasted(state, period, variables)):
            return PastAnswer(False, short)
        return PastAnswer(True, f"{name} was {value}")


class _NumericCondition(PastCondition):
    @override
    def _check(self, variables: Variables) -> PastAnswer:
        return each_of(self.config["entity_id"], lambda entity_id: self._of(entity_id, variables), is_any=False)

    def _of(self, entity_id: str, variables: Variables) -> PastAnswer:
        config = self.config
        above, below, attribute = config.get("above"), config.get("below"), config.get("attribute")
        is_so = condition_helper.async_numeric_state(
            self.home, entity_id, below, above, config.get("value_template"), dict(variables), attribute
        )
        state = self.home.states.current[entity_id]
        value = state.state if attribute is None else state.attributes.get(attribute)
        name = f"'{attribute}' of {entity_id}" if attribute else entity_id
        wanted = " and ".join(
            f"{word} {self._bound(bound)}" for word, bound in (("above", above), ("below", below)) if bound is not None
        )
        return PastAnswer(is_so, f"{name} was {quoted(value)}" + ("" if is_so else f", not {wanted}"))

    def _bound(self, bound: object) -> str:
        if isinstance(bound, str) and (state := self.home.states.current.get(bound)) is not None:
            return f"{bound} ({state.state[:MAX_VALUE]})"
        return str(bound)


class _TemplateCondition(PastCondition):
    @override
    def _check(self, variables: Variables) -> PastAnswer:
        template: Template = self.config["value_template"]
        self.home.states.read = {}
        try:
            text = str(template.async_render(dict(variables), parse_result=False)).strip().lower()
        finally:
            read, self.home.states.read = [*(self.home.states.read or ())], None
        states = [
            f"{entity_id} was {quoted(state.state)}"
            for entity_id in read
            if (state := self.home.states.current.get(entity_id)) is not None
        ]
        told = "its template was true" if text == "true" else "its template was not true"
        return PastAnswer(text == "true", told + (f" ({', '.join(states[:MAX_TOLD])})" if states else ""))


class _TimeCondition(PastCondition):
    @override
    def _check(self, variables: Variables) -> PastAnswer:
        now = dt_util.as_local(self.now)
        after, before = self._bound("after", time(0)), self._bound("before", time(23, 59, 59, 999999))
        if after is None or before is None:
            return PastAnswer(False, "an entity that a time is taken from had none")
        clock = now.time()
        is_within = after <= clock < before if after < before else not before <= clock < after
        if not is_within:
            asked = [f"{word} {bound}" for word, bound in (("after", after), ("before", before)) if word in self.config]
            return PastAnswer(False, f"it was {clock:%H:%M:%S}, not {' and '.join(asked)}")
        weekday = self.config.get("weekday")
        days = [weekday] if isinstance(weekday, str) else weekday
        if days is not None and WEEKDAYS[now.weekday()] not in days:
            return PastAnswer(False, f"it was {WEEKDAYS[now.weekday()]}, not {' or '.join(days)}")
        return PastAnswer(True, f"it was {clock:%H:%M:%S}")

    def _bound(self, key: str, default: time) -> time | None:
        """Return a time of the day, None where its entity has none. Raises `ConditionError` for an unknown entity."""
        bound = self.config.get(key)
        if bound is None:
            return default
        if not isinstance(bound, str):
            found: time = bound
            return found
        if (state := self.home.states.get(bound)) is None:
            raise ConditionErrorMessage("time", f"{bound} had no state")
        if state.domain == "input_datetime":
            attributes = state.attributes
            return time(attributes.get("hour", 23), attributes.get("minute", 59), attributes.get("second", 59))
        if state.state in UNKNOWN:
            return None
        if state.domain == "time":
            return dt_util.parse_time(state.state)
        if state.attributes.get("device_class") not in ("timestamp", "uptime"):
            return None
        moment = dt_util.parse_datetime(state.state)
        return dt_util.as_local(moment).time() if moment is not None else None


class _TriggerCondition(PastCondition):
    @override
    def _check(self, variables: Variables) -> PastAnswer:
        wanted = self.config["id"]
        wanted = [wanted] if isinstance(wanted, str) else wanted
        found = (variables.get("trigger") or {}).get("id")
        is_so = found in wanted
        return PastAnswer(is_so, f"the trigger was {quoted(found)}" + ("" if is_so else f", not {' or '.join(wanted)}"))


class _ZoneCondition(PastCondition):
    @override
    async def async_prepare(self) -> None:
        from homeassistant.components.zone import condition

        self._is_in = condition.zone

    @override
    def _check(self, variables: Variables) -> PastAnswer:
        options = self.options()
        entities, zones = _listed(options["entity_id"]), _listed(options["zone"])
        failed: ConditionError | None = None
        for entity_id in entities:
            is_ok = False
            for zone in zones:
                try:
                    is_ok = is_ok or self._is_in(self.home, zone, entity_id)
                except ConditionError as err:
                    failed = err
            if not is_ok:
                if failed is not None:
                    raise failed
                state = self.home.states.current.get(entity_id)
                return PastAnswer(
                    False, f"{entity_id} was {quoted(state.state if state else None)}, not in {' or '.join(zones)}"
                )
        return PastAnswer(True, f"{' and '.join(entities[:MAX_TOLD])} was in {' or '.join(zones[:MAX_TOLD])}")


def _listed(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


_KINDS: Mapping[str, type[PastCondition]] = {
    **dict.fromkeys(("and", "or", "not"), _SeveralCondition),
    "state": _StateCondition,
    "numeric_state": _NumericCondition,
    "template": _TemplateCondition,
    "time": _TimeCondition,
    "trigger": _TriggerCondition,
    "zone": _ZoneCondition,
    "sun": SunEvents,
    "device": DeviceCondition,
}


async def async_past_condition(home: PastHome, written: object, path: str) -> PastCondition:
    """Return a condition, normalized by Home Assistant, that can be checked in the past. Raises `NotReplayable`."""
    if isinstance(written, Template):
        written = {"condition": "template", "value_template": written}
    if not isinstance(written, Mapping):
        raise NotReplayable("it is no condition")
    config: Mapping[str, Any] = home.rebound(written)
    enabled = config.get("enabled", True)
    if isinstance(enabled, Template):
        try:
            enabled = enabled.async_render(limited=True)
        except HomeAssistantError as err:
            raise NotReplayable("its 'enabled' cannot be rendered") from err
    key = str(config["condition"])
    kind = _KINDS.get(key, SunPosition if key.startswith("sun.") and key != "sun.elevation" else PurposeCondition)
    found = (kind if enabled else _DisabledCondition)(home, config, path)
    try:
        await found.async_prepare()
    except NotReplayable:
        raise
    except ERRORS as err:
        raise NotReplayable(f"the condition {key} cannot be looked up in the past") from err
    return found
