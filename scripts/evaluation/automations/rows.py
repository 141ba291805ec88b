"""A row of requests, and one that is broken: asked for, and looked at what came of it."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
import json
import re
import time
from typing import Any

from freezegun.api import StepTickTimeFactory
from homeassistant.const import STATE_ON

from .. import dataset
from .conversation import Answer, Model, Talk, async_model, async_talk, profiles
from .judge import ACCEPTED, BEHAVES, ENGINE, KEPT, MENDED, NAMED, REFUSED, REPLAYED, Judged, behaviour
from .place import ALONE, Place, async_place
from .replayed import async_replayed
from .week import Row, local

_SIGNS = re.compile(r"""[\s\\"'`]+""")

_PATH = re.compile(r"(?:^- )([\w.\[\]]+)(?=:)", re.MULTILINE)
_STEP = re.compile(r"(\w+)|\[(\d+)\]")


@asynccontextmanager
async def async_asked(row: Row, home: dataset.Home, day: StepTickTimeFactory) -> AsyncIterator[tuple[Place, Model]]:
    """Return a home with an agent that makes automations."""
    async with async_model() as model, async_place(home, row, day, profiles(row["lang"], model)) as place:
        yield place, model


async def async_request(row: Row, home: dataset.Home, day: StepTickTimeFactory) -> Judged:
    """Return what became of an automation that somebody asks for; of one that Home Assistant plays otherwise than written only that."""
    began = time.process_time()
    marks, details = await _async_engine(row, home, day)
    if marks[ENGINE]:
        async with async_asked(row, home, day) as (place, model):
            talk = await async_talk(place.house, model, row["lang"])
            automation_id = await _async_make(row, place, talk, marks, details)
            if automation_id is not None:
                played, why = await place.async_week(automation_id, row["week"])
                wrong = {"why": why} if played is None else behaviour(row, played.calls)
                marks[BEHAVES] = not wrong
                details |= {BEHAVES: wrong} if wrong else {}
    return Judged(row=row, marks=marks, details=details, seconds=time.process_time() - began)


async def _async_engine(
    row: Row, home: dataset.Home, day: StepTickTimeFactory
) -> tuple[dict[str, bool], dict[str, Any]]:
    """Return what Home Assistant alone makes of it, and our replay of that."""
    async with async_place(home, row, day) as place:
        await place.async_add(row["automation"])
        played, why = await place.async_week(ALONE, row["week"])
        if played is None:
            return {ENGINE: False}, {ENGINE: why}
        details: dict[str, Any] = {}
        if wrong := behaviour(row, played.calls):
            details[ENGINE] = wrong
        elif row.get("held", played.held) != played.held:
            details[ENGINE] = f"{played.held} held back, not {row['held']}"
        marks = {ENGINE: not details}
        if details:
            return marks, details
        replayed = await async_replayed(place.hass, row["automation"], played)
        runs = [local(at) for _, at in played.runs]
        marks[REPLAYED] = runs == [*replayed.runs]
        if not marks[REPLAYED]:
            details[REPLAYED] = {"engine": runs, "replay": [*replayed.runs], "left out": [*replayed.left_out]}
        return marks, details


async def _async_make(
    row: Row, place: Place, talk: Talk, marks: dict[str, bool], details: dict[str, Any]
) -> str | None:
    """Ask for the automation, and say yes; return its id, if it came to be."""
    asked = await talk.async_ask(row["utterance"], row["automation"])
    answer = await talk.async_yes() if asked.asks else None
    automation_id = await _async_made(place, marks, details)
    if automation_id is None:
        details |= _told("asked", asked) | (_told("yes", answer) if answer else {})
    return automation_id


async def _async_made(place: Place, marks: dict[str, bool], details: dict[str, Any]) -> str | None:
    """Return the id of the one item that is new, if its automation is there and on; mark whether so, and the rest as it was."""
    written = await place.async_written()
    marks[KEPT] = written.others_kept
    item = written.items[0] if len(written.items) == 1 else {}
    state = place.entity_of(str(item.get("id")))
    marks[ACCEPTED] = state is not None and state.state == STATE_ON
    if not (marks[ACCEPTED] and marks[KEPT]):
        details["file"] = written.text
    return str(item["id"]) if marks[ACCEPTED] else None


def _told(when: str, answer: Answer) -> dict[str, Any]:
    return {when: {"said": answer.said, "tools": [*answer.results]}}


async def async_broken(row: Row, home: dataset.Home, day: StepTickTimeFactory) -> Judged:
    """Return whether what is broken was refused with a sentence that names what is wrong, and the mended one accepted."""
    began = time.process_time()
    marks: dict[str, bool] = {}
    details: dict[str, Any] = {}
    async with async_asked(row, home, day) as (place, model):
        talk = await async_talk(place.house, model, row["lang"])
        alias = str(row["automation"].get("alias", ""))
        first = await talk.async_ask(str(row.get("utterance") or alias), row["automation"])
        marks[REFUSED] = not first.asks and not (await place.async_written()).items
        if marks[REFUSED]:
            marks[NAMED] = any(names(result, row["wrong"], row["automation"]) for result in first.results)
        if first.asks:
            await talk.async_no()
        if not all(marks.values()):
            details |= _told("broken", first)
        again = await talk.async_again(row["mended"])
        answer = await talk.async_yes() if again.asks else None
        found: dict[str, bool] = {}
        await _async_made(place, found, details)
        marks[MENDED] = all(found.values())
        if not marks[MENDED]:
            details |= _told("mended", again) | (_told("yes", answer) if answer else {})
    return Judged(row=row, marks=marks, details=details, seconds=time.process_time() - began)


def names(sentence: str, wrong: object, automation: Row) -> bool:
    """Return whether a sentence names what is wrong, whatever the quotes and spaces, or has the path to it or to what it stands beside."""
    text = _plain(wrong if isinstance(wrong, str) else json.dumps(wrong, ensure_ascii=False))
    if text in _plain(sentence):
        return True
    return any(text in _plain(json.dumps(found, ensure_ascii=False)) for found in _pointed_at(sentence, automation))


def _pointed_at(sentence: str, automation: Row) -> Iterator[Any]:
    """Yield what the paths of a sentence lead to, and what that stands in, if it is no list of all there is."""
    for path in _PATH.findall(sentence):
        found: Any = automation
        above: Any = None
        for key, number in _STEP.findall(path):
            above = found
            try:
                found = found[int(number)] if number else found[key]
            except KeyError, IndexError, TypeError:
                break
        else:
            yield found
            if isinstance(above, Mapping) and above is not automation:
                yield above


def _plain(text: str) -> str:
    return _SIGNS.sub(" ", text).strip().casefold()
