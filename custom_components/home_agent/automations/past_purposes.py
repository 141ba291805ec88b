"""Conditions that an integration brings, at a moment of the past: for a purpose, such as `light.is_on`, and of devices."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import override

from homeassistant.components.device_automation import DeviceAutomationType, async_get_device_automation_platform
from homeassistant.core import State
from homeassistant.helpers.automation import get_relative_description_key
from homeassistant.helpers.condition import ConditionConfig, EntityConditionBase
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.loader import async_get_integration

from .past import NotReplayable
from .past_answers import MAX_TOLD, UNKNOWN, PastAnswer, PastCondition, Variables, quoted


class DeviceCondition(PastCondition):
    """A condition of a device: its integration makes one of a state of it."""

    _checker: Callable[..., bool | None]

    @override
    async def async_prepare(self) -> None:
        config = dict(self.options())
        self._period = config.pop("for", None)
        platform = await async_get_device_automation_platform(
            self.home, config["domain"], DeviceAutomationType.CONDITION
        )
        self._checker = platform.async_condition_from_config(self.home, config)

    @override
    def _check(self, variables: Variables) -> PastAnswer:
        entity_id = self.options().get("entity_id")
        is_so = self._checker(self.home, dict(variables)) is not False
        state = self.home.states.current.get(str(entity_id))
        told = f"{entity_id} was {quoted(state.state)}" if state else "the device"
        if not is_so:
            return PastAnswer(False, f"{told}, not '{self.options().get('type')}'")
        if self._period is not None and state is not None and (short := self.lasted(state, self._period, variables)):
            return PastAnswer(False, short)
        return PastAnswer(True, told)


class PurposeCondition(PastCondition):
    """A condition for a purpose, such as `light.is_on`: its own class says which states are meant."""

    _checker: EntityConditionBase

    @override
    async def async_prepare(self) -> None:
        key = str(self.config["condition"])
        domain = key.partition(".")[0]
        integration = await async_get_integration(self.home, domain)
        try:
            platform = await integration.async_get_platform("condition")
            kind = (await platform.async_get_conditions(self.home))[get_relative_description_key(domain, key)]
        except (ImportError, AttributeError, KeyError) as err:
            raise NotReplayable(f"{key} cannot be looked up in the past") from err
        if not issubclass(kind, EntityConditionBase):
            raise NotReplayable(f"{key} cannot be looked up in the past")
        self._checker = kind(
            self.home, ConditionConfig(options=self.config.get("options"), target=self.config.get("target"))
        )
        self._since: dict[str, datetime] = {}
        options = self.config.get("options") or {}
        self._period: timedelta | None = options.get("for")
        self._is_any = options.get("behavior", "any") == "any"
        self._selection = TargetSelection(self.config["target"])

    def _targets(self) -> set[str]:
        found = async_extract_referenced_entity_ids(
            self.home,
            self._selection,
            expand_group=False,
            primary_entities_only=getattr(self._checker, "_primary_entities_only", True),
        )
        return self._checker.entity_filter(found.referenced | found.indirectly_referenced)

    def _counts(self, state: State) -> bool:
        counts = getattr(self._checker, "_should_include", lambda one: one.state not in UNKNOWN)
        return bool(counts(state))

    @override
    def begin(self) -> None:
        self._since.clear()
        if self._period:
            for entity_id in self._targets():
                self.changed(entity_id, self.home.states.current.get(entity_id))

    @override
    def changed(self, entity_id: str, state: State | None) -> None:
        if not self._period or entity_id not in self._targets():
            return
        if state is None or not self._counts(state) or not self._checker.is_valid_state(state):
            self._since.pop(entity_id, None)
        elif entity_id not in self._since:
            of_state = getattr(self._checker, "_state_valid_since", lambda one: one.last_changed)
            self._since[entity_id] = of_state(state)

    @override
    def _check(self, variables: Variables) -> PastAnswer:
        answers = [
            self._of(state)
            for entity_id in sorted(self._targets())
            if (state := self.home.states.get(entity_id)) is not None and self._counts(state)
        ]
        told = ", ".join(answer.because for answer in answers[:MAX_TOLD]) or "none of them had a state"
        is_so = (any if self._is_any else all)(bool(answer.result) for answer in answers)
        return PastAnswer(is_so, told + ("" if is_so else f", not as '{self.config['condition']}' asks"))

    def _of(self, state: State) -> PastAnswer:
        told = f"{state.entity_id} was {quoted(state.state)}"
        if not self._checker.is_valid_state(state):
            return PastAnswer(False, told)
        if not self._period:
            return PastAnswer(True, told)
        since = self._since.get(state.entity_id)
        if not getattr(self._checker, "_needs_duration_tracking", True):
            since = state.last_changed
        lasted = self.now - since if since is not None else timedelta()
        return PastAnswer(lasted >= self._period, f"{told} for {str(lasted).partition('.')[0]}")
