"""Taught names: what people of this home call an entity, an area or a floor, besides what it is called.

A taught name is an alias in Home Assistant's own registries, so everything that looks for names finds it: its sentences, the
search, the model. What is kept here is only who taught it, what waits for an administrator, and what one declined.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.json import JsonObjectType
from homeassistant.util.ulid import ulid_now

from ..support import issues
from ..support.errors import ToolError
from ..support.storage import Report, StoredFile, async_remove_file
from ..support.text import phrase

FILE = "taught_names"
AREA = "area:"
FLOOR = "floor:"
MAX_TAUGHT = 500
MAX_PROPOSED = 20
MAX_PROPOSED_BY_ONE = 5
"""Of one user; those of whom nobody knows who they are count as one."""
MAX_DECLINED = 100
"""Of more, the oldest may be proposed again."""


class Status(StrEnum):
    """What became of a name."""

    TAUGHT = "taught"
    PROPOSED = "proposed"
    """It waits for an administrator."""
    DECLINED = "declined"
    """An administrator does not want it: it is not proposed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaughtName:
    """One name of one thing."""

    id: str
    target: str
    """An entity id, `area:<id>` or `floor:<id>`."""
    name: str
    status: Status
    user_id: str | None
    """Who said it; None where nobody knew."""
    when: datetime

    def as_dict(self) -> JsonObjectType:
        """Return its form on the disk."""
        return {
            "id": self.id,
            "target": self.target,
            "name": self.name,
            "status": self.status.value,
            "user_id": self.user_id,
            "when": self.when.isoformat(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return it from the disk. Raises `KeyError`, `TypeError` or `ValueError` when it is none."""
        if (when := dt_util.parse_datetime(data["when"])) is None or when.tzinfo is None:
            raise ValueError(data["when"])
        return cls(
            id=str(data["id"]),
            target=str(data["target"]),
            name=str(data["name"]),
            status=Status(data["status"]),
            user_id=data["user_id"],
            when=when,
        )


type NameKey = tuple[str, str]
"""A thing and the words of a name."""


class TaughtNames:
    """What was taught, proposed and declined in this home, oldest first; one for each Home Assistant."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty; `async_load` reads what there was."""
        self._hass = hass
        self._file: StoredFile | None = None
        self._rows: dict[NameKey, TaughtName] = {}

    async def async_load(self, report: Report) -> None:
        """Read the file, the first time and when it could not be used before. Never raises."""
        if self._file is not None and self._file.is_usable:
            return
        self._file = StoredFile(self._hass, FILE, self._data, report)
        found = await self._file.async_load_items("names", TaughtName.from_dict)
        self._rows = {_key(row.target, row.name): row for row in found} | self._rows

    @callback
    def async_start(self, entry: ConfigEntry[Any]) -> None:
        """Ask administrators about what is proposed, and follow entities that get another id, until the entry is unloaded."""
        for row in self.rows(Status.PROPOSED):
            self._ask(row)
        listen = self._hass.bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, self._follow)
        entry.async_on_unload(listen)

    async def async_close(self) -> None:
        """Write down what is not yet written."""
        if self._file is not None:
            await self._file.async_close()

    async def async_remove(self) -> None:
        """Forget who taught what, for ever; the names stay with their things."""
        self._rows.clear()
        if self._file is not None:
            await self._file.async_remove()
            self._file = None

    def rows(self, *statuses: Status) -> list[TaughtName]:
        """Return what there is, with one of these statuses if any is given."""
        return [row for row in self._rows.values() if not statuses or row.status in statuses]

    def get(self, target: str, name: str) -> TaughtName | None:
        """Return what is known of a name of a thing."""
        return self._rows.get(_key(target, name))

    def by_id(self, row_id: str) -> TaughtName | None:
        """Return what is proposed under an id, while it is."""
        return next((row for row in self.rows(Status.PROPOSED) if row.id == row_id), None)

    def check_room(self, status: Status, user_id: str | None) -> None:
        """Raise `ToolError` where no more can be taught, or proposed by this user."""
        known = self.rows(status)
        own = [row for row in known if row.user_id == user_id]
        if status is Status.TAUGHT and len(known) >= MAX_TAUGHT:
            raise ToolError("name_too_many", limit=str(MAX_TAUGHT))
        if status is Status.PROPOSED and (len(known) >= MAX_PROPOSED or len(own) >= MAX_PROPOSED_BY_ONE):
            raise ToolError("name_proposed_too_many", count=str(len(known)))

    @callback
    def async_note(self, target: str, name: str, status: Status, user_id: str | None) -> None:
        """Take note of a name; whoever proposed it stays who said it."""
        key = _key(target, name)
        known = self._rows.pop(key, None)
        if known is not None:
            issues.async_set(self._hass, issues.NAME_PROPOSED, known.id, False)
            user_id = known.user_id if known.status is Status.PROPOSED else user_id
        row = TaughtName(id=ulid_now(), target=target, name=name, status=status, user_id=user_id, when=dt_util.utcnow())
        self._rows[key] = row
        if status is Status.PROPOSED:
            self._ask(row)
        for surplus in self.rows(Status.DECLINED)[:-MAX_DECLINED]:
            del self._rows[_key(surplus.target, surplus.name)]
        self._changed()

    @callback
    def async_forget(self, target: str, name: str) -> None:
        """Forget a name, whatever became of it; its thing keeps it."""
        if (known := self._rows.pop(_key(target, name), None)) is not None:
            issues.async_set(self._hass, issues.NAME_PROPOSED, known.id, False)
            self._changed()

    def _ask(self, row: TaughtName) -> None:
        # which name of which thing is shown to administrators only (repairs.py): everybody may list issues
        issues.async_set(self._hass, issues.NAME_PROPOSED, row.id, data={"taught_name_id": row.id})

    @callback
    def _follow(self, event: Event[er.EventEntityRegistryUpdatedData]) -> None:
        data = event.data
        if data["action"] != "update" or (old := data.get("old_entity_id")) is None:
            return
        for key, row in [*self._rows.items()]:
            if row.target == old:
                del self._rows[key]
                self._rows[_key(data["entity_id"], row.name)] = replace(row, target=data["entity_id"])
                self._changed()

    def _changed(self) -> None:
        if self._file is not None:
            self._file.async_changed()

    def _data(self) -> dict[str, Any]:
        return {"names": [row.as_dict() for row in list(self._rows.values())]}


def _key(target: str, name: str) -> NameKey:
    return target, phrase(name)


TAUGHT_NAMES: HassKey[TaughtNames] = HassKey("home_agent_taught_names")


def taught_names_of(hass: HomeAssistant) -> TaughtNames:
    """Return the taught names of this home."""
    if TAUGHT_NAMES not in hass.data:
        hass.data[TAUGHT_NAMES] = TaughtNames(hass)
    return hass.data[TAUGHT_NAMES]


async def async_remove_taught_names(hass: HomeAssistant) -> None:
    """Delete the file."""
    await taught_names_of(hass).async_remove()
    await async_remove_file(hass, FILE)


# The registries, which keep the names.


def title_of(hass: HomeAssistant, target: str) -> str | None:
    """Return what a thing is called first; None when there is none."""
    if target.startswith(AREA):
        area = ar.async_get(hass).async_get_area(target.removeprefix(AREA))
        return area.name if area else None
    if target.startswith(FLOOR):
        floor = fr.async_get(hass).async_get_floor(target.removeprefix(FLOOR))
        return floor.name if floor else None
    state = hass.states.get(target)
    return " ".join(state.name.split()) if state else None


def aliases_of(hass: HomeAssistant, target: str) -> list[str] | None:
    """Return the aliases of a thing as the registry has them, without its own name; None: it can have none."""
    if target.startswith(AREA):
        area = ar.async_get(hass).async_get_area(target.removeprefix(AREA))
        return sorted(area.aliases) if area else None
    if target.startswith(FLOOR):
        floor = fr.async_get(hass).async_get_floor(target.removeprefix(FLOOR))
        return sorted(floor.aliases) if floor else None
    entry = er.async_get(hass).async_get(target)
    return [alias for alias in entry.aliases if isinstance(alias, str)] if entry else None


def has_alias(hass: HomeAssistant, target: str, name: str) -> bool:
    """Return whether a thing has an alias of these words."""
    return any(phrase(alias) == phrase(name) for alias in aliases_of(hass, target) or ())


@callback
def set_alias(hass: HomeAssistant, target: str, name: str, *, there: bool) -> None:
    """Add an alias, behind all others, or remove those of these words; what else stands there stays in its order."""

    def changed(aliases: Iterable[er.AliasEntry]) -> list[er.AliasEntry]:
        kept = [one for one in aliases if not (isinstance(one, str) and phrase(one) == phrase(name))]
        return [*kept, name] if there else kept

    def changed_texts(aliases: Iterable[str]) -> set[str]:
        return {one for one in changed(aliases) if isinstance(one, str)}

    if target.startswith(AREA):
        areas, area_id = ar.async_get(hass), target.removeprefix(AREA)
        if (area := areas.async_get_area(area_id)) is not None:
            areas.async_update(area_id, aliases=changed_texts(area.aliases))
    elif target.startswith(FLOOR):
        floors, floor_id = fr.async_get(hass), target.removeprefix(FLOOR)
        if (floor := floors.async_get_floor(floor_id)) is not None:
            floors.async_update(floor_id, aliases=changed_texts(floor.aliases))
    elif (entry := er.async_get(hass).async_get(target)) is not None:
        # the list holds a placeholder for the entity's own name, which is no text
        er.async_get(hass).async_update_entity(target, aliases=changed(entry.aliases))
