"""What the journal keeps of an entity: the attributes that can be restored, per domain."""

from collections.abc import Mapping

COLOURS = ("color_temp_kelvin", "hs_color", "rgb_color", "rgbw_color", "rgbww_color", "xy_color")

KEPT: Mapping[str, tuple[str, ...]] = {
    "climate": (
        "temperature", "target_temp_low", "target_temp_high", "preset_mode", "fan_mode", "swing_mode",
        "swing_horizontal_mode", "humidity",
    ),
    "cover": ("current_position", "current_tilt_position"),
    "fan": ("percentage", "preset_mode", "oscillating", "direction"),
    "humidifier": ("humidity", "mode"),
    "light": ("brightness", "color_mode", *COLOURS, "effect"),
    "media_player": ("volume_level", "is_volume_muted", "source", "sound_mode", "shuffle", "repeat"),
    "vacuum": ("fan_speed",),
    "valve": ("current_position",),
    "water_heater": ("temperature", "operation_mode", "away_mode"),
}  # fmt: skip
