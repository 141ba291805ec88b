"""Parts of phrases that tell of an automation: names, places, states, values, lengths of time.

Texts in an automation may be a model's or a stranger's: they are cut, on one line, and tell of no entity that may not be known.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import time, timedelta
import re
from typing import Any

from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_ENTITY_ID, ATTR_UNIT_OF_MEASUREMENT, ENTITY_MATCH_ALL, Platform
from homeassistant.core import DOMAIN as HOMEASSISTANT_DOMAIN, HomeAssistant, State, split_entity_id, valid_entity_id
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.helpers.script_variables import ScriptVariables
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template
from homeassistant.util import dt as dt_util

from ..home.domains import DOMAINS
from ..home.states import Knows
from ..home.wording import MAX_DETAILS, MAX_KEY, MAX_NAME, async_details, async_more, name_of
from ..languages.data import data_of
from ..languages.digits import MASK
from ..support.localize import async_own_text, async_text
from ..support.masking import SECRET
from ..support.quoting import one_line, short_name
from .meanings import Meanings
from .switched import is_switched_on

type AutomationPart = Mapping[str, Any]
"""A trigger, a condition or an action."""

HIDDEN = "…"
HOME = "zone.home"
_EVERYWHERE = frozenset({HOME, "sun.sun"})
MAX_NAMES = 4
MAX_TEXT = 80  # characters of a text in an automation
MAX_PHRASE = 600  # characters of one phrase
_ENTITY_ID = re.compile(r"(?<![\w.])(states\.)?([a-z0-9_]{1,64}\.[a-z0-9_]{1,190})(?![\w(])", re.IGNORECASE)
_ALL_OF: Mapping[str, str] = {
    "climate": "automation_word_all_climate",
    "cover": "automation_word_all_cover",
    "fan": "automation_word_all_fan",
    "light": "automation_word_all_light",
    "lock": "automation_word_all_lock",
    "media_player": "automation_word_all_media_player",
    "switch": "automation_word_all_switch",
}
_PLACES: Mapping[str, str] = {
    "area_id": "automation_word_in_area",
    "floor_id": "automation_word_on_floor",
    "label_id": "automation_word_with_label",
}
TARGETS = (ATTR_ENTITY_ID, "device_id", *_PLACES)
_UNITS = (
    (86_400, "automation_word_days"),
    (3_600, "automation_word_hours"),
    (60, "automation_word_minutes"),
    (1, "automation_word_seconds"),
)
UNIT_KEYS: Mapping[str, str] = {key.removeprefix("automation_word_"): key for _, key in _UNITS}
_SLAVIC_FEW = range(2, 5)
_OFF_AND_ON = frozenset({"on", "off"})


def listed(value: object) -> list[Any]:
    """Return a value as a list: nothing for None, the value itself where it is no list."""
    if value is None:
        return []
    return [*value] if isinstance(value, list | tuple | set | frozenset) else [value]


def plain(value: object) -> Any:
    """Return a part of a normalized automation without Home Assistant's objects: templates as texts, lengths as seconds."""
    match value:
        case Template():
            return value.template
        case ScriptVariables():
            return plain(value.variables)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
        case timedelta():
            return value.total_seconds()
        case str() | int() | float() | None:
            return value
    return str(value)


def options_of(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a trigger or a condition, also those that stand under `options`."""
    options = part.get("options")
    return {**part, **options} if isinstance(options, Mapping) else part


class AllOf(str):
    """Phrases that belong together; in brackets where they stand in a row with others of which one is enough."""

    __slots__ = ()


class AnyOf(str):
    """Phrases of which one is enough; in brackets where they stand in a row with others that belong together."""

    __slots__ = ()


class Opened(str):
    """A phrase that seems to go on with what follows it in a row; in brackets unless it is the last."""

    __slots__ = ()


def told_apart(parts: Sequence[str], *, any_of: bool) -> list[str]:
    """Return phrases as they stand in a row, with brackets around each that could be read with its neighbours."""
    other, last = (AllOf if any_of else AnyOf), len(parts) - 1
    if not last:
        return [*parts]
    return [
        in_round_brackets(part) if isinstance(part, other) or (isinstance(part, Opened) and number < last) else part
        for number, part in enumerate(parts)
    ]


def in_round_brackets(told: str) -> str:
    """Return a phrase of several parts in brackets."""
    return f"({told})" if isinstance(told, AllOf | AnyOf | Opened) else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrator:
    """Says the parts of phrases in one language, to a person who may know some entities."""

    hass: HomeAssistant
    language: str
    knows: Knows
    triggers: dict[str, list[AutomationPart]] = field(default_factory=dict)
    """The triggers by their ids, which several may share, for conditions that ask which one it was."""

    meanings: Meanings | None = None
    """What its variables stand for."""

    async def text(self, key: str, **placeholders: str) -> str:
        """Return a sentence or a part of one, cut where a placeholder makes it too long."""
        told = await async_text(self.hass, self.language, key, **placeholders)
        return self.whole(told)

    def whole(self, told: str) -> str:
        """Return a phrase that is not too long; quotation marks that are open where it is cut are closed."""
        if len(told) <= MAX_PHRASE:
            return told
        cut, (begin, end) = told[:MAX_PHRASE].rstrip(), (mark.strip() for mark in data_of(self.language).quotes)
        return f"{cut}…{end}" if cut.rfind(begin) > cut.rfind(end) else f"{cut}…"

    async def joined(self, parts: Sequence[str], *, any_of: bool = False, most: int = MAX_NAMES) -> str:
        """Return parts in a row, with "and" or "or" before the last and a number for those that are too many.

        Two that are told alike are two: of steps that are done twice none is left out, of names none is a thing less.
        """
        return await self._row([part for part in parts if part], 0, any_of=any_of, most=most)

    async def each[Part](
        self,
        parts: Sequence[Part],
        tell: Callable[[Part], Awaitable[str]],
        *,
        any_of: bool = False,
        most: int = MAX_NAMES,
    ) -> str:
        """Return parts in a row, of which only as many are put into words as are told; the others are counted."""
        said: list[str] = []
        for number, part in enumerate(parts):
            if len(said) == most:
                return await self._row(said, len(parts) - number, any_of=any_of, most=most)
            if told := await tell(part):
                said.append(told)
        return await self._row(said, 0, any_of=any_of, most=most)

    async def _row(self, said: Sequence[str], left: int, *, any_of: bool, most: int) -> str:
        left += max(0, len(said) - most)
        if left:
            said = [*said[:most], await self.text("confirm_more_names", count=str(left))]
        if len(said) < 2:
            return said[0] if said else ""
        key = "automation_word_or" if any_of else "automation_word_and"
        [*first, last] = told_apart(said, any_of=any_of)
        told = await self.text(key, first=", ".join(first), last=last)
        return AnyOf(told) if any_of else AllOf(told)

    async def in_brackets(self, details: Sequence[str], most: int = MAX_DETAILS) -> str:
        """Return details in brackets after what they are of, surplus ones as a number; "" if there are none."""
        return f" ({await async_more(self.hass, self.language, details[:most], len(details))})" if details else ""

    async def rest(self, part: Mapping[str, Any], told: Collection[str]) -> str:
        """Return in brackets what else a part says than is told already; "" if there is nothing else."""
        left = {str(key): value for key, value in part.items() if key not in told}
        given: dict[str, Any] = plain(left)
        if (devices := given.pop("device_id", None)) is not None:
            given["device"] = ", ".join(self.place("device_id", one) for one in self.meant(devices))
        return await async_details(self.hass, self.language, self.told_data(given))

    async def whole_of(self, told: str, part: Mapping[str, Any], keys: Collection[str]) -> str:
        """Return what is told of a part by some of its keys, and what else it says."""
        rest = await self.rest(part, keys)
        return f"{in_round_brackets(told)}{rest}" if rest else told

    def may_tell(self, entity_id: str) -> bool:
        """Return whether an entity may be named; the sun and the home itself are everywhere."""
        return entity_id in _EVERYWHERE or self.knows(entity_id)

    async def switched(self, told: str, part: object) -> str:
        """Return what is told of a part, and that it is switched off, or by what it is decided whether it is on."""
        if not told or (is_on := is_switched_on(part)) is True:
            return told
        if is_on is False:
            return await self.text("automation_word_disabled", what=in_round_brackets(told))
        template = self.cut(part["enabled"]) if isinstance(part, Mapping) else HIDDEN
        return await self.text("automation_word_enabled_if", what=in_round_brackets(told), template=template)

    # Texts.

    def cut(self, value: object, most: int = MAX_TEXT) -> str:
        """Return a text on one line, cut, without entities that may not be known."""
        return one_line(self.tactful(str(plain(value))[:4000]), most)

    def quoted(self, value: object, most: int = MAX_TEXT) -> str:
        """Return a text in the quotation marks of the language; of a template what its variables make of it."""
        text = str(plain(value))
        if texts := self._texts(text):
            return " / ".join(self._in_quotes(one, most) for one in texts)
        return self._in_quotes(text, most) + self._variables(text)

    def _in_quotes(self, text: str, most: int) -> str:
        begin, end = data_of(self.language).quotes
        return f"{begin}{self.cut(text, most)}{end}"

    # Variables.

    def _texts(self, text: str) -> list[str]:
        """Return the texts that a template comes to by its variables; none if that is not known, or they are too many."""
        if "{" not in text or self.meanings is None:
            return []
        if several := self.meanings.all_of(text):
            return [", ".join(several)]
        texts = self.meanings.any_of(text) or ()
        return [*texts] if len(texts) <= MAX_NAMES else []

    def texts(self, template: object) -> Sequence[str]:
        """Return all texts that a template may come to; none if that is not known, or they are too many."""
        text = str(plain(template))
        found = self.meanings.texts(text) if "{" in text and self.meanings is not None else None
        return found if found and len(found) <= MAX_NAMES else ()

    def _variables(self, text: str) -> str:
        """Return in brackets what the variables in a template are, where they alone do not decide what it comes to."""
        if "{" not in text or self.meanings is None or not (values := self.meanings.values_in(text)):
            return ""
        said = [
            f"{self.cut(name, MAX_KEY)}: {MASK if SECRET.search(name) else ' / '.join(self._written(one) for one in given)}"
            for name, given in values.items()
        ]
        return f" ({', '.join(said)})"

    def _written(self, value: object) -> str:
        """Return a value of a variable as it is written, without what is secret in it."""
        told = self.masked("", plain(value))
        return self._in_quotes(", ".join(map(str, told)) if isinstance(told, list) else str(told), MAX_TEXT)

    def template(self, value: object) -> str:
        """Return a template as it is written, cut, and what its variables are."""
        text = str(plain(value))
        return self.cut(text) + self._variables(text)

    def meaning(self, text: str) -> str:
        """Return a text that is told in quotation marks of others: of a template what its variables make of it."""
        return " / ".join(self._texts(text)) or text + self._variables(text)

    def meant(self, values: object) -> list[str]:
        """Return values as texts, with what a variable stands for in its place."""
        found: list[str] = []
        for value in listed(self._without_secrets(plain(values))):
            several = self.meanings.all_of(str(value)) if "{" in str(value) and self.meanings is not None else None
            found += [one.strip() for text in several for one in text.split(",")] if several else [str(value)]
        return found

    def _without_secrets(self, value: Any) -> Any:
        match value:
            case dict():
                return {key: MASK if SECRET.search(key) else self._without_secrets(item) for key, item in value.items()}
            case list():
                return [self._without_secrets(item) for item in value]
        return value

    async def value(self, key: object, value: object) -> str:
        """Return the value of a variable: the names of entities, or a text."""
        if SECRET.search(str(key)):
            return MASK
        ids = [
            one
            for one in listed(plain(value))
            if isinstance(one, str) and valid_entity_id(one) and self._is_entity(one)
        ]
        if ids and len(ids) == len(listed(plain(value))):
            return await self.names(ids)
        return self._written(value)

    def masked(self, key: object, value: Any) -> Any:
        """Return a plain value without secrets, and without ids of entities that may not be known."""
        if SECRET.search(str(key)):
            return MASK
        match value:
            case str():
                return self.tactful(value)
            case dict():
                return {self.tactful(str(name)): self.masked(name, item) for name, item in value.items()}
            case list():
                return [self.masked(key, item) for item in value]
        return value

    def told_data(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of a call as it is told: without secrets, with what variables stand for."""

        def meant(value: Any) -> Any:
            match value:
                case str():
                    return self.meaning(value)
                case dict():
                    return {name: meant(item) for name, item in value.items()}
                case list():
                    return [meant(item) for item in value]
            return value

        return {self.tactful(str(key)): self.masked(key, meant(value)) for key, value in data.items()}

    def tactful(self, text: str) -> str:
        """Return a text with "…" for every id of an entity that may not be known."""

        def told(found: re.Match[str]) -> str:
            entity_id = found[2].casefold()
            return HIDDEN if self._is_entity(entity_id) and not self.may_tell(entity_id) else found[0]

        return _ENTITY_ID.sub(told, text)

    def _is_entity(self, entity_id: str) -> bool:
        domain = entity_id.partition(".")[0]
        is_domain = domain in DOMAINS or domain in frozenset(Platform) or domain in self.hass.config.components
        return is_domain and valid_entity_id(entity_id)

    # Names.

    def name(self, entity_id: object) -> str:
        """Return the name of an entity; its id if it does not exist, "…" if it may not be known."""
        text = str(plain(entity_id))
        if texts := self._texts(text):
            return " / ".join(self.name(one) or self.quoted(one) for one in texts)
        if not valid_entity_id(text):
            entry = er.async_get(self.hass).async_get(er.async_resolve_entity_id(er.async_get(self.hass), text) or text)
            if entry is None:
                return self.quoted(text) if text != ENTITY_MATCH_ALL else ""
            text = entry.entity_id
        if not self.may_tell(text):
            return HIDDEN
        if (state := self.hass.states.get(text)) is not None:
            return name_of(state)
        if (entry := er.async_get(self.hass).async_get(text)) is not None and (
            name := entry.name or entry.original_name
        ):
            return short_name(name, MAX_NAME)
        return self.cut(text)

    async def names(self, entity_ids: object, *, any_of: bool = False) -> str:
        """Return the names of entities in a row; "everything" for all."""
        ids = [*dict.fromkeys(self.meant(entity_ids))]
        if ids in ([], [ENTITY_MATCH_ALL]):
            return await self.text("automation_word_all") if ids else ""
        return await self.joined(_once([self.name(one) for one in ids]), any_of=any_of)

    def place(self, kind: str, place_id: object) -> str:
        """Return the name of a device, an area, a floor or a label; "…" if nothing in it may be known."""
        target = str(plain(place_id))
        if texts := self._texts(target):
            return " / ".join(self.place(kind, one) for one in texts)
        if "{" in target:
            return self.quoted(target)
        extracted = async_extract_referenced_entity_ids(self.hass, TargetSelection({kind: [target]}))
        if not any(map(self.may_tell, (*extracted.referenced, *extracted.indirectly_referenced))):
            return HIDDEN
        name: str | None = None
        match kind:
            case "device_id" if (device := dr.async_get(self.hass).async_get(target)) is not None:
                name = device.name_by_user or device.name
            case "area_id" if (area := ar.async_get(self.hass).async_get_area(target)) is not None:
                name = area.name
            case "floor_id" if (floor := fr.async_get(self.hass).async_get_floor(target)) is not None:
                name = floor.name
            case "label_id" if (label := lr.async_get(self.hass).async_get_label(target)) is not None:
                name = label.name
        return short_name(name, MAX_NAME) if name else HIDDEN

    async def target(self, target: object, domain: str = "", *, any_of: bool = False) -> str:
        """Return what a target is in words: names, "all lights in Kitchen"; without a domain "in Kitchen"; "" for none."""
        if not isinstance(target, Mapping):
            return self.quoted(target) if target else ""
        said: list[str] = []
        if ids := [*dict.fromkeys(self.meant(target.get(ATTR_ENTITY_ID)))]:
            if ids == [ENTITY_MATCH_ALL] and domain:
                said.append(await self.all_of(domain))
            else:
                said += [self.name(one) for one in ids if one != ENTITY_MATCH_ALL] or [
                    await self.text("automation_word_all")
                ]
        said += [self.place("device_id", one) for one in self.meant(target.get("device_id"))]
        for kind, key in _PLACES.items():
            if places := self.meant(target.get(kind)):
                where = await self.text(key, name=await self.joined(_once([self.place(kind, one) for one in places])))
                said.append(f"{await self.all_of(domain)} {where}" if domain else where)
        told = await self.joined(_once(said), any_of=any_of)
        if told and (others := await self.target(target.get("exclude"))):
            return await self.text("automation_word_except", what=told, names=others)
        return told

    async def all_of(self, domain: str) -> str:
        """Return what everything of a kind is called: "all lights"."""
        if domain == HOMEASSISTANT_DOMAIN:
            return await self.text("automation_word_all")
        if key := _ALL_OF.get(domain):
            return await self.text(key)
        kind = await async_own_text(self.hass, self.language, "title", domain, "title")
        return await self.text("automation_word_all_kind", kind=self.cut(kind or domain))

    # States and values.

    def state_of(self, entity_id: object) -> State | None:
        """Return the state of an entity that may be known."""
        text = str(plain(entity_id))
        return self.hass.states.get(text) if valid_entity_id(text) and self.may_tell(text) else None

    async def state(self, entity_ids: object, value: object) -> str:
        """Return a state as Home Assistant's pages show it: "open"; in quotation marks if they have no word for it."""
        text = str(plain(value))
        ids = [one for one in listed(plain(entity_ids)) if isinstance(one, str) and valid_entity_id(one)]
        if text in ("unavailable", "unknown"):
            return await self.text(
                "automation_word_unavailable" if text == "unavailable" else "automation_word_unknown"
            )
        words = {await self._state_word(one, text) for one in ids}
        if len(words) == 1 and (word := words.pop()):
            return word
        if text in _OFF_AND_ON:
            return await self.text("automation_word_is_on" if text == "on" else "automation_word_is_off")
        return self.measured(text, ids) if _is_number(text) else self.quoted(text)

    async def _state_word(self, entity_id: str, text: str) -> str:
        """Return the word of Home Assistant's pages for a state; "" if they have none, or only "on" and "off"."""
        state, domain = self.state_of(entity_id), split_entity_id(entity_id)[0]
        device_class = state.attributes.get(ATTR_DEVICE_CLASS) if state else None
        for kind in (device_class, None if text in _OFF_AND_ON else "_"):
            path = f"entity_component.{kind}.state.{text}"
            if kind and (found := await async_own_text(self.hass, self.language, "entity_component", domain, path)):
                return found[:1].lower() + found[1:]
        return ""

    async def states(self, entity_ids: object, values: object) -> str:
        """Return several states: "open or closed"."""
        return await self.joined([await self.state(entity_ids, one) for one in listed(plain(values))], any_of=True)

    def measured(self, value: object, entity_ids: object, *, has_unit: bool = True) -> str:
        """Return a number with the unit of the entity it is compared with, or the name of the entity that has it."""
        value = plain(value)
        if isinstance(value, str) and valid_entity_id(value) and not _is_number(value):
            return self.name(value)
        if not _is_number(value):
            return self.quoted(value)
        ids = listed(plain(entity_ids))
        state = self.state_of(ids[0]) if len(ids) == 1 and has_unit else None
        unit = self.cut(state.attributes.get(ATTR_UNIT_OF_MEASUREMENT) or "", 20) if state else ""
        return f"{self.number(float(str(value)))} {unit}".strip()

    def number(self, value: float) -> str:
        """Return a number as it is written in the language."""
        written = str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
        return written if data_of(self.language).times.get("thousands") == "," else written.replace(".", ",")

    async def threshold(self, threshold: object, entity_ids: object) -> str:
        """Return what a threshold of a trigger or a condition is: "above 50 %"; "" if there is none."""
        if not isinstance(threshold, Mapping):
            return ""
        kind = str(threshold.get("type"))
        value, low, high = (self._entry(threshold.get(key), entity_ids) for key in ("value", "value_min", "value_max"))
        match kind:
            case "above":
                return await self.text("automation_word_above", value=value)
            case "below":
                return await self.text("automation_word_below", value=value)
            case "between":
                return await self.text("automation_word_between", low=low, high=high)
            case "outside":
                return await self.text("automation_word_outside", low=low, high=high)
        return ""

    def _entry(self, entry: object, entity_ids: object) -> str:
        if not isinstance(entry, Mapping):
            return HIDDEN
        if "entity" in entry:
            return self.name(entry["entity"])
        unit = entry.get("unit_of_measurement")
        told = self.measured(entry.get("number"), entity_ids, has_unit=not unit)
        return f"{told} {self.cut(unit, 20)}" if unit else told

    # Time.

    async def length(self, value: object) -> str:
        """Return a length of time: "1 hour 30 minutes"; a template as it is written."""
        if (seconds := seconds_of(value)) is None:
            given = plain(value)
            if not isinstance(given, dict):
                return self.quoted(given)
            parts = [
                (self.cut(self.meaning(str(given[unit]))), key) for unit, key in UNIT_KEYS.items() if given.get(unit)
            ]
            return " ".join([f"{count} {(await self.text(key)).split('|')[-1]}" for count, key in parts])
        left, said = round(abs(seconds), 1), list[str]()
        for unit, key in _UNITS:
            count = left if unit == 1 else left // unit
            if count or (unit == 1 and not said):
                said.append(await self._counted(key, count))
            left -= count * unit
        return " ".join(said)

    async def _counted(self, key: str, count: float) -> str:
        """Return a number with its unit in the right form: the forms are for one, a few (Polish), and many."""
        one, few, many = (await self.text(key)).split("|")
        is_few = count.is_integer() if isinstance(count, float) else True
        is_few = is_few and int(count) % 10 in _SLAVIC_FEW and int(count) % 100 not in range(12, 15)
        return f"{self.number(float(count))} {one if count == 1 else few if is_few else many}"

    def clock(self, value: object) -> str:
        """Return a time of day: "07:00"."""
        found = value if isinstance(value, time) else dt_util.parse_time(str(plain(value)))
        if found is None:
            return self.cut(value)
        return found.strftime("%H:%M:%S" if found.second else "%H:%M")


def _once(names: Sequence[str]) -> list[str]:
    """Return names with one "…" for all that may not be known: how many there are is not told either."""
    return [name for number, name in enumerate(names) if name != HIDDEN or HIDDEN not in names[:number]]


def seconds_of(value: object) -> float | None:
    """Return a length of time in seconds; None if it is a template or no length."""
    match value:
        case timedelta():
            return value.total_seconds()
        case bool() | None:
            return None
        case int() | float():
            return float(value)
        case str() if (found := dt_util.parse_duration(value)) is not None:
            return found.total_seconds()
        case Mapping() if value:
            try:
                return timedelta(**{str(key): float(item) for key, item in value.items()}).total_seconds()
            except TypeError, ValueError, OverflowError:
                return None
    return None


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    try:
        return abs(float(str(value))) < 1e300  # neither infinite nor no number
    except ValueError:
        return False
