"""What the entities of each domain can do: one table, read by planning, by error texts and by the tests."""

from collections.abc import Mapping

from ..spec import Domain
from .climate import CLIMATE, FAN, HUMIDIFIER, WATER_HEATER
from .helpers import (
    BUTTON,
    COUNTER,
    DATE,
    DATETIME,
    INPUT_DATETIME,
    INPUT_NUMBER,
    NUMBER,
    SELECT,
    SWITCHED,
    TEXT,
    TIME,
    TIMER,
)
from .lights import LIGHT
from .lists import TODO
from .machines import ALARM_CONTROL_PANEL, LAWN_MOWER, REMOTE, SIREN, VACUUM
from .media import MEDIA_PLAYER
from .openings import COVER, LOCK, VALVE
from .scenes import AUTOMATION, SCENE, SCRIPT

DOMAINS: Mapping[str, Domain] = {
    "alarm_control_panel": ALARM_CONTROL_PANEL,
    "automation": AUTOMATION,
    "button": BUTTON,
    "climate": CLIMATE,
    "counter": COUNTER,
    "cover": COVER,
    "date": DATE,
    "datetime": DATETIME,
    "fan": FAN,
    "humidifier": HUMIDIFIER,
    "input_boolean": SWITCHED,
    "input_button": BUTTON,
    "input_datetime": INPUT_DATETIME,
    "input_number": INPUT_NUMBER,
    "input_select": SELECT,
    "input_text": TEXT,
    "lawn_mower": LAWN_MOWER,
    "light": LIGHT,
    "lock": LOCK,
    "media_player": MEDIA_PLAYER,
    "number": NUMBER,
    "remote": REMOTE,
    "scene": SCENE,
    "script": SCRIPT,
    "select": SELECT,
    "siren": SIREN,
    "switch": SWITCHED,
    "text": TEXT,
    "time": TIME,
    "timer": TIMER,
    "todo": TODO,
    "vacuum": VACUUM,
    "valve": VALVE,
    "water_heater": WATER_HEATER,
}
"""A domain that is not listed is read-only."""
