"""What guards the home: alarm panels, locks, sirens."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from homeassistant.components.alarm_control_panel.const import AlarmControlPanelEntityFeature
from homeassistant.components.lock.const import LockEntityFeature, LockState
from homeassistant.components.siren.const import SirenEntityFeature
from homeassistant.const import STATE_OFF
from homeassistant.core import State

from ...turn.plan import DISARM, UNLOCK
from ..domain import Action, Domain, Field, Logged, Subject
from ..parameters import duration, fraction, option, text
from ..records import DOORS, LOCKED_UNLOCKED, OPEN_CLOSED, SWITCHABLE, at, either, exchanged, has, is_in
from ..tolerance import number_of

_CODE = {"code": Field(text)}
_ARMING = {
    "away": AlarmControlPanelEntityFeature.ARM_AWAY,
    "home": AlarmControlPanelEntityFeature.ARM_HOME,
    "night": AlarmControlPanelEntityFeature.ARM_NIGHT,
    "vacation": AlarmControlPanelEntityFeature.ARM_VACATION,
    "custom_bypass": AlarmControlPanelEntityFeature.ARM_CUSTOM_BYPASS,
}
_STRENGTH = {"custom_bypass": 1, "home": 2, "night": 3, "away": 4, "vacation": 4}
"""How much each mode watches: to go to one that watches less is to disarm a part."""
_LOUD = frozenset({"triggered", "pending"})
"""What arming would silence."""
# The generic services come from other paths than our tools: Home Assistant's own sentences call them.
_UNLOCKING = frozenset({"unlock", "open", "turn_off", "toggle"})
_DISARMING = frozenset({"alarm_disarm", "turn_off", "toggle"})
_ARMED = ("armed_away", "armed_home", "armed_night", "armed_vacation", "armed_custom_bypass")


def _silences(state: State | None, service: str, data: Mapping[str, Any]) -> str | None:
    """Return the reason where it silences a siren, also by a volume of nothing; one that is known to be off is not silenced."""
    is_mute = service == "turn_on" and "volume_level" in data and not number_of(data["volume_level"])
    if (service not in ("turn_off", "toggle") and not is_mute) or (state is not None and state.state == STATE_OFF):
        return None
    return DISARM


def _arm_mode(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Read `{"mode": "night"}` as the command it is."""
    if "mode" not in given:
        return given
    mode = str(given["mode"]).casefold().replace(" ", "_").removeprefix("armed_")
    return exchanged(given, "mode", "command", mode)


def _disarms(state: State | None, service: str, data: Mapping[str, Any]) -> str | None:
    """Return the reason where it takes protection away: it disarms, silences an alarm, or leaves less that is watched.

    A code that is given is a try: whether an alarm takes it for arming tells whether it would disarm.
    """
    if service in _DISARMING or data.get("code"):
        return DISARM
    if state is None or (service != "turn_on" and not service.startswith("alarm_arm_")):
        return None
    wanted = _STRENGTH.get(service.removeprefix("alarm_arm_"), 0)
    mode = str(state.attributes.get("next_state")) if state.state == "arming" else state.state
    now = _STRENGTH.get(mode.removeprefix("armed_"), max(_STRENGTH.values()) if state.state == "arming" else 0)
    return DISARM if state.state in _LOUD or wanted < now else None


DOMAINS = {
    "alarm_control_panel": Domain(
        called_like=("alarm_control_panel", "siren", ".safety"),
        actions={
            **{f"alarm_arm_{mode}": Action(f"alarm_arm_{mode}", bits, _CODE) for mode, bits in _ARMING.items()},
            "alarm_disarm": Action("alarm_disarm", fields=_CODE),
        },
        on=tuple(f"alarm_arm_{mode}" for mode in _ARMING),
        off=("alarm_disarm",),
        is_on=is_in(unless=("disarmed",)),
        value="mode",
        aliases={"arm_mode": "mode"},
        words={
            **{word: f"alarm_arm_{mode}" for mode in _ARMING for word in (mode, f"arm_{mode}")},
            "arm": "alarm_arm_away",
            **dict.fromkeys(("disarm", "disarmed"), "alarm_disarm"),
        },
        rewrite=_arm_mode,
        attributes=("changed_by",),
        rank=7,
        logged=Logged.ALWAYS,
        goals={
            **{f"alarm_arm_{mode}": at(f"armed_{mode}", under_way=("arming", "pending")) for mode in _ARMING},
            "alarm_disarm": at("disarmed"),
        },
        back={"disarmed": "alarm_disarm", **{f"armed_{mode}": f"alarm_arm_{mode}" for mode in _ARMING}},
        guards=True,
        sensitive=_disarms,
        harmless=frozenset({"alarm_trigger"}),
        becomes={
            **dict.fromkeys(("armed", "on"), _ARMED),
            **dict.fromkeys(("disarmed", "off"), ("disarmed",)),
            "triggered": ("triggered",),
        },
    ),
    "lock": Domain(
        called_like=DOORS,
        actions={
            "lock": Action("lock", fields=_CODE),
            "unlock": Action("unlock", fields=_CODE),
            "open": Action("open", LockEntityFeature.OPEN, _CODE),
        },
        on=("lock",),
        off=("unlock",),
        is_on=either(
            (LockState.LOCKED, LockState.LOCKING),
            (LockState.UNLOCKED, LockState.UNLOCKING, LockState.OPEN, LockState.OPENING),
        ),
        words={"close": "lock", "unlatch": "open"},
        states={**dict.fromkeys(("open", "opened"), "unlock"), **dict.fromkeys(("close", "closed"), "lock")},
        own={"turn_on": "lock", "turn_off": "unlock"},
        rank=4,
        logged=Logged.ALWAYS,
        goals={
            "lock": at("locked", under_way=("locking",)),
            "unlock": at("unlocked", "open", under_way=("unlocking", "opening")),
            "open": at("open", "unlocked", under_way=("unlocking", "opening")),
        },
        back={"locked": "lock", "unlocked": "unlock"},
        guards=True,
        sensitive=lambda _state, service, data: UNLOCK if service in _UNLOCKING or data.get("code") else None,
        comes_to=lambda _state, service, _data: ("unlock",) if service == "open" else (),
        keeps_out=True,
        told_as=LOCKED_UNLOCKED,
        not_told_as=OPEN_CLOSED,
        becomes={"locked": ("locked",), "unlocked": ("unlocked", "open", "opening")},
    ),
    "siren": replace(
        SWITCHABLE,
        actions={
            "turn_on": Action(
                "turn_on",
                SirenEntityFeature.TURN_ON,
                {
                    "tone": Field(option("available_tones"), has(SirenEntityFeature.TONES)),
                    "duration": Field(duration, has(SirenEntityFeature.DURATION)),
                    "volume_level": Field(fraction, has(SirenEntityFeature.VOLUME_SET)),
                },
            ),
            "turn_off": Action("turn_off", SirenEntityFeature.TURN_OFF),
            "toggle": Action("toggle", SirenEntityFeature.TURN_ON | SirenEntityFeature.TURN_OFF),
        },
        attributes=("tone",),
        logged=Logged.BY_USER,
        back={"off": "turn_off"},
        guards=True,
        sensitive=_silences,
        becomes={"triggered": ("on",), "on": ("on",), "off": ("off",)},
    ),
}
