"""Which entities a model means: ids, wildcards, names and aliases, areas and floors.

Only exposed entities take part, checked live for every id that is returned: an entity that is not exposed and one that
does not exist are the same unknown name, and the other matches of a wildcard stay.
"""

import ast
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
import fnmatch
import re

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.const import ENTITY_MATCH_ALL
from homeassistant.core import HomeAssistant, split_entity_id, valid_entity_id
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    intent,
    label_registry as lr,
)

from ..support.bounds import in_slices
from ..support.errors import ToolRefusal
from ..support.text import phrase
from .actions import is_controllable, open_members
from .domains import IN_A_ROOM
from .exposure import is_exposed
from .snapshot import Home
from .taught_names import AREA, FLOOR, title_of

SUGGESTIONS = 3
_EVERYTHING = frozenset({"*", "all", "*.*", "everything"})
_WILDCARD = re.compile(r"[*?\[]")
_MAX_ID = 255  # characters, as Home Assistant allows; the pattern's time grows with their square

_LEAST = 3
"""Letters that a pattern needs which names no domain, to mean less than the whole home."""
_SET = re.compile(r"\[[^\[\]]*\]")

type Able = Callable[[str], bool]
"""Whether an entity can do what is asked."""


@dataclass(frozen=True, slots=True)
class FoundTargets:
    """The entities that one text of the model stands for."""

    text: str
    entity_ids: tuple[str, ...]
    broad: bool = False
    """A wildcard, an area, a floor: what cannot do it is left out silently."""

    async def each(self) -> AsyncIterator[str]:
        """Yield the entity ids; the event loop runs between those of a broad text, which may be thousands."""
        if not self.broad:
            for entity_id in self.entity_ids:
                yield entity_id
            return
        async for entity_id in in_slices(self.entity_ids):
            yield entity_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Finds entities for one tool call."""

    hass: HomeAssistant
    home: Home
    area_id: str | None
    """Area of the asking device: of two entities with the same name the one there is meant."""
    able: Able | None = None
    """Given for control; without it everything counts and ambiguous names mean all of them."""
    user: User | None = None
    """Who asks: what they may not read is neither in a wildcard or a place nor suggested; None: an unknown user."""
    plain_only: bool = True
    """Whether places and wildcards without a domain mean only what everything in a room is: nothing that locks, opens or heats."""

    async def async_find(self, text: str) -> FoundTargets:
        """Return what `text` stands for; raises `ToolRefusal` with near names if nothing matches."""
        text = text.strip()
        if text.casefold() in _EVERYTHING:
            return await self._async_everything()
        if _WILDCARD.search(text):
            domain = text.partition(".")[0] if "." in text else "*"  # of none, with hardly a letter: nearly everything
            if self.able and _WILDCARD.search(domain) and sum(map(str.isalnum, _SET.sub("", text))) < _LEAST:
                return await self._async_everything()
            return await self._async_wildcard(text.casefold())
        entity_id = text.casefold()
        if valid_entity_id(entity_id) and is_exposed(self.hass, entity_id, self.user):
            return FoundTargets(text, (entity_id,))
        if found := await self._async_chosen(text, await self._async_named(text)):
            return FoundTargets(text, found)
        if (found_in_place := await self._async_place(text)) is not None:
            return found_in_place
        raise await self._async_unknown(text)

    async def async_thing(self, text: str) -> str:
        """Return the one thing that a text names, word by word: an entity id, `area:<id>` or `floor:<id>`.

        Raises `ToolRefusal` for none, with near names, and for several.
        """
        text = text.strip()
        if text.startswith((AREA, FLOOR)) and title_of(self.hass, text) is not None:
            return text
        if valid_entity_id(text.casefold()) and is_exposed(self.hass, text.casefold(), self.user):
            return text.casefold()
        found = [entity_id for entity_id in await self._async_named(text) if self._told(entity_id)]
        found += [f"{AREA}{area.id}" for area in intent.find_areas(text, ar.async_get(self.hass))]
        found += [f"{FLOOR}{floor.floor_id}" for floor in intent.find_floors(text, fr.async_get(self.hass))]
        if not found:
            raise await self._async_unknown(text)
        if len(found) > 1:
            raise ToolRefusal(f"Several things are called '{text}': {', '.join(sorted(found))}. Use one of these.")
        return found[0]

    def _told(self, entity_id: str) -> bool:
        if not is_exposed(self.hass, entity_id, self.user):
            return False
        return self.user is None or self.user.permissions.check_entity(entity_id, POLICY_READ)

    async def _async_everything(self) -> FoundTargets:
        if self.able is not None:
            raise ToolRefusal("Name what is to be controlled: an entity, a domain (light.*), or an area.")
        return FoundTargets("*", await self._async_live((await self.home.async_get()).entities), broad=True)

    async def _async_wildcard(self, pattern: str) -> FoundTargets:
        if len(pattern) > _MAX_ID:
            raise await self._async_unknown(pattern)
        entities = (await self.home.async_get()).entities
        matches = re.compile(fnmatch.translate(pattern if "." in pattern else f"*.{pattern}")).match
        found = [entity_id async for entity_id in in_slices(entities) if matches(entity_id)]
        if _WILDCARD.search(pattern.partition(".")[0]) or "." not in pattern:
            found = self._plain(found)
        live = await self._async_live(found)
        if not live:
            raise await self._async_unknown(pattern)
        return FoundTargets(pattern, live, broad=True)

    async def _async_named(self, text: str) -> list[str]:
        """Return the entities of this name; `light.ceiling` that is no id counts as the light named ceiling."""
        home = await self.home.async_get()
        domain, _, name = text.casefold().partition(".")
        for called, own in ((text, ""), (name, f"{domain}.")):
            found = [one for one in home.names.called(called) if one in home.entities and one.startswith(own)]
            if exposed := [one for one in found if is_exposed(self.hass, one, self.user)]:
                return exposed
        return []

    async def _async_chosen(self, text: str, found: Sequence[str]) -> tuple[str, ...]:
        told = [entity_id for entity_id in found if self._told(entity_id)] or found[:1]
        if self.able is None or len(told) < 2:
            return tuple(told)
        able = [entity_id for entity_id in told if self.able(entity_id)] or list(told)
        entities = (await self.home.async_get()).entities
        here = [one for one in able if self.area_id is not None and entities[one].area_id == self.area_id] or able
        if len(here) > 1:
            raise ToolRefusal(f"Several entities are called '{text}': {', '.join(sorted(here))}. Use one of these ids.")
        return tuple(here)

    async def _async_place(self, text: str) -> FoundTargets | None:
        """Return what is in an area or on a floor; `light.kitchen` that is no id counts as the lights there."""
        home, domain, place = await self.home.async_get(), "", text
        if find_place(self.hass, text) is None and "." in text:
            domain, _, place = text.casefold().partition(".")
        elif self.able is None and any(one.startswith(f"{phrase(text).replace(' ', '_')}.") for one in home.entities):
            return await self._async_wildcard(f"{text.casefold()}.*")
        if (area_ids := find_place(self.hass, place)) is None:
            return None
        inside = [entity_id for area_id in area_ids for entity_id in home.by_area.get(area_id, ())]
        found = [one for one in inside if split_entity_id(one)[0] == domain] if domain else self._plain(inside)
        live = await self._async_live(found)
        return FoundTargets(text, live, broad=True) if live else None

    def _plain(self, found: Sequence[str]) -> list[str]:
        if self.able is None:
            return list(found)
        return [one for one in found if not self.plain_only or split_entity_id(one)[0] in IN_A_ROOM]

    async def _async_live(self, found: Iterable[str]) -> tuple[str, ...]:
        return tuple([entity_id async for entity_id in in_slices(found) if self._told(entity_id)])

    async def _async_unknown(self, text: str) -> ToolRefusal:
        home = await self.home.async_get()
        near = [one for one in home.names.near(text) if one in home.entities and self._told(one)]
        named = [f"{home.entities[one].names[0]} ({one})" for one in near[:SUGGESTIONS]]
        hint = f" Did you mean {', '.join(named)}?" if named else ""
        return ToolRefusal(f"No exposed entity matches '{text}'.{hint}")


def find_place(hass: HomeAssistant, text: str) -> list[str] | None:
    """Return the areas that an area's or floor's id, name or alias stands for, or None."""
    areas = ar.async_get(hass)
    candidates = (text.strip(), text.strip().casefold().replace("_", " "))
    found = {area.id: None for name in candidates for area in intent.find_areas(name, areas)}
    for name in candidates:
        for floor in intent.find_floors(name, fr.async_get(hass)):
            found |= dict.fromkeys(area.id for area in ar.async_entries_for_floor(areas, floor.floor_id))
    return list(found) or None


# What a script is given: read in every way in which Home Assistant, or a template of the script, may read it.


_AROUND = " \t\r\n'\"[](){}-"
"""What may stand around an id in a text that reads as a list."""
_BETWEEN = re.compile(r"[,\n]")
_MAX_TEXT = 10_000  # characters
_UNREADABLE = re.compile(r"[^\S\n\t\r ]|[\x00-\x08\x0e-\x1f\x7f-\x9f]|\\[xuUN0-7]|\{[{%#]")
"""Control characters, escapes and templates: an id that is not to be seen."""
_TOKEN = re.compile(r"[a-z0-9_]+(?:\.[a-z0-9_]+)?")


def refuse_broad_ids(hass: HomeAssistant, value: object) -> None:
    """Refuse the ids of areas, floors, labels and devices, wherever in a value, and texts that cannot be read.

    What they stand for when the script runs cannot be checked before. Raises `ToolRefusal`.
    """
    for text in _readings(value):
        if len(text) > _MAX_TEXT or _UNREADABLE.search(text):
            raise ToolRefusal("A value is too long, or has control characters, escapes or a template in it.")
        for part in _BETWEEN.split(text):
            named = part.strip(_AROUND)
            if (
                ar.async_get(hass).async_get_area(named) is not None
                or fr.async_get(hass).async_get_floor(named) is not None
                or lr.async_get(hass).async_get_label(named) is not None
                or dr.async_get(hass).async_get(named) is not None
            ):
                raise ToolRefusal(f"'{named}' may stand for many entities: name each of them by its entity id.")


def _readings(value: object) -> Iterator[str]:
    """Yield every text in a value, keys included, and what a template makes of it that prints it: a literal of Python."""
    match value:
        case str():
            yield value
            if (literal := _literal(value)) is not None:
                yield from _readings(literal)
        case Mapping():
            for key, item in value.items():
                yield from _readings(key)
                yield from _readings(item)
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from _readings(item)


# Entity ids that stand in arguments, wherever in them: they count as targets.


_QUOTES = re.compile(r"[\[({'\"]")


def variables_name(hass: HomeAssistant, variables: object) -> Iterator[str]:
    """Yield what the variables of a script name, wherever in a text: a script may take it apart.

    `all`, which no home has, stands for everything and is no target.
    """
    found = dict.fromkeys(entity_ids_in(hass, variables))
    for text in _readings(variables):
        for token in _TOKEN.findall(text.casefold()):
            if entity_id := _entity_id(hass, token):
                found |= dict.fromkeys((entity_id, *open_members(hass, entity_id)))
        if any(part.strip(_AROUND).casefold() == ENTITY_MATCH_ALL for part in _BETWEEN.split(text)):
            found[ENTITY_MATCH_ALL] = None
    yield from found


def entity_ids_in(hass: HomeAssistant, value: object) -> Iterator[str]:
    """Yield every text in a value, keys included, that reads as an entity id of this home, existing or not.

    Both have to get the same answer from the policy. A text also reads as an entity id when Home Assistant makes one of it:
    a registry id, or a list written as text, which a template that prints it turns into a list. A group names what is in it,
    but for what it hides.
    """
    for text in _readings(value):
        for part in text.split(","):
            if entity_id := _entity_id(hass, part.strip()):
                yield entity_id
                yield from open_members(hass, entity_id)


def _entity_id(hass: HomeAssistant, text: str) -> str | None:
    if (entry := er.async_get(hass).entities.get_entry(text)) is not None:
        return entry.entity_id
    text = text.casefold()
    if not valid_entity_id(text):
        return None
    known = is_controllable(text) or bool(hass.states.async_entity_ids_count(split_entity_id(text)[0]))
    return text if known else None


def _literal(text: str) -> object:
    """Return the value that a template would make of a text, or None if it stays a text."""
    if len(text) > _MAX_TEXT or not _QUOTES.search(text):
        return None
    try:
        found: object = ast.literal_eval(text.strip())
    except ValueError, SyntaxError, TypeError, MemoryError, RecursionError:
        return None
    return None if found == text else found
