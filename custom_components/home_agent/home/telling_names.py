"""What names tell: of an action, that it stops, deletes, spends, reaches people, runs code or opens; of an entity, that it does.

An integration that is not known here is judged by the words in the names of its actions. What opens or disarms by the kind of the
entity that it is called for is in judgement.py.
"""

from collections.abc import Mapping
from functools import lru_cache
import re
from typing import Any

from homeassistant.util import slugify

from ..turn.plan import DESTRUCTIVE, DISARM, OPEN_DOOR
from .domains import DOMAINS, UNKNOWN
from .tolerance import number_of

_INTEGRATIONS = frozenset(
    {
        "ai_task", "ads", "alexa_devices", "androidtv", "appdaemon", "backup", "cloud", "conversation", "debugpy", "downloader",
        "google_mail",
        "hassio", "home_agent", "homematic", "homematicip_local", "ifttt", "ihc", "lcn", "modbus", "mqtt", "netdaemon", "nodered", "notify", "profiler", "pyscript", "python_script",
        "rest_command", "shell_command", "telegram_bot", "update", "zha", "zwave_js",
    }
)  # fmt: skip
"""Every action of these: the machine and its updates, programs and requests of the owner's, messages to people and networks."""
_DESTRUCTIVE = frozenset(
    {
        ("alert", "toggle"), ("alert", "turn_off"), ("camera", "disable_motion_detection"), ("camera", "turn_off"),
        ("deconz", "configure"), ("device_tracker", "see"), ("flo", "set_sleep_mode"), ("homeassistant", "set_location"),
        ("homeassistant", "stop"), ("logger", "set_default_level"), ("logger", "set_level"), ("recorder", "disable"),
        ("shopping_list", "clear_completed_items"),
    }
)  # fmt: skip
_HARMLESS = frozenset({("wake_on_lan", "send_magic_packet"), ("zwave_js", "ping"), ("zwave_js", "refresh_value")})
_OF_THE_HOME = frozenset(
    {
        "check_config", "reload_all", "save_persistent_states", "toggle", "turn_off", "turn_on", "unforeseen", "update_entity",
    }
)  # fmt: skip
"""Actions of `homeassistant` that are judged by what they are for; others, which add-ons bring, change ids, areas and devices."""
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
"""Parts of names of what runs the text that it is given."""
_STARTS = _words(r"(?:load|open)_url", r"(?:launch|run|start)_(?:application|intent)")
"""Parts of names of actions that start a program, or visit a page."""
_DOOR = r"(?:barrier|doors?|door_lock|entrance|garage|garage_door|gate|latch|locks?|main_door|front_door|valve)"
_OPENS = _words(
    "(?<!enable_)auto_?lock", "buzz", "buzz_in", "bypass", "disarm", "key_?press", "lock_n_go", "open_sesame", "unlatch", "unlock",
    rf"(?:open|release|trigger|toggle|pulse|press)_(?:the_)?(?:(?:back|front|house|main|side|street)_)?{_DOOR}",
    rf"{_DOOR}(?:_\w{{1,40}})?_(?:open|opener|release|trigger|toggle|pulse|unlocked)",
    r"(?:disable|deactivate|silence|mute)_(?:the_)?(?:alarms?|sirens?)", r"(?:alarms?|sirens?)_(?:off|disable|silence|mute)",
    r"stop_ringtone", r"(?:run|start)_(?:irrigation|sprinklers?|watering)", r"(?:run|start)_(?:multiple_)?(?:station|zone)(?:_schedule)?$",
    r"persons?_(?:away|home)", "(?:set_)?valet(?:_mode)?",
)  # fmt: skip
"""Parts of names of actions that open something, or silence what warns."""
_CODES = re.compile(
    r"credential|lock_user|user_?code|(?<![^_])(?:set|clear|add|create|change|update|enable|disable)_(?:\w{1,40}_)?(?:pin|codes?|key_?codes?|pass_?codes?|passwords?|fingerprints?)(?![^_])"
)
"""Who can open a lock from now on, unless it is only told (`get_`)."""
_TELLS = re.compile(r"(?:get|list|query|read|refresh)_|update_entity$|open_cache$")
_SAFER = re.compile(r"enable_auto_?lock|(?:\w+_)?clear_(?:\w+_)?bypass(?:ed)?(?:_\w+)?")
"""Names of actions after which more is locked or watched."""
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


def is_safer(service: str) -> bool:
    """Return whether after an action by its name more is locked or watched than before."""
    return _SAFER.fullmatch(service[:MAX_NAME]) is not None


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
    if service in record.harmless or (domain, service) in _HARMLESS or is_safer(service):
        return False
    if domain == "homeassistant" and service not in _OF_THE_HOME:
        return True
    if domain in _INTEGRATIONS or service in record.destructive or (domain, service) in _DESTRUCTIVE:
        return True
    if len(service) > MAX_NAME or _VERBS.search(service) is not None:
        return True
    if service.startswith("get_") or service in {action.service for action in record.actions.values()}:
        return False
    return (
        _OPENS.search(service) is not None
        or _CODE.search(service) is not None
        or _STARTS.search(service) is not None
        or _CODES.search(service) is not None
        or (guards(domain) and not only_tells(domain, service) and _CLOSES.fullmatch(service) is None)
    )


# Of entities. Their ids have no accents, names are read in the same form.

_DOORS = (
    r"(?:barrier|brama|cancello|cerradura|deur|door|doors|drzwi|einfahrtstor|entrance|furtka|garage|garage_door|garagedeur|garagentor|"
    r"garaje|garaz|gate|haustuer|haustur|hoftor|poort|porta|porte|portail|portillon|porton|portone|puerta|serratura|serrure|tor|tuer|tur|"
    r"valve|verja|voordeur|zamek)"
)
_MOVES = (
    r"(?:abrir|apertura|apri|aprire|buzzer|desbloquear|deverrouiller|impulse?|impuls|lock_mode|mode|odblokuj|oeffnen|oeffner|offnen|"
    r"offner|ontgrendelen|open|openen|opener|otworz|ouverture|ouvrir|pulse|relais|relay|release|sblocca|strike|toggle|trigger|unlock)"
)
_OPENERS = _words(
    rf"{_DOORS}(?:_\w{{1,40}})?_{_MOVES}", rf"{_MOVES}_(?:(?:d|de|del|het|la|le|the)_)?(?:(?:back|front|house|main|side|street)_)?{_DOORS}", "auto_?lock", "door_?opener",
    "garage_door$", "gate$", "tuer_?oeffner", "tur_?offner", "deuropener", "unlatch", "unlock", r"(?:front|back|main|entry)_door$",
    r"door_?lock$", "garagentor$", "hoftor$", "garagedeur$", "(?:tuer|tur)schloss$", "deurslot$", "cerradura$", "serratura$", "serrure$",
)  # fmt: skip
"""Parts of the names of relays and helpers that open something."""
_NO_OPENERS = re.compile(
    r"(?:alert|camera|chime|heater|heizung|lamp|lampe|led|licht|lights?|luce|luz|notification|reminder|sensor|sound)$|"
    r"dishwasher|dryer|freezer|fridge|oven|wash"
)
"""Parts of names that only have a door in them."""
_POSITIONS = _words(
    rf"(?!valve){_DOORS}(?:_door)?(?:_(?:set|target))?_(?:angle|height|open|opening|percent|percentage|position)"
)
"""Parts of the names of numbers that say how far a door is open."""
_WATCHERS = _words(
    r"(?:alarm|siren)_(?:\w{1,40}_)?(?:arm|armed|bypass|delay|disarm|mode|mute|off|silence)", "siren_volume",
    r"(?:disarm|mute|silence)_(?:\w{1,40}_)?(?:alarms?|alerts?|sirens?|warnings?)", "motion_detection",
)  # fmt: skip
"""Parts of the names of helpers that disarm or silence something, whichever way they are switched."""
_GUARDING = re.compile(
    r"alarm|allarm|antifurto|antirrobo|antivol|bewegingsdetectie|bewegungserkennung|burglar|deteccion_de_mov|detecteur_de_fumee|"
    r"detection_de_mouv|detector_de_humo|dymu|effraction|einbruch|glasbruch|glass_?break|inbraak|intrud|intrusi|monoxid|rauchmeld|"
    r"rauchwarn|rilevamento_mov|rilevatore_di_fumo|rookmeld|siren|syren|uberwach|ueberwach|wlaman|wykrywanie_ruchu|"
    r"(?<![^_])(?:armed|arm_(?:away|home|mode|night|state|system)|detect$|guard(?:_mode)?$|recordings$|security|"
    r"(?:audio|face|human|line_crossing|motion|movement|object|people|person|sound|stranger|vehicle)_detect(?:ion|or)?|"
    r"(?:carbon|co|fire|flood|gas|leak|smoke|tamper)_(?:\w{1,40}_)?(?:alert|detector|sensor|warning))(?![^_])"
)
"""Parts of the names of what watches over the home and warns."""
_ORDINARY = re.compile(
    r"budzik|clock|despertador|dishwasher|dryer|freezer|fridge|frigo|geschirr|koelkast|kuhlschrank|lavadora|lavatrice|lave_|oven|pralk|"
    r"reveil|smoke_machine|sveglia|trockner|wasch|wash|wasmachine|wecker|wekker|"
    r"(?<![^_])(?:alexa|arbeit|bedtime|carpet|child|dirt|echo|eggs?|frost|heater|i?phone|lamp|lampe|lamps|leds?|licht|lights?|luce|"
    r"lumiere|luz|medication|morning|network|obstacle|pills?|pixel|reminder|schlaf|school|schule|sleep|snooze|sonos|surge|timer|update|"
    r"volume|wake|wakeup|waking|week(?:days?|ends?)|wifi|wlan|work(?:days?)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|"
    r"(?:chime|melody|ringtone|sounds?|tones?)$)(?![^_])"
)
"""Parts of the names of what is no guard: alarms to wake up by, lamps, appliances."""
_QUIET = _words(
    "ack(?:nowledge)?", "aus", "bypass(?:ed)?", "deactivated?", "disabled?", "hush(?:ed)?", "inhibit(?:ed)?", "muted?", "off", "paused?",
    "quiet", "reset", "silenc(?:ed?|er|iar|ieux)", "silent", "stil(?:te)?", "stop(?:ped)?", "stumm(?:schalten)?", "suppress(?:ed)?",
    "test",
)  # fmt: skip
"""Parts of the names of what silences, tests or takes out a guard when it is pressed or turned on."""
_DISARMS = _words(
    "desarmar",
    "desarmer",
    r"(?:alarm|area|house|panel|partition|system|zones?)_bypass(?:_all)?",
    r"bypass_(?:all|faults?|open|sensors?|zones?)",
    "disarm(?:ed)?",
    "disinserire",
    "entscharf(?:en|t)",
    "entschaerf(?:en|t)",
    "rozbroj",
    "unscharf",
)
_ARMED = frozenset(
    {
        "abwesend", "absent", "activated", "active", "afwezig", "aktiv", "arm", "arm_away", "arm_night", "arm_vacation", "armado", "armed",
        "armed_away", "armed_night", "armed_vacation", "armee", "ausente", "away", "enabled", "high", "inserito", "night", "on", "scharf",
        "uzbrojony", "vacation", "weg",
    }
)  # fmt: skip
"""Choices of a guard that watch; any other may be one that does not."""
_ENTRY_CODES = _words(
    rf"(?:access|alarm|entry|guest|keypad|lock|master|user|{_DOORS})_(?:\w{{1,40}}_)?(?:code|codes|kod|passcode|password|pin|pins)",
    r"(?:key|lock|pass|pin|user)_?codes?", "zugangscode", "turcode", "tuercode", "toegangscode",
)  # fmt: skip
"""Parts of the names of texts and numbers that say who can enter."""
_WIPERS = _words("delete", "erase", "factory_reset", "reset_map", "wipe")
_RADIO = re.compile(r"\s*b64:(?:s[g-v]|1[w-z0-9+/])")
"""The beginning of a code of a Broadlink device that goes out by radio, as a gate listens to: its first byte is 0xb2 or 0xd7."""
_CHOICES = frozenset({"input_select", "select"})
_PUSHED = frozenset({"button", "input_button"})
_TURNED = frozenset({"input_boolean", "switch"})
_NUMBERS = frozenset({"input_number", "number"})
_TEXTS = frozenset({"input_text", "text"})
_SWITCHES = frozenset({*_CHOICES, *_PUSHED, *_TURNED, "number"})
"""Domains whose entities may be a relay or a helper that opens something."""
_ENABLING = frozenset({"turn_on", "trigger"})
_STOPS = frozenset({"cancel", "pause"})
_LOCKS = _words("(?:auto_?|re_?)(?:arm|close|lock)")
"""Parts of the names of timers after which something is locked."""


def reason_of_name(entity_id: str, service: str, data: Mapping[str, Any], *called: str) -> str | None:
    """Return why changing a switch, a helper or a remote control needs the user's yes, by its names; None if it does not.

    `called` are names besides the entity's id. An id that says that it is ordinary counts for all of them.
    """
    domain, _, name = entity_id.partition(".")
    if domain == "remote":
        return _reason_of_code(data) if service == "send_command" else None
    for one in (name[:MAX_NAME], *map(_read, called)):
        if (reason := _reason_of(domain, one, name[:MAX_NAME], service, data)) is not None:
            return reason
    return None


@lru_cache(maxsize=1024)
def _read(called: str) -> str:
    return slugify(called[:MAX_NAME])[:MAX_NAME]


def _reason_of_code(data: Mapping[str, Any]) -> str | None:
    command = data.get("command")
    if any(_RADIO.match(one) for one in (command if isinstance(command, list) else [command]) if isinstance(one, str)):
        return OPEN_DOOR
    name = "_".join(re.findall(r"\w+", f"{data.get('device', '')} {command or ''}".casefold()[:MAX_NAME]))
    return _told(name[:MAX_NAME], "")


def _reason_of(domain: str, name: str, entity_name: str, service: str, data: Mapping[str, Any]) -> str | None:
    if domain == "timer" and service in _STOPS and _LOCKS.search(name) is not None:
        return OPEN_DOOR
    if domain in _SWITCHES and (reason := _told(name, entity_name)) is not None:
        return reason
    if domain in _NUMBERS and _POSITIONS.search(name) is not None and _is_open(data):
        return OPEN_DOOR
    if (domain in _NUMBERS or domain in _TEXTS) and _ENTRY_CODES.search(name) is not None:
        return OPEN_DOOR
    if domain in _TEXTS and _CODE.search(name) is not None:
        return DESTRUCTIVE
    return DISARM if _weakens(domain, name, entity_name, service, data) else None


def _is_open(data: Mapping[str, Any]) -> bool:
    value = number_of(data.get("value"))
    return value is None or value != 0


@lru_cache(maxsize=1024)
def _told(name: str, entity_name: str) -> str | None:
    if _OPENERS.search(name) is not None and not any(map(_NO_OPENERS.search, (name, entity_name))):
        return OPEN_DOOR
    if _WIPERS.search(name) is not None:
        return DESTRUCTIVE
    return DISARM if "clock" not in f"{name} {entity_name}" and _WATCHERS.search(name) is not None else None


def _weakens(domain: str, name: str, entity_name: str, service: str, data: Mapping[str, Any]) -> bool:
    """Return whether a call takes away from what watches over the home: turns it off, mutes it, chooses that it does not watch."""
    guards_home, is_quiet, disarms = _watches(name, entity_name)
    if domain in _CHOICES:
        return guards_home and slugify(str(data.get("option", ""))[:MAX_NAME]) not in _ARMED
    if domain in _PUSHED:
        return disarms or (guards_home and is_quiet)
    if domain in _TURNED and (disarms or is_quiet):
        return (disarms or guards_home) and service != "turn_off"
    return (domain in _TURNED or (domain == "automation" and not is_quiet)) and guards_home and service not in _ENABLING


@lru_cache(maxsize=1024)
def _watches(name: str, entity_name: str) -> tuple[bool, bool, bool]:
    """Return whether a name tells of a guard, of what silences one, and of disarming."""
    is_ordinary = any(map(_ORDINARY.search, (name, entity_name)))
    guards_home = not is_ordinary and _GUARDING.search(name) is not None
    return guards_home, _QUIET.search(name) is not None, not is_ordinary and _DISARMS.search(name) is not None
