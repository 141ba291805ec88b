"""Sensors: tokens, latency and cache of each endpoint; open questions, last actions, memories and the next wish of the home."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, override

from homeassistant.components.sensor import (
    RestoreSensor,
    SensorDeviceClass,
    SensorEntity,
    SensorEntityDescription,
    SensorStateClass,
)
from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import PERCENTAGE, EntityCategory, UnitOfTime
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .agent.runtime import HomeAgentConfigEntry
from .agent.wishes_by_hand import PlannedWish, async_listen_planned, planned
from .client.endpoint import Endpoint, EndpointStats
from .entity import EndpointEntity, async_have_entities, home_device
from .memory.record import MemoryType
from .policy.journal import JournalEntry
from .support.const import DOMAIN, SUBENTRY_LLM
from .turn.events import ACTION_EXECUTED, ACTION_UNDONE, CONFIRMATION_REQUESTED, CONFIRMATION_RESOLVED

PARALLEL_UPDATES = 0
MAX_ACTIONS = 10  # in attributes, and names of each


@dataclass(frozen=True, kw_only=True)
class EndpointSensorDescription(SensorEntityDescription):
    """A sensor with the source of its value."""

    value: Callable[[EndpointStats], int | None]


def _sensor(
    key: str, value: Callable[[EndpointStats], int | None], unit: str = "tokens", *, enabled: bool = True
) -> EndpointSensorDescription:
    return EndpointSensorDescription(
        key=key,
        translation_key=key,
        entity_category=EntityCategory.DIAGNOSTIC,
        entity_registry_enabled_default=enabled,
        device_class=SensorDeviceClass.DURATION if unit == UnitOfTime.MILLISECONDS else None,
        state_class=SensorStateClass.TOTAL_INCREASING if unit == "tokens" else SensorStateClass.MEASUREMENT,
        native_unit_of_measurement=unit,
        # For new sensors only; registered ones keep their unit, and so their statistics.
        suggested_unit_of_measurement=UnitOfTime.SECONDS if unit == UnitOfTime.MILLISECONDS else None,
        suggested_display_precision=1 if unit == UnitOfTime.MILLISECONDS else None,
        value=value,
    )


SENSORS = (
    _sensor("input_tokens", lambda stats: stats.usage.input_tokens),
    _sensor("output_tokens", lambda stats: stats.usage.output_tokens),
    _sensor("cached_tokens", lambda stats: stats.usage.cached_tokens, enabled=False),
    _sensor("cached_share", lambda stats: stats.newest.cached_share, PERCENTAGE),
    _sensor("first_token_latency", lambda stats: stats.first_delta_ms, UnitOfTime.MILLISECONDS),
    _sensor("request_duration", lambda stats: stats.duration_ms, UnitOfTime.MILLISECONDS),
)


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the sensors of the home, and those of each endpoint."""
    async_add_entities([OpenQuestions(entry), LastAction(entry), MemoryCount(entry), NextWish(entry)])
    endpoints = entry.runtime_data.endpoints

    def make(subentry: ConfigSubentry) -> list[EndpointSensor]:
        return [EndpointSensor(subentry, endpoints, description) for description in SENSORS]

    async_have_entities(hass, entry, SUBENTRY_LLM, endpoints, make, async_add_entities)


class EndpointSensor(EndpointEntity, RestoreSensor):
    """A figure of an endpoint. Counts of tokens go on after a restart; others show the last figure until there is a new one."""

    entity_description: EndpointSensorDescription

    def __init__(
        self,
        subentry: ConfigSubentry,
        endpoints: Mapping[str, Endpoint],
        description: EndpointSensorDescription,
    ) -> None:
        """Initialize the sensor of a figure."""
        super().__init__(subentry, endpoints)
        self._attr_unique_id = f"{subentry.subentry_id}_{description.key}"
        self.entity_description = description
        self._before: int | None = None  # its value when the entry was loaded

    @override
    async def async_added_to_hass(self) -> None:
        self.async_on_remove(self.endpoint.async_listen(self.async_write_ha_state))
        last = await self.async_get_last_sensor_data()
        if last is not None and isinstance(last.native_value, int | float) and self._before is None:
            self._before = round(last.native_value)

    @property
    @override
    def native_value(self) -> int | None:
        stats = self.endpoint.stats
        value = self.entity_description.value(stats)
        if self.state_class is SensorStateClass.TOTAL_INCREASING:
            return (value or 0) + (self._before or 0)
        return value if stats.last_success is not None else self._before


class HomeSensor(SensorEntity):
    """A sensor about all agents. Disabled by default: it shows questions and actions of all users."""

    _attr_has_entity_name = True
    _attr_should_poll = False
    _attr_entity_registry_enabled_default = False
    key: str
    changes: tuple[str, ...] = ()  # events that may change it

    def __init__(self, entry: HomeAgentConfigEntry) -> None:
        """Initialize the sensor of an entry."""
        self._runtime = entry.runtime_data
        self._attr_unique_id = f"{entry.entry_id}_{self.key}"
        self._attr_translation_key = self.key
        self.entity_id = f"sensor.{DOMAIN}_{self.key}"  # the same in every home: examples name them
        self._attr_device_info = home_device(entry)

    @override
    async def async_added_to_hass(self) -> None:
        changed = callback(lambda _event: self.async_write_ha_state())
        for name in self.changes:
            self.async_on_remove(self.hass.bus.async_listen(name, changed))


class OpenQuestions(HomeSensor):
    """Open confirmations."""

    key = "open_questions"
    _unrecorded_attributes = frozenset({"questions"})
    changes = (CONFIRMATION_REQUESTED, CONFIRMATION_RESOLVED)

    @property
    @override
    def native_value(self) -> int:
        return len(self._runtime.policy.confirmations.open())

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return the questions, the oldest first."""
        questions = [
            {
                "request_id": item.id,
                "agent": item.turn.profile.name,
                "question": item.question,
                "expires": item.expires.isoformat(),
            }
            for item in self._runtime.policy.confirmations.open()
        ]
        return {"questions": questions}


class LastAction(HomeSensor):
    """Time of the last action, and the last actions; no texts."""

    key = "last_action"
    _attr_device_class = SensorDeviceClass.TIMESTAMP
    _unrecorded_attributes = frozenset({"actions"})
    changes = (ACTION_EXECUTED, ACTION_UNDONE)

    @property
    @override
    def native_value(self) -> datetime | None:
        return next((action.when for action in self._newest()), None)

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return the last actions, the newest first."""
        actions = [
            {
                "action_id": action.id,
                "when": action.when.isoformat(),
                "agent": action.profile,
                "actions": [effect.action for effect in action.effects][:MAX_ACTIONS] or [action.tool],
                "entity_ids": [*action.before][:MAX_ACTIONS],
                "success": action.success,
                "undone": action.undone is not None,
            }
            for action in self._newest()
        ]
        return {"actions": actions}

    def _newest(self) -> list[JournalEntry]:
        return self._runtime.journal.newest_first(lambda _: True)[:MAX_ACTIONS]


class MemoryCount(HomeSensor):
    """Number of active memories by type; no texts."""

    key = "memories"
    _attr_state_class = SensorStateClass.MEASUREMENT
    _attr_entity_category = EntityCategory.DIAGNOSTIC

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        self.async_on_remove(self._runtime.memories.async_listen(lambda _: self.async_write_ha_state()))

    @property
    @override
    def available(self) -> bool:
        """Return whether memory is on: while it is off, numbers of stored memories are not shown."""
        return self._runtime.memories.settings.enabled

    @property
    @override
    def native_value(self) -> int:
        return sum(self._runtime.memories.by_type.values())

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return the numbers by type."""
        counts = self._runtime.memories.by_type
        return {kind.value: counts.get(kind, 0) for kind in MemoryType}


class NextWish(HomeSensor):
    """Time of the next wish that has one, with its words, and how many wait."""

    key = "next_wish"
    _attr_device_class = SensorDeviceClass.TIMESTAMP
    _unrecorded_attributes = frozenset({"wish"})

    @override
    async def async_added_to_hass(self) -> None:
        await super().async_added_to_hass()
        self.async_on_remove(async_listen_planned(self.hass, self.async_write_ha_state))

    def _next(self) -> PlannedWish | None:
        return next((wish for wish in planned(self.hass) if wish.when.at is not None), None)

    @property
    @override
    def native_value(self) -> datetime | None:
        wish = self._next()
        return wish.when.at if wish is not None else None

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return its words and kind, and how many wishes wait, those for an event included."""
        wish = self._next()
        return {
            "wish": wish.words if wish is not None else None,
            "kind": wish.kind.value if wish is not None else None,
            "count": len(planned(self.hass)),
        }
