"""Working entities for the homes of a folder: what a service does to them is what it does to real ones, at once.

Each is put into any state with `put`, which is how one request after another finds the home as its own setup says.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, override

from homeassistant.components.climate import (
    ATTR_TARGET_TEMP_HIGH,
    ATTR_TARGET_TEMP_LOW,
    ClimateEntity,
    ClimateEntityFeature,
    HVACAction,
    HVACMode,
)
from homeassistant.components.cover import ATTR_POSITION, CoverEntity, CoverEntityFeature
from homeassistant.components.fan import FanEntity, FanEntityFeature
from homeassistant.components.humidifier import HumidifierEntity
from homeassistant.components.light import ColorMode, LightEntity
from homeassistant.components.lock import LockEntity
from homeassistant.components.media_player import MediaPlayerEntity, MediaPlayerEntityFeature, MediaPlayerState
from homeassistant.components.notify import NotifyEntity, NotifyEntityFeature
from homeassistant.components.scene import Scene
from homeassistant.components.switch import SwitchEntity
from homeassistant.components.todo import TodoItem, TodoItemStatus, TodoListEntity, TodoListEntityFeature
from homeassistant.components.vacuum import StateVacuumEntity, VacuumActivity, VacuumEntityFeature
from homeassistant.components.valve import ValveEntity, ValveEntityFeature
from homeassistant.config_entries import ConfigEntry, ConfigFlow
from homeassistant.const import ATTR_TEMPERATURE, STATE_UNAVAILABLE, STATE_UNKNOWN, UnitOfTemperature
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.entity import Entity, ToggleEntity
from homeassistant.helpers.entity_platform import AddEntitiesCallback
from pytest_homeassistant_custom_component.common import MockModule, MockPlatform, mock_integration, mock_platform

PLATFORM = "evaluation"
_FULL = 255  # the brightness of a light that is turned on without one

type Row = Mapping[str, Any]
"""An entity of a home: `entity_id`, `name`, `domain`, `device_class`, `state`, `attributes`."""


class _Flow(ConfigFlow, domain=PLATFORM):
    """Home Assistant sets no entry up that has none."""


class Device(Entity):
    """What all have in common."""

    _attr_should_poll = False
    flags: ClassVar[type[int]] = int
    """What the number of the features of a row stands for."""

    def __init__(self, row: Row) -> None:
        """Be the entity of one row."""
        self.row = row
        self.entity_id = row["entity_id"]
        self._attr_unique_id = row["entity_id"]
        self._attr_name = row["name"]
        self._attr_device_class = row["device_class"]
        if row.get("device"):
            self._attr_device_info = dr.DeviceInfo(identifiers={(PLATFORM, row["device"])})
        attributes = row["attributes"]
        if (features := attributes.get("supported_features")) is not None:
            self._attr_supported_features = self.flags(features)
        self.put(row["state"], attributes)

    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        """Be in this state; what is not said is as in the row."""
        raise NotImplementedError

    def become(self, state: str, attributes: Mapping[str, Any]) -> None:
        """Be in this state, or be unavailable, and tell it."""
        self._attr_available = state != STATE_UNAVAILABLE
        if self._attr_available:
            self.put(state, attributes)
        self.written()

    def written(self) -> None:
        """Tell what has become of it."""
        self.async_write_ha_state()


class Toggled(Device, ToggleEntity):
    """What is on or off."""

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        self._attr_is_on = None if state == STATE_UNKNOWN else state == "on"

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        self._attr_is_on = True
        self.written()

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        self._attr_is_on = False
        self.written()


class Light(Toggled, LightEntity):
    """A light."""

    _colours = ("rgb_color", "rgbw_color", "rgbww_color", "hs_color", "xy_color", "color_temp_kelvin")

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        modes = {ColorMode(mode) for mode in attributes.get("supported_color_modes") or ["onoff"]}
        self._attr_supported_color_modes = modes
        self._attr_color_mode = ColorMode.ONOFF if ColorMode.ONOFF in modes else min(modes)
        self._attr_is_on = state == "on"
        self._attr_brightness = attributes.get("brightness")
        if self._attr_is_on and self._attr_brightness is None and ColorMode.ONOFF not in modes:
            self._attr_brightness = _FULL
        for colour in self._colours:
            setattr(self, f"_attr_{colour}", attributes.get(colour))
        if self._attr_color_mode == ColorMode.RGBW and self._attr_rgbw_color is None:
            self._attr_rgbw_color = (255, 255, 255, 255)

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        self._attr_is_on = True
        self._attr_brightness = kwargs.get("brightness") or self._attr_brightness or _FULL
        for colour in self._colours:
            if colour in kwargs:
                setattr(self, f"_attr_{colour}", kwargs[colour])
        self.written()


class Switch(Toggled, SwitchEntity):
    """A switch."""


class Humidifier(Toggled, HumidifierEntity):
    """A humidifier."""

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        super().put(state, attributes)
        self._attr_target_humidity = attributes.get("humidity")

    @override
    async def async_set_humidity(self, humidity: int) -> None:
        self._attr_target_humidity = humidity
        self.written()


class Fan(Device, FanEntity):
    """A fan."""

    flags = FanEntityFeature

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        if step := attributes.get("percentage_step"):
            self._attr_speed_count = max(1, round(100 / step))
        self._attr_oscillating = bool(attributes.get("oscillating"))
        known = attributes.get("percentage") or 0
        self._attr_percentage = 0 if state == "off" else known or 100

    @override
    async def async_set_percentage(self, percentage: int) -> None:
        self._attr_percentage = percentage
        self.written()

    @override
    async def async_turn_on(self, percentage: int | None = None, preset_mode: str | None = None, **kwargs: Any) -> None:
        self._attr_percentage = percentage if percentage is not None else self._attr_percentage or 100
        self.written()

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        self._attr_percentage = 0
        self.written()

    @override
    async def async_oscillate(self, oscillating: bool) -> None:
        self._attr_oscillating = oscillating
        self.written()


class Cover(Device, CoverEntity):
    """A cover that is where it was sent at once."""

    flags = CoverEntityFeature

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        self._attr_is_opening, self._attr_is_closing = state == "opening", state == "closing"
        is_open = state in ("open", "opening", "closing")
        self._attr_is_closed = not is_open
        self._attr_current_cover_position = None
        if CoverEntityFeature.SET_POSITION in (self.supported_features or CoverEntityFeature(0)):
            known = attributes.get("current_position")
            fits = known is not None and (known > 0) == is_open
            self._attr_current_cover_position = known if fits else 100 if is_open else 0

    def _stand(self, position: int) -> None:
        self._attr_is_opening = self._attr_is_closing = False
        self._attr_is_closed = position == 0
        if self._attr_current_cover_position is not None:
            self._attr_current_cover_position = position
        self.written()

    @override
    async def async_open_cover(self, **kwargs: Any) -> None:
        self._stand(100)

    @override
    async def async_close_cover(self, **kwargs: Any) -> None:
        self._stand(0)

    @override
    async def async_set_cover_position(self, **kwargs: Any) -> None:
        self._stand(kwargs[ATTR_POSITION])

    @override
    async def async_stop_cover(self, **kwargs: Any) -> None:
        self._attr_is_opening = self._attr_is_closing = False
        self.written()


class Valve(Device, ValveEntity):
    """A valve that is where it was sent at once."""

    flags = ValveEntityFeature

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        self._attr_reports_position = ValveEntityFeature.SET_POSITION in (
            self.supported_features or ValveEntityFeature(0)
        )
        self._attr_is_closed = state != "open"
        known = attributes.get("current_position")
        fits = known is not None and (known > 0) == (state == "open")
        self._attr_current_valve_position = (
            None if not self._attr_reports_position else known if fits else 0 if self._attr_is_closed else 100
        )

    def _stand(self, position: int) -> None:
        self._attr_is_closed = position == 0
        if self._attr_reports_position:
            self._attr_current_valve_position = position
        self.written()

    @override
    async def async_open_valve(self, **kwargs: Any) -> None:
        self._stand(100)

    @override
    async def async_close_valve(self, **kwargs: Any) -> None:
        self._stand(0)

    @override
    async def async_set_valve_position(self, position: int) -> None:
        self._stand(position)

    @override
    async def async_stop_valve(self) -> None:
        self.written()


class Lock(Device, LockEntity):
    """A lock."""

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        self._attr_is_locked = None if state == STATE_UNKNOWN else state == "locked"
        self._attr_is_jammed, self._attr_is_open = state == "jammed", state == "open"
        self._attr_is_locking, self._attr_is_unlocking = state == "locking", state == "unlocking"
        self._attr_is_opening = state == "opening"

    def _be(self, state: str) -> None:
        self.put(state, {})
        self.written()

    @override
    async def async_lock(self, **kwargs: Any) -> None:
        self._be("locked")

    @override
    async def async_unlock(self, **kwargs: Any) -> None:
        self._be("unlocked")


_TARGET = "_attr_native_target_temperature"  # from 2026.11 on; the other names may not be written there
_TARGET = _TARGET if hasattr(ClimateEntity, _TARGET) else "_attr_target_temperature"
_TARGETS = (
    (ATTR_TEMPERATURE, _TARGET),
    (ATTR_TARGET_TEMP_LOW, f"{_TARGET}_low"),
    (ATTR_TARGET_TEMP_HIGH, f"{_TARGET}_high"),
)


class Climate(Device, ClimateEntity):
    """A thermostat."""

    _attr_temperature_unit = UnitOfTemperature.CELSIUS

    flags = ClimateEntityFeature

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        self._attr_hvac_modes = [HVACMode(mode) for mode in attributes.get("hvac_modes") or ["off", "heat"]]
        known = state in {mode.value for mode in HVACMode}
        self._attr_hvac_mode = HVACMode(state) if known else HVACMode.OFF
        self._attr_fan_modes, self._attr_fan_mode = ["auto", "low", "high"], "auto"
        self._attr_min_temp = attributes.get("min_temp", 5)
        self._attr_max_temp = attributes.get("max_temp", 90)
        for key, name in _TARGETS:
            setattr(self, name, attributes.get(key))
        self._attr_current_temperature = attributes.get("current_temperature")
        action = attributes.get("hvac_action")
        self._attr_hvac_action = HVACAction(action) if action in {item.value for item in HVACAction} else None

    @override
    async def async_set_temperature(self, **kwargs: Any) -> None:
        for key, name in _TARGETS:
            if key in kwargs:
                setattr(self, name, kwargs[key])
        self._attr_hvac_mode = kwargs.get("hvac_mode", self._attr_hvac_mode)
        self.written()

    @override
    async def async_set_hvac_mode(self, hvac_mode: HVACMode) -> None:
        self._attr_hvac_mode = hvac_mode
        self.written()

    @override
    async def async_set_fan_mode(self, fan_mode: str) -> None:
        self._attr_fan_mode = fan_mode
        self.written()

    @override
    async def async_turn_on(self) -> None:
        modes = [mode for mode in self._attr_hvac_modes if mode is not HVACMode.OFF]
        if self._attr_hvac_mode is HVACMode.OFF and modes:
            self._attr_hvac_mode = modes[0]
        self.written()

    @override
    async def async_turn_off(self) -> None:
        self._attr_hvac_mode = HVACMode.OFF
        self.written()


class MediaPlayer(Device, MediaPlayerEntity):
    """A player with a list of titles."""

    flags = MediaPlayerEntityFeature

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        known = state in {item.value for item in MediaPlayerState}
        self._attr_state = MediaPlayerState(state) if known else MediaPlayerState.IDLE
        self._attr_volume_level = attributes.get("volume_level")
        self._attr_is_volume_muted = bool(attributes.get("is_volume_muted"))
        self._attr_media_track = attributes.get("media_track")

    def _be(self, state: MediaPlayerState) -> None:
        self._attr_state = state
        self.written()

    @override
    async def async_turn_on(self) -> None:
        self._be(MediaPlayerState.IDLE)

    @override
    async def async_turn_off(self) -> None:
        self._be(MediaPlayerState.OFF)

    @override
    async def async_media_play(self) -> None:
        self._be(MediaPlayerState.PLAYING)

    @override
    async def async_media_pause(self) -> None:
        self._be(MediaPlayerState.PAUSED)

    @override
    async def async_media_stop(self) -> None:
        self._be(MediaPlayerState.IDLE)

    @override
    async def async_media_next_track(self) -> None:
        self._attr_media_track = (self._attr_media_track or 0) + 1
        self.written()

    @override
    async def async_media_previous_track(self) -> None:
        self._attr_media_track = (self._attr_media_track or 0) - 1
        self.written()

    @override
    async def async_set_volume_level(self, volume: float) -> None:
        self._attr_volume_level = volume
        self.written()

    @override
    async def async_mute_volume(self, mute: bool) -> None:
        self._attr_is_volume_muted = mute
        self.written()

    @override
    async def async_play_media(self, media_type: str, media_id: str, **kwargs: Any) -> None:
        self._be(MediaPlayerState.PLAYING)


class Vacuum(Device, StateVacuumEntity):
    """A vacuum."""

    flags = VacuumEntityFeature

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        known = state in {item.value for item in VacuumActivity}
        self._attr_activity = VacuumActivity(state) if known else VacuumActivity.IDLE

    def _be(self, activity: VacuumActivity) -> None:
        self._attr_activity = activity
        self.written()

    @override
    async def async_start(self) -> None:
        self._be(VacuumActivity.CLEANING)

    @override
    async def async_pause(self) -> None:
        self._be(VacuumActivity.PAUSED)

    @override
    async def async_stop(self, **kwargs: Any) -> None:
        self._be(VacuumActivity.IDLE)

    @override
    async def async_return_to_base(self, **kwargs: Any) -> None:
        self._be(VacuumActivity.RETURNING)


class TodoList(Device, TodoListEntity):
    """A list of things to do, or to buy."""

    flags = TodoListEntityFeature

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        self._attr_todo_items = [
            TodoItem(summary=text, uid=text, status=TodoItemStatus.NEEDS_ACTION) for text in attributes.get("items", ())
        ]

    def _items(self) -> list[TodoItem]:
        return list(self._attr_todo_items or ())

    @override
    async def async_create_todo_item(self, item: TodoItem) -> None:
        item.uid, item.status = item.summary, TodoItemStatus.NEEDS_ACTION
        self._attr_todo_items = [*self._items(), item]
        self.written()

    @override
    async def async_update_todo_item(self, item: TodoItem) -> None:
        self._attr_todo_items = [item if item.uid == known.uid else known for known in self._items()]
        self.written()

    @override
    async def async_delete_todo_items(self, uids: list[str]) -> None:
        self._attr_todo_items = [known for known in self._items() if known.uid not in uids]
        self.written()


class Mood(Device, Scene):
    """A scene."""

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        """Remember nothing: a scene has no state but when it was last asked for."""

    @override
    async def async_activate(self, **kwargs: Any) -> None:
        """Be activated; Home Assistant notes when."""


class Phone(Device, NotifyEntity):
    """What messages are sent to."""

    flags = NotifyEntityFeature

    @override
    def put(self, state: str, attributes: Mapping[str, Any]) -> None:
        """Remember nothing: its state is when something was sent last."""

    @override
    async def async_send_message(self, message: str, title: str | None = None) -> None:
        """Be sent a message; Home Assistant notes when."""


KINDS: Mapping[str, type[Device]] = {
    "climate": Climate,
    "cover": Cover,
    "fan": Fan,
    "humidifier": Humidifier,
    "light": Light,
    "lock": Lock,
    "media_player": MediaPlayer,
    "notify": Phone,
    "scene": Mood,
    "switch": Switch,
    "todo": TodoList,
    "vacuum": Vacuum,
    "valve": Valve,
}
"""By domain; what is not here is a state that no service changes."""


async def async_add(hass: HomeAssistant, entry: ConfigEntry, rows: Sequence[Row]) -> Mapping[str, Device]:
    """Bring the entities of a home to life that there is a kind for; return them by entity id.

    The entry has to be one of the domain `PLATFORM`, and not set up.
    """
    devices = {row["entity_id"]: KINDS[row["domain"]](row) for row in rows if row["domain"] in KINDS}
    domains = sorted({row["domain"] for row in rows if row["domain"] in KINDS})

    async def set_up(hass: HomeAssistant, entry: ConfigEntry) -> bool:
        await hass.config_entries.async_forward_entry_setups(entry, domains)
        return True

    # A custom one: it may say that it is set up, which one of Home Assistant's own must not from 2026.11 on.
    mock_integration(hass, MockModule(PLATFORM, async_setup_entry=set_up), built_in=False)
    mock_platform(hass, f"{PLATFORM}.config_flow", None)
    for domain in domains:
        own = [device for device in devices.values() if device.row["domain"] == domain]

        async def add(
            hass: HomeAssistant,
            entry: ConfigEntry,
            async_add_entities: AddEntitiesCallback,
            own: Sequence[Device] = own,
        ) -> None:
            async_add_entities(own)

        mock_platform(hass, f"{PLATFORM}.{domain}", MockPlatform(async_setup_entry=add))
    await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    return devices
