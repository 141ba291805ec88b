"""What names tell: of an action, that it stops, deletes, spends, reaches people, runs code or opens; of a switch, that it is a door.

An integration that is not known here is judged by the words in the names of its actions. What opens or disarms by the kind of the
entity that it is called for is in judgement.py.
"""

from collections.abc import Mapping
from functools import lru_cache
import re
from typing import Any

from ..turn.plan import DESTRUCTIVE, DISARM, OPEN_DOOR
from .domains import DOMAINS, UNKNOWN

_INTEGRATIONS = frozenset(
    {
        "ai_task", "alexa_devices", "androidtv", "appdaemon", "backup", "conversation", "downloader", "hassio",
        "home_agent", "ifttt", "modbus", "mqtt", "netdaemon", "nodered", "notify", "profiler", "pyscript", "python_script",
        "rest_command", "shell_command", "telegram_bot", "update", "zha", "zwave_js",
    }
)  # fmt: skip
"""Every action of these: the machine and its updates, programs and requests of the owner's, messages to people and networks."""
_DESTRUCTIVE = frozenset(
    {
        ("alert", "toggle"), ("alert", "turn_off"), ("camera", "disable_motion_detection"), ("camera", "turn_off"),
        ("device_tracker", "see"), ("homeassistant", "set_location"),
        ("homeassistant", "stop"), ("logger", "set_default_level"), ("logger", "set_level"), ("recorder", "disable"),
        ("shopping_list", "clear_completed_items"),
    }
)  # fmt: skip
_HARMLESS = frozenset({("wake_on_lan", "send_magic_packet")})
_GUARDS = frozenset(
    {
        "abode", "akuvox", "august", "bticino", "comelit", "dormakaba_dkey", "doorbird", "egardia", "elkm1", "elmax",
        "envisalink", "fermax", "igloohome", "iseo_argo_ble", "keymaster", "kiwi", "loqed", "lupusec", "myq", "nuki",
        "nx584", "paradox", "prosegur", "ratgdo", "risco", "satel_integra", "schlage", "sesame", "sia", "simplisafe", "spc",
        "tedee", "totalconnect", "unifi_access", "verisure", "visonic", "yale", "yalexs_ble",
    }
)  # fmt: skip
"""Integrations of locks, alarms, intercoms and gates; others of that kind tell it by their names."""
_GUARD = re.compile(
    r"(?<![^_])(?:alarm|alarms|alarmo|alarmdecoder|ialarm|door|doors|garage|gate|intercom|locks?)(?![^_])|(?<![cb])lock$"
)


def _words(*patterns: str) -> re.Pattern[str]:
    """Return the pattern of one of these as a whole part of a name."""
    return re.compile(rf"(?<![^_])(?:{'|'.join(patterns)})(?![^_])")


_VERBS = _words(
    "call", "delete", "erase", "purge", "purchase", "order", "reboot", "reload", "remove", "reset", "restart", "send", "shutdown",
    "uninstall", "wipe",
)  # fmt: skip
"""Parts of names of actions that cannot be undone, or that reach beyond the home."""
_CODE = _words("api", "command", "eval", "exec", "execute", "javascript", "raw", "shell", "ssh")
"""Parts of names of actions that run what they are given."""
_DOOR = r"(?:barrier|doors?|door_lock|entrance|garage|garage_door|gate|latch|locks?|main_door|front_door|valve)"
_OPENS = _words(
    "auto_?lock", "buzz", "buzz_in", "bypass", "disarm", "key_?press", "lock_n_go", "open_sesame", "unlatch", "unlock",
    rf"(?:open|release|trigger|toggle|pulse|press)_(?:the_)?{_DOOR}",
    rf"{_DOOR}(?:_\w{{1,40}})?_(?:open|opener|release|trigger|toggle|pulse|unlocked)",
    r"(?:disable|deactivate|silence|mute)_(?:the_)?(?:alarms?|sirens?)", r"(?:alarms?|sirens?)_(?:off|disable|silence|mute)",
    r"stop_ringtone",
)  # fmt: skip
"""Parts of names of actions that open something, or silence what warns."""
_CODES = re.compile(
    r"credential|lock_user|user_?code|(?<![^_])(?:set|clear|add|create|change|update|enable|disable)_(?:\w{1,40}_)?(?:pin|codes?|key_?codes?|pass_?codes?|fingerprints?)(?![^_])"
)
"""Who can open a lock from now on, unless it is only told (`get_`)."""
_TELLS = re.compile(r"(?:get|list|query|read|refresh)_|update_entity$|open_cache$")
_TELLING = frozenset({"history", "logbook", "persistent_notification", "statistics", "system_log", "tts"})
"""Integrations whose actions change nothing of an entity that they name."""
_CLOSES = re.compile(r"(?:arm|close|lock)(?:_\w+)?|\w+_(?:arm|close|lock)")
"""Names of actions that close something."""
MAX_NAME = 200  # characters of a name that are looked at; no action has a longer one
_SPEAKING = frozenset({"assist_satellite", "chime_tts", "tts"})
"""Integrations whose actions speak in a room, where something may listen for a yes."""


def only_tells(domain: str, service: str) -> bool:
    """Return whether an action by its name changes nothing: it reads, or writes into a log."""
    return domain in _TELLING or _TELLS.match(service) is not None


def speaks(domain: str) -> bool:
    """Return whether the actions of an integration speak what they are given."""
    return domain in _SPEAKING


@lru_cache(maxsize=1024)
def guards(domain: str) -> bool:
    """Return whether an integration is one of locks, alarms, intercoms or gates, as far as its name tells it."""
    return domain not in DOMAINS and "clock" not in domain and (domain in _GUARDS or _GUARD.search(domain) is not None)


@lru_cache(maxsize=1024)
def is_sensitive_service(domain: str, service: str) -> bool:
    """Return whether an action needs the user's yes by its name alone."""
    record = DOMAINS.get(domain, UNKNOWN)
    if service in record.harmless or (domain, service) in _HARMLESS:
        return False
    if domain in _INTEGRATIONS or service in record.destructive or (domain, service) in _DESTRUCTIVE:
        return True
    if len(service) > MAX_NAME or _VERBS.search(service) is not None:
        return True
    if service.startswith("get_") or service in {action.service for action in record.actions.values()}:
        return False
    return (
        _OPENS.search(service) is not None
        or _CODE.search(service) is not None
        or _CODES.search(service) is not None
        or (guards(domain) and not only_tells(domain, service) and _CLOSES.fullmatch(service) is None)
    )


_SWITCHES = frozenset({"button", "input_boolean", "input_button", "input_select", "number", "select", "switch"})
"""Domains whose entities may be a relay or a helper that opens something."""
_DOORS = (
    r"(?:barrier|brama|cancello|door|doors|einfahrtstor|entrance|garage|garage_door|garagentor|gate|haustuer|haustur|hoftor|poort|portail|"
    r"porton|tor|tuer|valve)"
)
_MOVES = r"(?:buzzer|impulse?|impuls|oeffner|offner|lock_mode|mode|open|opener|pulse|relais|relay|release|strike|toggle|trigger|unlock)"
_OPENERS = _words(
    rf"{_DOORS}(?:_\w{{1,40}})?_{_MOVES}", rf"{_MOVES}_(?:the_)?{_DOORS}", "auto_?lock", "door_?opener", "garage_door$", "gate$",
    "tuer_?oeffner", "tur_?offner", "unlatch", "unlock", r"(?:front|back|main|entry)_door$", r"door_?lock$", "garagentor$", "hoftor$",
)  # fmt: skip
"""Parts of the names of relays and helpers that open something. Names are in any language; entity ids have no accents."""
_NO_OPENERS = re.compile(
    r"(?:alert|camera|chime|heater|lamp|led|lights?|notification|reminder|sensor|sound)$|dishwasher|dryer|freezer|fridge|oven|wash"
)
"""Parts of names that only have a door in them."""
_WATCHERS = _words(
    r"(?:alarm|siren)_(?:\w{1,40}_)?(?:arm|armed|bypass|delay|disarm|mode|mute|off|silence)", "siren_volume",
    r"(?:disarm|mute|silence)_(?:\w{1,40}_)?(?:alarms?|alerts?|sirens?|warnings?)", "motion_detection",
)  # fmt: skip
"""Parts of the names of helpers that disarm or silence something."""
_WIPERS = _words("delete", "erase", "factory_reset", "reset_map", "wipe")


def reason_of_name(entity_id: str, service: str, data: Mapping[str, Any]) -> str | None:
    """Return why changing a switch, a helper or a remote control needs the user's yes, by its name; None if it does not."""
    domain, _, name = entity_id.partition(".")
    if domain == "remote" and service == "send_command":
        name = "_".join(re.findall(r"\w+", f"{data.get('device', '')} {data.get('command', '')}".casefold()[:MAX_NAME]))
    elif domain not in _SWITCHES:
        return None
    return _told(name[:MAX_NAME])


@lru_cache(maxsize=1024)
def _told(name: str) -> str | None:
    if _OPENERS.search(name) is not None and _NO_OPENERS.search(name) is None:
        return OPEN_DOOR
    if _WIPERS.search(name) is not None:
        return DESTRUCTIVE
    return DISARM if "clock" not in name and _WATCHERS.search(name) is not None else None
