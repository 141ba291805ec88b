"""A Home Assistant of its own for each row: on the Sunday before the week, with files that automations are written to."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
import json
from pathlib import Path
from typing import Any, Self

from freezegun.api import StepTickTimeFactory
from homeassistant.bootstrap import DEFAULT_INTEGRATIONS
from homeassistant.components.sun.entity import Sun
from homeassistant.const import BASE_PLATFORMS
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import area_registry as ar, entity_registry as er
import yaml  # type: ignore[import-untyped]

from .. import dataset
from ..local import House, async_house
from .clock import Clock, ClockLoop, RanAwayError
from .week import BEGIN, LATITUDE, LONGITUDE, ZONE, Played, Row, TooManyRunsError, async_play, put_all

_LONG_BEFORE = BEGIN - timedelta(hours=12)
_JUST_BEFORE = BEGIN - timedelta(seconds=30)
ALONE = "evaluated"
"""The id of a row's automation that is put into Home Assistant without us."""
_LEFT_OUT = {
    "analytics", "application_credentials", "backup", "brands", "frontend", "hardware", "labs", "logger", "network",
    "system_health",
}  # fmt: skip
_COMPONENTS = (*sorted(DEFAULT_INTEGRATIONS - BASE_PLATFORMS - _LEFT_OUT), "persistent_notification", "scene", "sun")
_PHONE: Row = {
    "entity_id": "notify.phone", "name": "Phone", "domain": "notify", "area": None, "floor": None, "device": None,
    "device_class": None, "state": "unknown", "attributes": {"supported_features": 1}, "aliases": [],
}  # fmt: skip
_CONFIGURATION = """\
automation: !include automations.yaml
script: !include scripts.yaml
scene: !include scenes.yaml
"""
_SCENES = "- {id: nothing, name: Nothing, entities: {}}\n"
"""Without one, scenes cannot be loaded anew."""
OTHERS = """\
# Made by hand: please keep the order.
- id: "1700000000001"
  alias: Porch   # the old one, from the first house
  triggers:
    - trigger: event
      event_type: porch_was_painted
  conditions: []
  actions:
    - delay: "00:00:01"
  mode: single

# This one waits for spring.
- id: "1700000000002"
  alias: 'Spring cleaning'
  triggers:
  - trigger: event
    event_type: spring_has_come   # nothing fires it before March
  actions:
  - delay: 1
"""

OTHER_IDS = ("1700000000001", "1700000000002")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The file of automations, once something was written to it."""

    text: str
    """All behind the items that were there before, or the whole of it, where these are not as they were."""
    others_kept: bool
    """Whether these are byte for byte as they were."""
    items: Sequence[Mapping[str, Any]]
    """The new ones."""

    @classmethod
    def of(cls, text: str, before: str) -> Self:
        """Return what the file holds. What is no YAML has no items; a tag in it is none of ours."""
        try:
            items = yaml.safe_load(text) or []
        except yaml.YAMLError:
            return cls(text=text, others_kept=False, items=())
        known = yaml.safe_load(before)
        new = [item for item in items if item not in known]
        return cls(text=text.removeprefix(before), others_kept=text.startswith(before), items=new)


class Place:
    """A Home Assistant on the Sunday before, with its files, at the moment before the week."""

    def __init__(self, house: House, day: StepTickTimeFactory, loop: ClockLoop) -> None:
        """Take what there is."""
        self.house, self.hass = house, house.hass
        self._day, self._loop = day, loop
        self.file = Path(self.hass.config.path("automations.yaml"))
        self.before = OTHERS
        """What the file has without what was asked for."""

    def clock(self) -> Clock:
        """Hold the time: from now on it goes on by its `async_until` alone, until it is released."""
        return Clock(self._day, self._loop)

    async def async_add(self, automation: Mapping[str, Any]) -> None:
        """Write an automation into the file by hand, and reload."""
        item = json.dumps([{**automation, "id": ALONE}], ensure_ascii=False)
        await asyncio.to_thread(self.file.write_text, f"{OTHERS}\n- {item[1:-1]}\n", encoding="utf-8")
        await self.hass.services.async_call("automation", "reload", blocking=True)

    async def async_apply(self, given: Row) -> None:
        """Let these scripts, scenes, automations and blueprints be there, instead of those that were."""
        await asyncio.to_thread(self._write, given)
        for name in ("scripts", "scenes"):
            if name in given:
                await self.hass.services.async_call(name.removesuffix("s"), "reload", blocking=True)
        if "blueprints" in given or "automations" in given:
            await self.hass.services.async_call("automation", "reload", blocking=True)

    def _write(self, given: Row) -> None:
        folder = self.file.parent
        for name in ("scripts", "scenes"):
            if name in given:
                (folder / f"{name}.yaml").write_text(json.dumps(given[name], ensure_ascii=False), encoding="utf-8")
        for item in given.get("automations", ()):
            self.before += f"\n- {json.dumps(item, ensure_ascii=False)}\n"
            self.file.write_text(self.before, encoding="utf-8")
        for name, text in given.get("blueprints", {}).items():
            path = (folder / "blueprints" / "automation" / name).resolve()
            if path.is_relative_to(folder):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

    async def async_written(self) -> Written:
        """Return what has become of the file."""
        return Written.of(await asyncio.to_thread(self.file.read_text, encoding="utf-8"), self.before)

    def entity_of(self, automation_id: str) -> State | None:
        """Return the state of the automation that an item of the file stands for."""
        entity_id = er.async_get(self.hass).async_get_entity_id("automation", "automation", automation_id)
        return self.hass.states.get(entity_id) if entity_id else None

    async def async_week(self, automation_id: str, changes: Sequence[Row]) -> tuple[Played | None, str]:
        """Return what came of the week, or why it has none."""
        clock = self.clock()
        try:
            return await async_play(self.house, clock, automation_id, changes), ""
        except RanAwayError, TooManyRunsError:
            await self.hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=False)
            return None, "it runs without an end"
        finally:
            clock.release()


@asynccontextmanager
async def async_place(
    home: dataset.Home, row: Row, day: StepTickTimeFactory, profiles: Sequence[Any] = ()
) -> AsyncIterator[Place]:
    """Return a place as the row begins; it is gone afterwards."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ClockLoop)

    async def async_files(hass: HomeAssistant) -> None:
        hass.config.language = row["lang"]
        hass.config.latitude, hass.config.longitude = LATITUDE, LONGITUDE
        await hass.config.async_set_time_zone(str(ZONE))
        texts = {"configuration": _CONFIGURATION, "automations": OTHERS, "scripts": "", "scenes": _SCENES}
        for name, text in texts.items():
            await asyncio.to_thread(Path(hass.config.path(f"{name}.yaml")).write_text, text, encoding="utf-8")

        _name_areas(hass, home)

    day.move_to(_LONG_BEFORE)
    Sun._attr_should_poll = False  # noqa: SLF001 - it tells its changes by itself; four a minute are most of a week
    async with loop.cleared(), async_house(home, profiles, async_files, _COMPONENTS) as house:
        place = Place(house, day, loop)
        clock = place.clock()
        put_all(house, row.get("start") or {})
        await clock.async_until(_JUST_BEFORE)
        clock.release()
        yield place


def _name_areas(hass: HomeAssistant, home: dataset.Home) -> None:
    """Let areas have the ids that the home gives them: rows name them by these. Home Assistant makes an id of the first name."""
    registry = ar.async_get(hass)
    for row in home["areas"]:
        registry.async_update(registry.async_create(row["id"]).id, name=row["name"], aliases=set(row["aliases"]))


def furnished(home: dataset.Home) -> dataset.Home:
    """Return a home with a phone."""
    if any(row["entity_id"] == _PHONE["entity_id"] for row in home["entities"]):
        return home
    return {**home, "entities": [*home["entities"], _PHONE]}
