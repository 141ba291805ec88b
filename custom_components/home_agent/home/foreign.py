"""Foreign text: what a person or a text could write with fewer rights than those who read it.

A conversation that has read foreign text is tainted (`TurnRecord.taints` says by what): everything sensitive is asked about in it.
All that decides whether a text is foreign to its reader is here (docs/decisions/0053-foreign-text.md).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
import re
from typing import override

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.entity import entity_sources
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType
from homeassistant.util.ulid import ulid_now

from ..support.kept import Kept, kept_of
from ..turn.plan import Plan
from ..turn.turn import Turn
from .domains import DOMAINS, RUNNERS, UNKNOWN
from .states import has_prose, may_be_of_others, says_anything

PERSON = "person"
"""Taint by what a user with fewer rights wrote; all other taints are entity ids and names of tools."""
DEVICE = "device"
"""Author of what was said to a voice device or by an automation: the home itself."""
_OWN = frozenset({"holiday", "local_calendar", "local_todo", "shopping_list"})
"""Platforms of lists and calendars that only people of the home write; those of all others may come from outside."""
_OWN_DOMAINS = frozenset({"input_select", "input_text"})
"""Helpers: what they hold was written in the home, however long it is."""
_COMPOSED = frozenset({"template"})
"""Platforms of which the owner wrote what they say: a short sentence of theirs is the owner's."""
_FOR_ALL = frozenset({"shopping_list"})
"""Platforms whose lists every user can write, also one who may control nothing."""
MAX_TEXTS = 200
MAX_LENGTH = 60  # characters of a text that are compared: a line of the prompt may cut off the rest
MIN_LENGTH = 8  # characters of a text that is remembered
MIN_WORDS = 2
MAX_READ = 200_000  # characters of one result
_WORD = re.compile(r"\w+")


type TaintsOf = Callable[[State, Iterable[str] | None], Collection[str]]
"""Returns what taints a reader of a state and of some of its attributes."""


def taints_of_outsiders(state: State, attributes: Iterable[str] | None) -> Collection[str]:
    """Return what taints a reader of whom nothing is known: everything that people outside the home may have written."""
    return {state.entity_id} if may_be_of_others(state, attributes) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextReader:
    """Who reads a text, and who in the home has fewer rights."""

    hass: HomeAssistant
    user: User | None  # None: a voice device or an automation, which may do all that is exposed
    lesser: Sequence[User] = ()
    """Other users who may not control everything."""
    known: frozenset[str] = frozenset()
    """Ids of all users."""

    def taints_of(self, state: State, attributes: Iterable[str] | None = None) -> set[str]:
        """Return what taints a reader of the state and these attributes, or with None of all attributes and items."""
        told = (value for value in state.attributes.values() if isinstance(value, str))
        found = foreign_texts_of(self.hass).taints_in((state.state, *told))
        if may_be_of_others(state, attributes, sentences=not self._is_composed(state)) and not self.is_own(state):
            found.add(state.entity_id)
        return found

    def taints_of_past(self, states: Sequence[State], past: JsonValueType) -> set[str]:
        """Return what taints a reader of the history of entities, where it holds a text that others may have written."""
        sentences = any(says_anything(state) and not self._is_composed(state) for state in states)
        if not has_prose(past, sentences=sentences):
            return set()
        return {state.entity_id for state in states if not self.is_own(state)}

    def _is_composed(self, state: State) -> bool:
        source = entity_sources(self.hass).get(state.entity_id)
        return source is not None and source["domain"] in _COMPOSED

    def taints_by(self, author: str | None, taints: Iterable[str] = ()) -> set[str]:
        """Return what taints a reader of a text of an author, which is marked with `taints`.

        Authors are ids of users, or `DEVICE`. Where none is known, any user may have written it.
        """
        found = {*taints}
        if author == DEVICE:
            return found
        if author is None:
            return found | ({PERSON} if self.lesser else set())
        if any(user.id == author for user in self.lesser):
            return found | {PERSON}
        return found - {PERSON} if author in self.known else found

    def is_own(self, state: State) -> bool:
        """Return whether only people of the home write an entity's text, and all who do have the reader's rights."""
        entry = er.async_get(self.hass).async_get(state.entity_id)
        platform = entry.platform if entry is not None else ""
        if platform not in _OWN and state.domain not in _OWN_DOMAINS:
            return False
        may_write = [
            user
            for user in self.lesser
            if platform in _FOR_ALL or user.permissions.check_entity(state.entity_id, POLICY_CONTROL)
        ]
        return not may_write


async def async_reader(hass: HomeAssistant, user: User | None) -> TextReader:
    """Return the reader that a user is."""
    users = await hass.auth.async_get_users()
    lesser = [
        one
        for one in users
        if one.is_active
        and not one.system_generated
        and not one.permissions.access_all_entities(POLICY_CONTROL)
        and (user is None or one.id != user.id)
    ]
    return TextReader(hass=hass, user=user, lesser=lesser, known=frozenset(one.id for one in users))


async def async_taints_of_author(hass: HomeAssistant, author: str | None) -> set[str]:
    """Return what taints other readers of what an author writes now."""
    reader = await async_reader(hass, None)
    return {PERSON} if any(user.id == author for user in reader.lesser) else set()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignText:
    """The beginning of a text that a tainted turn wrote somewhere, in folded words."""

    id: str
    text: str
    taints: tuple[str, ...]
    user_id: str | None
    when: datetime


class ForeignTexts(Kept[ForeignText]):
    """The newest texts that tainted turns wrote into the home: a turn that reads one of them is tainted again."""

    file = "foreign_texts"
    row = ForeignText
    most = MAX_TEXTS

    @override
    def key(self, row: ForeignText) -> str:
        return row.text

    @override
    def owner(self, row: ForeignText) -> str | None:
        return row.user_id

    @override
    def without_owner(self, row: ForeignText) -> ForeignText:
        """Return the row as one of the home: the text is still where it was written."""
        return replace(row, user_id=None)

    async def async_note(self, turn: Turn, arguments: object, plan: Plan) -> None:
        """Note what a call of a tainted turn is about to write; what the user said in those words is none of it.

        Returns when the note is on the disk: the text in the home would outlive a kill, and must not without its mark.
        """
        if not turn.record.taints or plan.outside or not _writes_text(plan):
            return
        said = _compared(turn.text, len(turn.text))
        known = self._hass.states.async_all()
        names = {_compared(name) for state in known for name in (state.name, state.entity_id)}
        now, taints = dt_util.utcnow(), tuple(sorted(turn.record.taints))
        written = {_compared(text) for text in texts_in([arguments, *(effect.data for effect in plan.effects)])}
        rows = [
            ForeignText(id=ulid_now(), text=text, taints=taints, user_id=turn.context.user_id, when=now)
            for text in sorted(written - names)
            if len(text) >= MIN_LENGTH and text.count(" ") >= MIN_WORDS - 1 and f" {text} " not in f" {said} "
        ]
        self.put(*rows, newest=True)
        if rows:
            await self.async_flush()

    def taints_in(self, texts: Iterable[str]) -> set[str]:
        """Return the taints of all noted texts that these texts hold."""
        found = set[str]()
        if not self._rows:
            return found
        read = f" {' | '.join(_compared(text, MAX_READ) for text in texts if len(text) >= MIN_LENGTH)} "
        for row in self._rows.values():
            if f" {row.text} " in read or (len(row.text) == MAX_LENGTH and f" {row.text}" in read):
                found.update(row.taints)
        return found


def foreign_texts_of(hass: HomeAssistant) -> ForeignTexts:
    """Return the foreign texts that were written into this home."""
    return kept_of(hass, ForeignTexts)


def note_read(hass: HomeAssistant, turn: Turn, value: object) -> None:
    """Taint a turn that reads texts which a tainted turn wrote."""
    turn.record.taints |= foreign_texts_of(hass).taints_in(texts_in(value))


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts in a value of JSON, and the names in its objects."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case Mapping() as mapping:
                waiting += [*mapping.values(), *mapping.keys()]
            case Collection() as items if not isinstance(items, (bytes, bytearray)):
                waiting += items


def _writes_text(plan: Plan) -> bool:
    """Return whether a plan may leave a text in the home: in what holds texts, or by a script, a handler or an unknown action."""
    called = [*plan.effects, *plan.handled]
    entity_ids = (*plan.targets, *plan.reach.reached, *(item for one in called for item in one.entity_ids))
    domains = {*(one.domain for one in called), *(item.partition(".")[0] for item in entity_ids)}
    return not domains or any(
        domain in RUNNERS or domain not in DOMAINS or DOMAINS.get(domain, UNKNOWN).holds_text for domain in domains
    )


def _compared(text: str, most: int = MAX_LENGTH) -> str:
    """Return the words of a text as they are compared, at most so many characters."""
    return " ".join(_WORD.findall(text[: 2 * most].casefold()))[:most]


def fails_in_own_words(hass: HomeAssistant, entity_ids: Iterable[str]) -> bool:
    """Return whether Home Assistant itself says why an action on these entities failed: no device or server is behind them."""
    registry = er.async_get(hass)
    entries = [registry.async_get(item) for item in entity_ids]
    return bool(entries) and all(entry is not None and entry.platform in _OWN for entry in entries)
