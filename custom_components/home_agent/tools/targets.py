"""Which entities a model means: ids, wildcards, names and aliases, areas and floors.

Only what is exposed takes part, checked live for every id that is returned: an entity that is not exposed and one that
does not exist are the same unknown name (lesson 6), and never spoil what else a wildcard matches (lesson 13).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
import fnmatch
import re

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.core import HomeAssistant, split_entity_id, valid_entity_id

from ..safety.permission import is_exposed, may_know
from ..safety.tool import ToolRefusal
from ..slices import in_slices
from .names import Names, find_place, normalized

PLAIN_DOMAINS = frozenset({"light", "switch", "fan", "media_player", "climate", "humidifier", "input_boolean"})
"""What "turn off the kitchen" and `*.kitchen*` mean when no domain is named: nothing that locks, opens or arms."""

SUGGESTIONS = 3
_EVERYTHING = frozenset({"*", "all", "*.*", "everything"})
_WILDCARD = re.compile(r"[*?\[]")

type Able = Callable[[str], bool]
"""Whether an entity can do what is asked."""


@dataclass(frozen=True, slots=True)
class Found:
    """The entities that one text of the model stands for."""

    text: str
    entity_ids: tuple[str, ...]
    broad: bool = False
    """A wildcard, an area, a floor: what cannot do it is left out silently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Finds entities for one tool call."""

    hass: HomeAssistant
    names: Names
    area_id: str | None
    """Area of the asking device: of two entities with the same name the one there is meant."""
    able: Able | None = None
    """Given for control; without it everything counts and ambiguous names mean all of them."""
    user: User | None = None
    """Who asks: what they may not read is neither in a wildcard or a place nor suggested; None: nobody is known."""
    plain_only: bool = True
    """Whether places and wildcards without a domain mean `PLAIN_DOMAINS` only (turn_on, turn_off, toggle)."""

    async def async_find(self, text: str) -> Found:
        """Return what `text` stands for; raises `ToolRefusal` with near names when that is nothing."""
        text = text.strip()
        if text.casefold() in _EVERYTHING:
            return await self._async_everything()
        if _WILDCARD.search(text):
            return await self._async_wildcard(text.casefold())
        entity_id = text.casefold()
        if valid_entity_id(entity_id) and self._there(entity_id):
            return Found(text, (entity_id,))
        if found := await self._async_chosen(text, await self._async_named(text)):
            return Found(text, found)
        if (found_in_place := await self._async_place(text)) is not None:
            return found_in_place
        raise await self._async_unknown(text)

    async def async_find_all(self, texts: Iterable[str]) -> list[Found]:
        """Return what each text stands for; raises when one of them is unknown."""
        return [await self.async_find(text) for text in texts]

    def _there(self, entity_id: str) -> bool:
        """Return whether an entity exists for who asks; one of which they may know nothing is an unknown name as well."""
        return is_exposed(self.hass, entity_id) and may_know(self.user, entity_id)

    def _told(self, entity_id: str) -> bool:
        """Return whether an entity may be told to who did not name it."""
        if not self._there(entity_id):
            return False
        return self.user is None or self.user.permissions.check_entity(entity_id, POLICY_READ)

    async def _async_everything(self) -> Found:
        if self.able is not None:
            raise ToolRefusal("Name what is to be controlled: an entity, a domain (light.*), or an area.")
        view = await self.names.async_view()
        return Found("*", await self._async_live(view.entities), broad=True)

    async def _async_wildcard(self, pattern: str) -> Found:
        view = await self.names.async_view()
        matches = re.compile(fnmatch.translate(pattern if "." in pattern else f"*.{pattern}")).match
        found = [entity_id async for entity_id in in_slices(view.entities) if matches(entity_id)]
        if _WILDCARD.search(pattern.partition(".")[0]) or "." not in pattern:
            found = self._plain(found)
        live = await self._async_live(found)
        if not live:
            raise await self._async_unknown(pattern)
        return Found(pattern, live, broad=True)

    async def _async_named(self, text: str) -> list[str]:
        """Return the entities of this name; `light.ceiling` that is no id counts as the light named ceiling."""
        if found := [entity_id for entity_id in await self.names.async_named(text) if self._there(entity_id)]:
            return found
        domain, _, name = text.casefold().partition(".")
        named = await self.names.async_named(name) if name else []
        return [one for one in named if split_entity_id(one)[0] == domain and self._there(one)]

    async def _async_chosen(self, text: str, found: Sequence[str]) -> tuple[str, ...]:
        """Return which of several entities of one name is meant."""
        told = [entity_id for entity_id in found if self._told(entity_id)] or found[:1]
        if self.able is None or len(told) < 2:
            return tuple(told)
        able = [entity_id for entity_id in told if self.able(entity_id)] or list(told)
        entities = (await self.names.async_view()).entities
        here = [one for one in able if self.area_id is not None and entities[one].area_id == self.area_id] or able
        if len(here) > 1:
            raise ToolRefusal(f"Several entities are called '{text}': {', '.join(sorted(here))}. Use one of these ids.")
        return tuple(here)

    async def _async_place(self, text: str) -> Found | None:
        """Return what is in an area or on a floor; `light.kitchen` that is no id counts as the lights there."""
        domain = ""
        place = text
        if find_place(self.hass, text) is None and "." in text:
            domain, _, place = text.casefold().partition(".")
        elif self.able is None and (await self._async_domain(text)):
            return await self._async_wildcard(f"{text.casefold()}.*")
        if (inside := await self.names.async_in_place(self.hass, place)) is None:
            return None
        found = [one for one in inside if split_entity_id(one)[0] == domain] if domain else self._plain(inside)
        live = await self._async_live(found)
        return Found(text, live, broad=True) if live else None

    async def _async_domain(self, text: str) -> bool:
        """Return whether the text is a domain of the home."""
        name = normalized(text).replace(" ", "_")
        view = await self.names.async_view()
        return any(entity_id.startswith(f"{name}.") for entity_id in view.entities)

    def _plain(self, found: Sequence[str]) -> list[str]:
        if self.able is None:
            return list(found)
        return [one for one in found if not self.plain_only or split_entity_id(one)[0] in PLAIN_DOMAINS]

    async def _async_live(self, found: Iterable[str]) -> tuple[str, ...]:
        return tuple([entity_id async for entity_id in in_slices(found) if self._told(entity_id)])

    async def _async_unknown(self, text: str) -> ToolRefusal:
        entities = (await self.names.async_view()).entities
        near = [one for one in await self.names.async_near(text) if one in entities and self._told(one)]
        named = [f"{entities[one].names[0]} ({one})" for one in near[:SUGGESTIONS]]
        hint = f" Did you mean {', '.join(named)}?" if named else ""
        return ToolRefusal(f"No exposed entity matches '{text}'.{hint}")
