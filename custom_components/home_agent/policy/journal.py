"""The journal: the actions of the last days, in one private file that only this home has.

It keeps a week, 500 entries at most; of one action at most 2,000 entities and as many effects, of all together 20,000. Beyond that,
the oldest entries of the user with the most are dropped. What was said is in it, codes are not.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
import re
from typing import Any, cast, override

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType
from homeassistant.util.ulid import ulid_now

from ..home.domain import Snapshot
from ..home.states import snapshot
from ..languages.digits import MASK, mask_digits
from ..support.bounds import without_surplus
from ..support.const import CONF_EMIT_EVENTS, DOMAIN
from ..support.kept import Kept
from ..support.masking import SECRET
from ..support.rows import as_row, from_row
from ..support.storage import Content
from ..turn.events import ACTION_EXECUTED
from ..turn.plan import Effect, ServiceCall
from ..turn.turn import Outcome, Turn
from .effects import KINDS, effect_from_dict
from .effects.effect import Before, SubjectChange
from .following import Following
from .write import WriteRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One entry: who wrote, when, what, from which words, through which profile, and what became of it."""

    id: str
    when: datetime
    user_id: str | None
    device_id: str | None
    conversation_id: str
    turn_id: str  # shared by the actions of one request: they are undone together
    profile: str
    tool: str
    subject: str | None  # what it touched when it was not entities
    words: str
    effects: tuple[Effect, ...]  # codes and texts in their data are masked
    before: Mapping[str, Snapshot]
    after: Mapping[str, Snapshot]  # states of the entities that it concerned, for effects of any kind
    outcomes: Mapping[str, Outcome]  # by subject
    success: bool
    captured: Mapping[str, Mapping[str, Before]] = field(default_factory=dict)
    """By kind and subject, what kinds captured besides states before."""
    left: Mapping[str, Mapping[str, Before]] = field(default_factory=dict)  # the same afterwards
    left_out: int = 0  # entities beyond those that are kept
    set_off: tuple[str, ...] = ()
    """Entities of `before` that it was not about: a scene or a script changed them."""
    runners: tuple[str, ...] = ()  # the scenes and scripts that did
    hidden: int = 0  # entities that those changed without being exposed
    unseen: bool = False  # what those did later is not known: they ran longer than they were watched
    restored: tuple[str, ...] = ()  # entities that were put back, or needed not be, while others were not
    tried: datetime | None = None
    undone: datetime | None = None  # when all of it was taken back

    @property
    def happened(self) -> bool:
        """Whether it changed anything, as far as that shows; a call that failed may have changed some of its subjects."""
        return bool(self.success or self.set_off) or any(
            outcome is Outcome.CHANGED or (outcome is Outcome.REACHED and self._differs(subject))
            for subject, outcome in self.outcomes.items()
        )

    def _differs(self, subject: str) -> bool:
        """Return whether a subject is another one afterwards, as far as states and what kinds captured show it."""
        kinds = {*self.captured, *self.left}
        captured = (self.captured.get(kind, {}).get(subject) != self.left.get(kind, {}).get(subject) for kind in kinds)
        return self.before.get(subject) != self.after.get(subject) or any(captured)

    @property
    def touched(self) -> tuple[str, ...]:
        """The subjects that have to be back before all of it is undone."""
        return tuple(dict.fromkeys(subject for _, subject, _ in self.done()))

    def done(self) -> Iterator[tuple[str, str, SubjectChange]]:
        """Yield what it did with each subject, after the name of the kind that can undo it; of effects, the newest first."""
        calls: dict[str, list[Effect]] = {}
        set_off = frozenset(self.set_off)
        for effect in reversed(self.effects):
            for subject in effect.subjects:
                if KINDS[effect.kind].changes_states:
                    calls.setdefault(subject, []).insert(0, effect)
                    continue
                if self.outcomes.get(subject) is Outcome.FAILED and not self._differs(subject):
                    continue  # nothing was done
                done = SubjectChange(
                    effects=(effect,),
                    success=self.success,
                    outcome=self.outcomes.get(subject),
                    captured=self.captured.get(effect.kind, {}).get(subject),
                    left=self.left.get(effect.kind, {}).get(subject),
                )
                yield effect.kind, subject, done
        for subject, before in self.before.items():
            done = SubjectChange(
                effects=calls.get(subject, ()),
                success=self.success,
                outcome=self.outcomes.get(subject),
                before=before,
                after=self.after.get(subject),
                named=subject not in set_off,
                sets_off=bool(set_off or self.hidden),
            )
            yield ServiceCall.kind, subject, done

    def as_dict(self) -> JsonObjectType:
        """Return its form on the disk."""
        row = as_row(self)
        return row | {
            "calls": row["effects"],
            "effects": row.pop("outcomes"),
            "before": _as_dict(self.before),
            "after": _as_dict(self.after),
        }

    def as_told(self, knows: Callable[[str], bool] = lambda _: True) -> JsonObjectType:
        """Return its row in `home_agent.list_actions`, with those of the entities set off or put back that `knows` lets through."""
        more: JsonObjectType = {}
        for key, entity_ids in (("changed", self.set_off), ("restored", self.restored if not self.undone else ())):
            if told := [entity_id for entity_id in entity_ids if knows(entity_id)]:
                more[key] = [*told]
        if self.left_out:
            more["left_out"] = self.left_out
        if self.hidden:
            more["not_exposed"] = self.hidden
        if self.unseen:
            more["not_watched"] = True
        return {
            "action_id": self.id,
            "when": self.when.isoformat(),
            "user_id": self.user_id,
            "profile": self.profile,
            "conversation_id": self.conversation_id,
            "words": self.words,
            "tool_name": self.tool,
            "subject": self.subject,
            "calls": [
                {
                    "action": effect.action,
                    "entity_id": list(effect.entity_ids),
                    "data": cast(JsonObjectType, dict(effect.data)),
                }
                for effect in self.effects
            ],
            "outcome": {entity_id: outcome.value for entity_id, outcome in self.outcomes.items()},
            "success": self.success,
            "undone": self.undone.isoformat() if self.undone else None,
            **more,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> JournalEntry:
        """Return the entry. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` if the data is invalid."""
        return from_row(
            cls,
            data,
            effects=tuple(effect_from_dict(item) for item in data["calls"]),
            before=_snapshots(data["before"]),
            after=_snapshots(data["after"]),
            captured=_captured(data.get("captured", {})),
            left=_captured(data.get("left", {})),
            outcomes={entity_id: Outcome(value) for entity_id, value in data["effects"].items()},
        )


def _captured(data: Mapping[str, Any]) -> dict[str, dict[str, Before]]:
    return {kind: {subject: dict(found) for subject, found in rows.items()} for kind, rows in data.items()}


def _as_dict(snapshots: Mapping[str, Snapshot]) -> JsonObjectType:
    return {
        entity_id: {"state": item.state, "attributes": dict(item.attributes)} for entity_id, item in snapshots.items()
    }


def _snapshots(data: Mapping[str, Any]) -> dict[str, Snapshot]:
    return {entity_id: Snapshot(str(item["state"]), dict(item["attributes"])) for entity_id, item in data.items()}


KEPT_FOR = timedelta(days=7)
MAX_ACTIONS = 500
MAX_ENTITIES = 2_000  # of one action; as many effects, and other subjects of a kind
MAX_KEPT = 20_000  # entities and effects of all actions together
MAX_FOLLOWED = 20  # scenes and scripts that are watched at a time
SAVE_DELAY = 1
"""Seconds from an action until it is written, in a worker thread: what a power cut takes."""
MAX_WORDS = 500  # characters
MAX_TOLD = 50  # entities and actions of one event

type Sees = Callable[[JournalEntry], bool]
"""Whether the caller may know of an action."""


class ActionJournal(Kept[JournalEntry]):
    """The actions of an entry, oldest first."""

    file = "journal"
    items = "actions"
    most_read = MAX_ACTIONS
    of_entry = True
    delay = SAVE_DELAY

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass)
        self._forms: dict[str, tuple[JournalEntry, JsonObjectType]] = {}
        """By id, what was written of an entry: an answer waits for the write, and most of hundreds are as they were."""
        self._followed: dict[str, Following] = {}
        """By action id, what is still watched."""
        self._undo_listeners: list[Callable[[JournalEntry], None]] = []

    @override
    def read(self, data: Mapping[str, Any]) -> JournalEntry:
        return JournalEntry.from_dict(data)

    @override
    def content(self) -> Content:
        rows = [*self._rows.values()]
        known = {row.id: self._forms.get(row.id) for row in rows}
        self._forms = {
            row.id: form if (form := known[row.id]) and form[0] is row else (row, row.as_dict()) for row in rows
        }
        return {self.items: [form for _, form in self._forms.values()]}

    @override
    def owner(self, row: JournalEntry) -> str | None:
        return row.user_id

    @override
    def surplus(self) -> Iterable[JournalEntry]:
        begin = dt_util.utcnow() - KEPT_FOR
        kept = [action for action in self._rows.values() if action.when >= begin]
        if len(kept) > MAX_ACTIONS:
            kept = without_surplus(kept, MAX_ACTIONS, _whose, lambda _: 1)
        if sum(map(_size, kept)) > MAX_KEPT:
            kept = without_surplus(kept, MAX_KEPT, _whose, _size)
        if len(kept) == len(self._rows):
            return ()
        ids = {action.id for action in kept}
        return [action for action in self._rows.values() if action.id not in ids]

    @override
    async def async_close(self) -> None:
        """Watch nothing any more, and write what is not yet written."""
        self._unfollow(0)
        await super().async_close()

    @override
    async def async_remove(self, entry_id: str) -> None:
        self._unfollow(0)
        await super().async_remove(entry_id)

    @callback
    def async_add(self, record: WriteRecord) -> None:
        """Take note of a write."""
        turn, plan = record.turn, record.plan
        asked = turn.lineage[-1]  # what is delegated is undone where it was asked for
        known = list(record.before)
        kept = dict.fromkeys(known[:MAX_ENTITIES])
        now = {entity_id: state for entity_id in kept if (state := self._hass.states.get(entity_id)) is not None}
        codes = (effect.data for effect in plan.effects)
        entity_ids = {item for effect in plan.effects for item in effect.entity_ids}
        told = [item for item in record.outcomes if item in now]
        others = (item for item in record.outcomes if item not in now and item not in entity_ids)
        action = JournalEntry(
            id=ulid_now(),
            when=dt_util.utcnow(),
            user_id=turn.context.user_id,
            device_id=turn.device_id,
            conversation_id=asked.conversation_id,
            turn_id=turn.context.id,
            profile=turn.profile.name,
            tool=record.tool_name,
            subject=plan.subject,
            words=(_without_codes(asked, plan.effects) if any(codes) else asked.text)[:MAX_WORDS],
            effects=tuple(KINDS[effect.kind].kept(effect, kept) for effect in plan.effects[:MAX_ENTITIES]),
            before={entity_id: snapshot(record.before[entity_id]) for entity_id in kept},
            after={entity_id: snapshot(state) for entity_id, state in now.items()},
            captured=_bounded(record.captured),
            left=_bounded(record.left),
            outcomes={item: record.outcomes[item] for item in (*told, *islice(others, MAX_ENTITIES))},
            success=record.success,
            left_out=len(known) - len(kept) + max(0, len(plan.effects) - MAX_ENTITIES),
        )
        self.put(action)
        if record.following is not None:
            self._follow(action.id, record.following)
        entries = self._hass.config_entries.async_loaded_entries(DOMAIN)
        if entries and entries[0].options.get(CONF_EMIT_EVENTS, True):  # for Activity (logbook.py), and other listeners
            touched = dict.fromkeys(item for effect in action.effects for item in effect.entity_ids)
            data = {
                "entity_id": turn.agent_id or None,
                "profile": action.profile,
                "profile_id": turn.profile.profile_id,
                "conversation_id": action.conversation_id,
                "user_id": action.user_id,
                "action_id": action.id,
                "tool": plan.subject or record.tool_name,
                "actions": [*dict.fromkeys(effect.action for effect in action.effects)][:MAX_TOLD],
                "entity_ids": [*(touched or dict.fromkeys(plan.targets))][:MAX_TOLD],
                "success": record.success and Outcome.UNCHANGED not in action.outcomes.values(),
            }
            self._hass.bus.async_fire(ACTION_EXECUTED, data, context=turn.context)

    def _follow(self, action_id: str, following: Following) -> None:
        """Keep what a scene or a script has set off, and what it will."""
        self._unfollow(MAX_FOLLOWED - 1)
        self._followed[action_id] = following
        self._note(action_id, following, *following.before, *following.hidden)

        @callback
        def tell(following: Following, entity_id: str | None) -> None:
            self._note(action_id, following, entity_id)
            if entity_id is None:
                self._followed.pop(action_id, None)

        following.go_on(tell)

    def _unfollow(self, most: int) -> None:
        """Watch no more than so many, the newest."""
        for following in list(self._followed.values())[: max(0, len(self._followed) - most)]:
            following.end()

    def _note(self, action_id: str, following: Following, *entity_ids: str | None) -> None:
        """Bring the entry of an action up to date with entities that it set off; None stands for no further one."""
        if (action := self._rows.get(action_id)) is None:
            return
        before, after, set_off = dict(action.before), dict(action.after), dict.fromkeys(action.set_off)
        left_out = action.left_out
        for entity_id in entity_ids:
            if entity_id is None:
                continue
            if entity_id not in following.before:
                if entity_id in set_off:  # it is as it was
                    del before[entity_id], after[entity_id], set_off[entity_id]
            elif entity_id in set_off or len(before) < MAX_ENTITIES:
                before[entity_id] = snapshot(following.before[entity_id])
                after[entity_id] = snapshot(following.after[entity_id])
                set_off[entity_id] = None
            elif entity_id not in following.left_out:
                following.left_out.add(entity_id)
                left_out += 1
        self.put(
            replace(
                action,
                before=before,
                after=after,
                set_off=tuple(set_off),
                left_out=left_out,
                runners=tuple(following.runners),
                hidden=len(following.hidden),
                unseen=following.unseen,
            )
        )

    @callback
    def async_mark_tried(self, action: JournalEntry, restored: Iterable[str], *, complete: bool) -> None:
        """Note which entities of an action are as they were; `complete`: nothing else of it is left to take back."""
        if (known := self._rows.get(action.id)) is None:
            return
        if (following := self._followed.get(action.id)) is not None and complete:
            following.end()
            known = self._rows[action.id]
        now = dt_util.utcnow()
        back = tuple(dict.fromkeys((*known.restored, *restored)))
        tried = replace(known, restored=back, tried=now, undone=now if complete else None)
        self.put(tried)
        if back:
            for listener in tuple(self._undo_listeners):
                listener(tried)

    @callback
    def async_listen_undone(self, listener: Callable[[JournalEntry], None]) -> CALLBACK_TYPE:
        """Call the listener with each action of which something was put back; return a function that stops that."""
        self._undo_listeners.append(listener)
        return partial(self._undo_listeners.remove, listener)

    def newest_first(self, sees: Sees) -> list[JournalEntry]:
        """Return the actions that the caller may know of."""
        self.drop(self.surplus())
        return [action for action in reversed(self._rows.values()) if sees(action)]


def _size(action: JournalEntry) -> int:
    return max(len(action.before), len(action.effects))


def _bounded(captured: Mapping[str, Mapping[str, Before]]) -> dict[str, dict[str, Before]]:
    return {kind: dict(islice(rows.items(), MAX_ENTITIES)) for kind, rows in captured.items()}


def _whose(action: JournalEntry) -> tuple[str | None, str]:
    """Return who acted: a user, else a device, else the profile."""
    return (action.user_id, "") if action.user_id else (action.device_id, "" if action.device_id else action.profile)


def _without_codes(turn: Turn, effects: Iterable[Effect]) -> str:
    """Return the words of a turn without the codes that its effects took from them, written or spoken."""
    words = turn.text
    for code in {
        str(value) for effect in effects for key, value in effect.data.items() if SECRET.search(key) and value
    }:
        if code.isdecimal():
            words = mask_digits(words, turn.language, at_least=len(code))
        else:
            words = re.sub(re.escape(code), MASK, words, flags=re.IGNORECASE)
    return words


class Habits:
    """What this household does often, from its journal; counted anew when something was done."""

    def __init__(self, journal: ActionJournal) -> None:
        """Read from a journal."""
        self._journal = journal
        self._revision = -1
        self._shares: Mapping[str, float] = {}

    def __call__(self) -> Mapping[str, float]:
        """Return how often each entity was acted on in the days of the journal, 0 to 1, where 1 is the most frequent."""
        if self._revision != self._journal.revision:
            self._revision = self._journal.revision
            actions = self._journal.newest_first(lambda action: action.success and action.undone is None)
            counts = Counter(entity_id for action in actions for entity_id in action.after)
            most = max(counts.values(), default=1)
            self._shares = {entity_id: count / most for entity_id, count in counts.items()}
        return self._shares
