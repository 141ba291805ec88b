"""Entity states for a model and for the journal: as a line of text, as JSON, as a snapshot, and the calls that restore one.

Results are bounded and serializable. Ids of entities that the reader may not know of, addresses and tokens are left out of all
attributes.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from enum import Enum
from itertools import pairwise
import math
import re
from typing import Any, cast

from homeassistant.const import (
    ATTR_DEVICE_CLASS,
    ATTR_SUPPORTED_FEATURES,
    ATTR_UNIT_OF_MEASUREMENT,
    STATE_UNAVAILABLE,
    STATE_UNKNOWN,
)
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.json import json_bytes
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads

from ..support.encoding import plain_text
from ..support.masking import CODE
from ..turn.plan import ServiceCall
from ..turn.turn import zone_of_turn
from .domain import Action, Domain, ServiceStep, Snapshot
from .domains import DOMAINS, UNKNOWN
from .tolerance import STATE, number_of

MAX_VALUE = 120  # characters of a value on a line; media titles and weather alerts can be long
PROSE = 60
"""Characters; a longer text of an entity is not a name, mode or option but prose, which may hold instructions for a model."""
SENTENCE = 5
"""Words of a shorter text that is prose, too."""
MAX_NUMBER = 1e15  # larger numbers are written as text
MAX_TEXT = 255  # characters of one value of a result
MAX_ITEMS = 20  # of a list or an object
MAX_NESTING = 3
MAX_ROWS = 30  # items, events or forecasts of one entity
LOWEST, HIGHEST = -(2**63), 2**64 - 1  # what JSON encoders take

_FULL = {"brightness": 255, "volume_level": 1}
"""Attributes in percent of this value."""
# A picture's address, a camera's token and a media id give access to what they belong to.
_NEVER = frozenset({"access_token", "entity_picture", "entity_picture_local", "media_content_id", "media_image_hash"})
_SECRET_NAME = re.compile(
    r"token|secret|passw|passphrase|credential|cookie|authori[sz]ation|bearer|signature|webhook|stream_source|session_?id"
    r"|(?:api|access|private|public|shared|encryption|pairing|license)_?key|(?:^|_)(?:psk|key)$",
    re.IGNORECASE,
)
_MAY_TELL = re.compile(r"[/?@]|www\.|data:|[\w+=-]{16}|[a-z0-9_]\.[a-z0-9_]", re.IGNORECASE)
"""A part of each address, token and entity id."""
_WORD = re.compile(r"\S+")
_SPELLED = re.compile(r"(?<!\w)[^\W\d_]{3,}(?!\w)")
"""A word of a sentence: no number, no part of an address, of a time or of an id."""
_OWN_PATHS = re.compile(r"/(?:api|auth|hls|local|media|stream)/|\bdata:[\w.+-]{1,50}/|\bwww\.", re.IGNORECASE)
_RUN = re.compile(r"[\w+/=.-]{16,}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ENTITY_ID = re.compile(r"(?<![\w.])[a-z0-9_]{1,64}\.[a-z0-9_]{1,190}(?![\w.])", re.IGNORECASE)
_LEFT_OUT = "…"
_MAX_SEEN = 500  # characters of a text and items of a list that are searched; the rest is left out
_DULL = frozenset(
    {"friendly_name", "icon", "supported_features", "attribution", "assumed_state", "editable", "restored", "id"}
)
_ALWAYS_KEY = ("unit_of_measurement", "device_class")

type Knows = Callable[[str], bool]
"""Returns whether a reader may know of an entity; True for other texts."""

_RESTING = frozenset({"off", "standby"})
_MOVING = frozenset({"opening", "closing"})
_POSITION, _TILT = "current_position", "current_tilt_position"
_SET_BY_PRESET = frozenset({"temperature", "target_temp_low", "target_temp_high", "percentage"})
"""Attributes that a preset sets."""


def describe(state: State, attributes: Iterable[str] = (), *, detailed: bool = True, knows: Knows | None = None) -> str:
    """Return the state as text: `21.5 °C`, `on brightness=50%`, `heat temperature=21`.

    `attributes` replaces the domain's own choice; missing, None and secret ones are left out. With `detailed` false there are
    none. Entities in attributes are left out unless `knows` returns True for them.
    """
    text = state.state[:MAX_VALUE]
    if state.state in (STATE_UNAVAILABLE, STATE_UNKNOWN):
        return text
    known = state.attributes
    if unit := known.get(ATTR_UNIT_OF_MEASUREMENT):
        text = f"{text} {unit}"
    if detailed:
        for name in tuple(attributes) or DOMAINS.get(state.domain, UNKNOWN).line:
            value = known.get(name)
            if value is None or name in ("state", ATTR_UNIT_OF_MEASUREMENT) or _is_secret(name):
                continue
            if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MAX_NUMBER:
                said = f"{round(value * 100 / _FULL[name])}%" if name in _FULL else f"{value:g}"
            else:
                said = _in_words(value, knows or (lambda _: False))
                if not said and value:
                    continue
                said = said if len(said) <= MAX_VALUE else f"{said[: MAX_VALUE - 1]}…"
            text = f"{text} {name}={said}"
    return text


def may_be_of_others(state: State, attributes: Iterable[str] | None = None, *, sentences: bool = True) -> bool:
    """Return whether the state or these attributes may hold text of people outside the home, by the domain or the text itself.

    None: all attributes, and items or events. Without `sentences`, a text of at most `PROSE` characters is none of theirs, however
    many words it has. Whether it is foreign to a reader is known to `home/foreign.py`.
    """
    record, known = DOMAINS.get(state.domain, UNKNOWN), state.attributes
    names = known.keys() - _DULL if attributes is None else {*attributes} & known.keys()
    says = is_prose if sentences and says_anything(state) else _is_long
    return (
        says(state.state)
        or (record.others_write and (attributes is None or bool(names)))
        or any(
            known[name] not in (None, "")
            and (name in record.others_attributes or (isinstance(known[name], str) and says(known[name])))
            for name in names - _NEVER
        )
    )


def says_anything(state: State) -> bool:
    """Return whether an entity tells what it was given, in any words: it holds texts or is only read, and has no list of states."""
    record = DOMAINS.get(state.domain, UNKNOWN)
    return (record.holds_text or not record.services) and state.attributes.get(ATTR_DEVICE_CLASS) != "enum"


def _is_long(text: str) -> bool:
    return len(text) > PROSE


def is_prose(text: str) -> bool:
    """Return whether a text is longer than names are, or a sentence."""
    return _is_long(text) or len(_SPELLED.findall(text)) >= SENTENCE


def has_prose(value: JsonValueType, *, sentences: bool = True) -> bool:
    """Return whether a result holds prose, besides our notes and names; without `sentences`, only long texts are."""
    says = is_prose if sentences else _is_long
    match value:
        case str():
            return says(value)
        case list():
            return any(has_prose(item, sentences=sentences) for item in value)
        case dict():
            return any(
                says(key) or has_prose(item, sentences=sentences)
                for key, item in value.items()
                if key not in ("note", "remark", "name")
            )
    return False


def _in_words(value: object, knows: Knows) -> str:
    """Return a value for a line: a list with commas, nested values as JSON."""
    value = value.value if isinstance(value, Enum) else value
    if not isinstance(value, (list, tuple, set, frozenset, Mapping)):
        return without_secrets(text, knows) if _MAY_TELL.search(text := str(value)[:_MAX_SEEN]) else text
    told = json_safe(value, knows=knows)
    items = told if isinstance(told, list) else [told]
    return ", ".join(item if isinstance(item, str) else json_bytes(item).decode() for item in items)


def snapshot(state: State) -> Snapshot:
    """Return the journal's snapshot of a state, with values as they are read from disk."""
    names = DOMAINS.get(state.domain, UNKNOWN).kept
    kept = {name: state.attributes[name] for name in names if name in state.attributes}
    return Snapshot(state.state, cast(JsonObjectType, json_loads(json_bytes(kept))) if kept else {})


def without_secrets(text: str, knows: Knows) -> str:
    """Return a text without addresses, tokens and ids of unknown entities; "" if nothing else is in it."""
    text = _WORD.sub(lambda word: _LEFT_OUT if _is_address(word[0]) else word[0], text[:_MAX_SEEN])
    text = _RUN.sub(lambda run: _LEFT_OUT if _is_token(run[0]) else run[0], text)
    text = _ENTITY_ID.sub(lambda found: found[0] if knows(found[0].lower()) else _LEFT_OUT, text)
    return text if text.strip(f"{_LEFT_OUT} ,;") else ""


def _is_address(word: str) -> bool:
    """Return whether a word holds an address: with any scheme, a path of Home Assistant, name:password@host."""
    if "://" in word or _OWN_PATHS.search(word):
        return True
    _, asks, query = word.partition("?")
    name, _, password = word.partition(":")
    return bool((asks and "=" in query) or (name and "@" in password.lstrip("@")))


def _is_token(run: str) -> bool:
    """Return whether a word looks generated: long, with letters and digits mixed unlike in names."""
    if run.startswith("eyJ") or _UUID.search(run):
        return True
    for part in re.split(r"[_\-./+=]", run):
        digits = sum(map(str.isdigit, part))
        if len(part) < 16 or not digits or digits == len(part):
            continue
        changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(part))
        if changes > 2 or all(sign in "0123456789abcdefABCDEF" for sign in part):
            return True
    return False


def json_safe(value: object, *, nesting: int = MAX_NESTING, knows: Knows | None = None) -> JsonValueType:
    """Return a value as bounded JSON, times in the turn's zone. Never raises.

    With `knows`, addresses, tokens and unknown entities are left out; a text with nothing else becomes "".
    """
    if isinstance(value, Enum):
        value = value.value
    match value:
        case None | bool():
            return value
        case int():
            return value if LOWEST <= value <= HIGHEST else None
        case float():
            return value if math.isfinite(value) else None
        case str():
            if knows is not None and _MAY_TELL.search(value, 0, _MAX_SEEN):
                value = without_secrets(value, knows)
            value = value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 1]}…"
            return value if value.isascii() else plain_text(value)
        case datetime():
            return local_time(value)
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Mapping() | list() | tuple() | set() | frozenset():
            return _container(value, nesting, knows) if nesting else "…"
    text = plain_text(str(value)[:MAX_TEXT])
    return without_secrets(text, knows) if knows is not None and _MAY_TELL.search(text) else text


def local_time(moment: datetime) -> str:
    """Return a time in the zone of the running turn, else of the home, in whole seconds with its offset."""
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt_util.get_default_time_zone())
    return moment.astimezone(zone_of_turn()).replace(microsecond=0).isoformat()


def all_attributes(state: State, knows: Knows) -> JsonObjectType:
    """Return the attributes, without dull and secret ones."""
    return _told(state, _worth_telling(state), knows)


def key_attributes(state: State, touched: Iterable[str] = (), *, knows: Knows) -> JsonObjectType:
    """Return the key attributes of the entity's domain and the `touched` ones that have a value."""
    names = (*DOMAINS.get(state.domain, UNKNOWN).attributes, *_ALWAYS_KEY, *touched)
    return {
        name: told
        for name in names
        if (value := state.attributes.get(name)) is not None
        and not _is_secret(name)
        and ((told := json_safe(value, knows=knows)) != "" or value == "")
    }


def chosen_attributes(state: State, names: Iterable[str], knows: Knows) -> JsonObjectType:
    """Return these attributes, null for missing ones."""
    wanted = [name for name in names if not _is_secret(name)]
    missing: JsonObjectType = {plain_text(name): None for name in wanted if state.attributes.get(name) is None}
    return missing | _told(state, [name for name in wanted if state.attributes.get(name) is not None], knows)


def _told(state: State, names: Iterable[str], knows: Knows) -> JsonObjectType:
    """Return attributes without those that are empty once secrets are left out."""
    told = {plain_text(str(name)): json_safe(state.attributes[name], knows=knows) for name in names}
    return {
        name: value for name, value in told.items() if value not in ("", [], {}) or state.attributes.get(name) == value
    }


def _is_secret(name: object) -> bool:
    return name in _NEVER or bool(CODE.fullmatch(str(name)) or _SECRET_NAME.search(str(name)))


def attribute_names(state: State) -> list[str]:
    """Return the names of attributes to ask for."""
    return [plain_text(str(name)) for name in _worth_telling(state)]


def result_of(state: State, touched: Iterable[str], knows: Knows) -> JsonObjectType:
    """Return the result of an action: the new state, the domain's key attributes and the set ones."""
    told = key_attributes(state, touched, knows=knows)
    return {"entity_id": state.entity_id, "new_state": json_safe(state.state), **told}


def _worth_telling(state: State) -> list[str]:
    return [name for name in state.attributes if name not in _DULL and not _is_secret(name)]


def _container(value: Any, nesting: int, knows: Knows | None) -> JsonValueType:
    if knows is not None:
        value = _without_hidden(value, knows)
    if isinstance(value, Mapping):
        items = list(value.items())
        kept: JsonObjectType = {
            plain_text(str(key)): json_safe(item, nesting=nesting - 1, knows=knows) for key, item in items[:MAX_ITEMS]
        }
        return kept | ({"…": f"{len(items) - MAX_ITEMS} more"} if len(items) > MAX_ITEMS else {})
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    listed: list[JsonValueType] = [json_safe(item, nesting=nesting - 1, knows=knows) for item in value[:MAX_ITEMS]]
    return [*listed, f"… {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else listed


def _without_hidden(value: Any, knows: Knows) -> Any:
    """Return a list or an object without items that are nothing but secrets; they are not counted, either."""

    def is_hidden(item: object) -> bool:
        text = item.value if isinstance(item, Enum) else item
        if not isinstance(text, str):
            return False
        return bool(text and _MAY_TELL.search(text, 0, _MAX_SEEN) and not without_secrets(text, knows))

    if isinstance(value, Mapping):
        items = [*value.items()][:_MAX_SEEN]
        return {key: item for key, item in items if not (_is_secret(key) or is_hidden(key) or is_hidden(item))}
    listed = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
    return [item for item in listed[:_MAX_SEEN] if not is_hidden(item)]


# Details besides the state: list items, calendar events, a forecast, a timer's remaining time.


def detail_call(hass: HomeAssistant, state: State, attributes: list[str]) -> ServiceCall | None:
    """Return the call that reads an entity's details, None if it has none; the attribute `forecast` asks for a forecast."""
    details = DOMAINS.get(state.domain, UNKNOWN).details
    if details is None or (data := details.data(state, attributes)) is None or state.state == STATE_UNAVAILABLE:
        return None
    if not hass.services.has_service(state.domain, details.service):
        return None
    return ServiceCall(
        domain=state.domain, service=details.service, entity_ids=(state.entity_id,), data=data, returns_response=True
    )


def details_from_response(call: ServiceCall, response: Any) -> JsonObjectType:
    """Return the rows of a service's response, by the name of their kind."""
    details = DOMAINS[call.domain].details
    name = details.rows if details is not None else ""
    rows = (response or {}).get(call.entity_ids[0], {}).get(name) or []
    useful = [
        {key: value for key, value in row.items() if value not in (None, "") and key != "uid"}
        for row in rows[:MAX_ROWS]
    ]
    result: JsonObjectType = {name: [json_safe(row) for row in useful]}
    return result | ({"more": len(rows) - MAX_ROWS} if len(rows) > MAX_ROWS else {})


def computed(state: State) -> JsonObjectType:
    """Return values computed from a state now, such as a timer's remaining seconds."""
    compute = DOMAINS.get(state.domain, UNKNOWN).computed
    return compute(state) if compute is not None else {}


# The calls that restore an entity: only the aspects of an action; what else was set since then stays.


def restoring_calls(before: Snapshot, now: State, aspects: frozenset[str]) -> list[ServiceCall] | None:
    """Return the calls, in order, that restore these aspects of an entity; None if that is impossible.

    The list is empty if the entity is as before.
    """
    record, current = DOMAINS.get(now.domain, UNKNOWN), snapshot(now)
    different = {name for name in aspects if before.attributes.get(name) != current.attributes.get(name)} - {STATE}
    if STATE in aspects and before.state != current.state:
        different.add(STATE)
    if not different:
        return []
    if record.restore is not None:
        steps = record.restore(before, now, different)
    elif record.stop:
        steps = _to_position(record, before, now, different)
    else:
        steps = _to_values(record, before, now, different)
    calls = [
        ServiceCall(domain=now.domain, service=step.service, entity_ids=(now.entity_id,), data=step.data)
        for step in steps or ()
    ]
    return calls or None


def _to_values(record: Domain, before: Snapshot, now: State, different: set[str]) -> list[ServiceStep] | None:
    """Return a step to the state and one per setting. A preset sets its own temperature or speed."""
    steps: list[ServiceStep] = []
    if STATE in different:
        if (step := _to_state(record, before, now)) is None:
            return None
        steps.append(step)
        if before.state in _RESTING:
            return steps
    wanted = {name for name in different if before.attributes.get(name) is not None}
    if "preset_mode" in wanted and before.attributes["preset_mode"] != "none":
        wanted -= _SET_BY_PRESET
    elif "percentage" in wanted:
        wanted.discard("preset_mode")
    done = {step.service for step in steps}
    settings = [action for name in record.values if (action := record.actions[name]).service not in done]
    return [*steps, *_settings(settings, before, now, wanted)]


def _to_state(record: Domain, before: Snapshot, now: State) -> ServiceStep | None:
    service = record.back.get(before.state)
    if record.wakes and now.state in _RESTING and before.state not in _RESTING:
        service = record.wakes
    if service:
        return ServiceStep(service) if _can(now, record.actions[service]) else None
    if record.sets_state is None or before.state in (STATE_UNKNOWN, STATE_UNAVAILABLE):
        return None
    service, key = record.sets_state
    number = number_of(before.state) if record.is_number else None
    return ServiceStep(service, {key: before.state if number is None else number})


def _to_position(record: Domain, before: Snapshot, now: State, different: set[str]) -> list[ServiceStep] | None:
    """Return the steps for what opens and closes: to its positions if it has any, else open or closed."""
    features = int(now.attributes.get(ATTR_SUPPORTED_FEATURES) or 0)
    leaves = now.state in _MOVING and STATE in different and _POSITION not in different
    if leaves:  # it moves but still shows its old position, so a call to that position might do nothing
        different = {*different, _POSITION}
    settable = [action for name in record.values if features & (action := record.actions[name]).feature]
    steps = _settings(settable, before, now, {name for name in different if before.attributes.get(name) is not None})
    is_sent = any(
        field.shows is not None and field.shows[0] == _POSITION and before.attributes.get(_POSITION) is not None
        for action in settable
        for field in action.fields.values()
    )
    if different - {_TILT} and not (is_sent and _POSITION in different):
        ends = before.attributes.get(_POSITION) in (None, 0, 100)
        if not ends or (step := _to_state(record, before, now)) is None:
            return None
        return [step, *steps]
    if leaves and record.actions[record.stop].feature & features:
        return [ServiceStep(record.stop), *steps]
    return steps


def _settings(actions: Iterable[Action], before: Snapshot, now: State, wanted: set[str]) -> list[ServiceStep]:
    steps: list[ServiceStep] = []
    for action in actions:
        shown = {name: field for name, field in action.fields.items() if field.shows is not None}
        names = {name for name, field in shown.items() if field.shows is not None and field.shows[0] in wanted}
        if names & action.together:  # they are set together only
            whole = all(
                before.attributes.get(shows[0]) is not None for name in action.together if (shows := shown[name].shows)
            )
            names = names | action.together if whole else names - action.together
        if not names or not _can(now, action):
            continue
        data: dict[str, Any] = {}
        for name, field in shown.items():
            if name in names and field.shows is not None:
                value = before.attributes.get(field.shows[0])
                data[field.key or name] = field.back(value) if field.back is not None else value
        steps.append(ServiceStep(action.service, data))
    return steps


def _can(now: State, action: Action) -> bool:
    features = now.attributes.get(ATTR_SUPPORTED_FEATURES)
    return features is None or int(features) & action.feature == action.feature
