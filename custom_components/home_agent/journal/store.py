"""The journal: the actions of the last days, in one private file that only this house has.

Kept for a week, 500 entries at most; of one action at most 100 entities. What was said is in it, codes are not.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
import re
from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.json import json_bytes
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.json import json_loads_object
from homeassistant.util.ulid import ulid_now

from ..safety.answers import MASK, mask_digits
from ..safety.audit import is_secret, masked
from ..safety.plan import ServiceCall
from ..safety.write import Written
from ..storage import Report, StoredFile, async_remove_file
from ..turn import Turn
from .action import Action, Snapshot

KEPT_FOR = timedelta(days=7)
MAX_ACTIONS = 500
MAX_ENTITIES = 100  # of one action
MAX_WORDS = 500  # characters

type Sees = Callable[[Action], bool]
"""Whether somebody may know of an action."""


class ActionJournal:
    """The actions of an entry, oldest first."""

    def __init__(self, hass: HomeAssistant, entry_id: str, report: Report) -> None:
        """Start empty; `async_load` reads what there was. `report` is told of a file that cannot be used."""
        self._hass = hass
        self._new_file = partial(StoredFile, hass, file_of(entry_id), self._data, report)
        self._file = self._new_file()
        self._loaded = False
        self._actions: dict[str, Action] = {}
        self.revision = 0
        """Grows with each change."""

    async def async_load(self) -> None:
        """Read the file, the first time and when it could not be used before. Never raises.

        An entry that is none is left out. What was added since the last time, by a turn that outlived it, stays.
        """
        if self._loaded:
            await self._file.async_close()
            earlier, self._file = self._file, self._new_file()
            if earlier.is_usable:
                if not earlier.is_written:
                    await self._file.async_write()
                return
        found = await self._file.async_load_items("actions", Action.from_dict)
        self._actions = {action.id: action for action in found} | self._actions
        self._loaded = True
        self._prune()

    async def async_close(self) -> None:
        """Write down what is not yet written. A turn that still runs may add to it all the same."""
        await self._file.async_close()

    async def async_remove(self) -> None:
        """Forget everything, for ever: what a turn adds that still runs is not kept."""
        self._actions.clear()
        await self._file.async_remove()

    @callback
    def async_add(self, written: Written) -> None:
        """Take note of a write."""
        turn, plan = written.turn, written.plan
        known = list(written.before)
        kept = known[:MAX_ENTITIES]
        now = {entity_id: state for entity_id in kept if (state := self._hass.states.get(entity_id)) is not None}
        action = Action(
            id=ulid_now(),
            when=dt_util.utcnow(),
            user_id=turn.context.user_id,
            device_id=turn.device_id,
            conversation_id=turn.conversation_id,
            turn_id=turn.context.id,
            profile=turn.profile.name,
            tool=written.tool_name,
            subject=plan.subject,
            words=_without_codes(turn, plan.calls)[:MAX_WORDS],
            calls=tuple(_without_secrets(call, frozenset(kept)) for call in plan.calls),
            before={entity_id: Snapshot.of(written.before[entity_id]) for entity_id in kept},
            after={entity_id: Snapshot.of(state) for entity_id, state in now.items()},
            effects={item: effect for item, effect in written.effects.items() if item in now},
            success=written.success,
            left_out=len(known) - len(kept),
        )
        self._actions[action.id] = action
        self._changed()

    @callback
    def async_mark_undone(self, actions: Iterable[Action]) -> None:
        """Note that actions were taken back."""
        when = dt_util.utcnow()
        for action in actions:
            if action.id in self._actions:
                self._actions[action.id] = action.undone_at(when)
        self._changed()

    def newest_first(self, sees: Sees) -> list[Action]:
        """Return what somebody may know of."""
        self._prune()
        return [action for action in reversed(self._actions.values()) if sees(action)]

    def _changed(self) -> None:
        self.revision += 1
        self._prune()
        self._file.async_changed()

    def _prune(self) -> None:
        begin = dt_util.utcnow() - KEPT_FOR
        kept = [action for action in self._actions.values() if action.when >= begin][-MAX_ACTIONS:]
        if len(kept) != len(self._actions):
            self._actions = {action.id: action for action in kept}

    def _data(self) -> dict[str, Any]:
        return {"actions": [action.as_dict() for action in list(self._actions.values())]}


def file_of(entry_id: str) -> str:
    """Return what the file of an entry is called."""
    return f"journal.{entry_id}"


JOURNALS: HassKey[dict[str, ActionJournal]] = HassKey("home_agent_journals")
"""By entry id, while Home Assistant runs: a turn outlives a reload of the entry, and what it does then counts as well."""


def journal_of(hass: HomeAssistant, entry_id: str, report: Report) -> ActionJournal:
    """Return the journal of an entry."""
    known = hass.data.setdefault(JOURNALS, {})
    if entry_id not in known:
        known[entry_id] = ActionJournal(hass, entry_id, report)
    return known[entry_id]


async def async_remove_journal(hass: HomeAssistant, entry_id: str) -> None:
    """Delete the journal of an entry."""
    if (journal := hass.data.get(JOURNALS, {}).pop(entry_id, None)) is not None:
        await journal.async_remove()
    await async_remove_file(hass, file_of(entry_id))


def _without_codes(turn: Turn, calls: Iterable[ServiceCall]) -> str:
    """Return the words of a turn without the codes that its calls took from them, written or spoken."""
    codes = {str(value) for call in calls for key, value in call.data.items() if is_secret(key) and value}
    words = turn.text
    for code in codes:
        if code.isdecimal():
            words = mask_digits(words, turn.language, at_least=len(code))
        else:
            words = re.sub(re.escape(code), MASK, words, flags=re.IGNORECASE)
    return words


def _without_secrets(call: ServiceCall, entity_ids: frozenset[str]) -> ServiceCall:
    """Return the call as it is kept: on the entities that are kept, codes and texts masked, plain values."""
    data: Mapping[str, Any] = json_loads_object(json_bytes(masked(call.data)))
    return ServiceCall(
        domain=call.domain,
        service=call.service,
        entity_ids=tuple(item for item in call.entity_ids if item in entity_ids),
        data=data,
    )
