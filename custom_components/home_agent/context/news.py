"""What of the states is new to the model: a line for each entity that reads differently from what it was told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from homeassistant.core import HomeAssistant, State

from ..home import HomeEntity
from ..prompt.parts import StateLine
from ..slices import in_slices
from ..turn import Turn
from .selection import Selection, Told, area_of, attributes_of, what_the_id_does_not_say
from .view import View

GONE = "gone"
DETAILED = 6  # entities; a request is rarely about more, and where it is, it is about what they are and not how


@dataclass(slots=True, kw_only=True)
class News:
    """What a turn part tells of states."""

    hass: HomeAssistant
    turn: Turn
    view: View
    known: Mapping[str, Told]
    estimate: Callable[[str], int]
    names: bool
    """Whether entities that are told for the first time are introduced: the home map does not name them."""
    told: dict[str, Told] = field(default_factory=dict)
    lines: list[StateLine] = field(default_factory=list)

    def add_gone(self) -> None:
        """Tell of what the model knows and this reader may not know any more."""
        for entity_id, before in self.known.items():
            if before.state is not None and entity_id not in self.view.snapshot.entities:
                self._tell(Told(GONE, None), StateLine(entity_id, GONE, entity_id, None))

    async def async_add_selection(self, selection: Selection) -> None:
        """Tell of everything that was chosen and is new or has changed."""
        async for entity in in_slices(selection.entities):
            if (state := self._state_if_new(entity)) is not None:
                attributes = selection.attributes.get(entity.entity_id, ())
                now = self.view.descriptions.of(state, attributes, detailed=selection.detailed)
                self._tell(now, self._line(entity, now))

    def add_found(self, entities: Sequence[HomeEntity], budget: int) -> int:
        """Tell of what the request is about; return how many are left out.

        What the model believes and is no longer true comes first, whatever it takes; then what is new to it. Where not
        all of it fits, only the best have attributes.
        """
        new = [(entity, state) for entity in entities if (state := self._state_if_new(entity)) is not None]
        new.sort(key=lambda item: item[0].entity_id not in self.known)
        short = DETAILED if self._is_too_long(new, budget) else len(new)
        for number, item in enumerate(new):
            now, line = self._described(item, detailed=number < short)
            budget -= self._tokens(line)
            if budget < 0 and line.entity_id not in self.known:
                return len(new) - number
            self._tell(now, line)
        return 0

    def add_changed(self, budget: int) -> int:
        """Tell what changed of what the model was told before, newest first; return how many are left out."""
        changed = [
            (entity, state)
            for entity_id in reversed(list(self.known))
            if (entity := self.view.snapshot.entities.get(entity_id)) is not None
            and (state := self._state_if_new(entity)) is not None
        ]
        left_out = 0
        for item in changed:
            now, line = self._described(item, detailed=True)
            if now.text == self.known[line.entity_id].text:
                self.told[line.entity_id] = now
                continue
            budget -= self._tokens(line)
            if budget < 0:
                left_out += 1
            else:
                self._tell(now, line)
        return left_out

    async def async_add_known(self) -> None:
        """Tell what changed of what the model was told before, all of it."""
        entities = self.view.snapshot.entities
        before = [entities[entity_id] for entity_id in self.known if entity_id in entities]
        await self.async_add_selection(Selection(before, detailed=False))

    def _is_too_long(self, items: Sequence[tuple[HomeEntity, State]], budget: int) -> bool:
        """Return whether entities with attributes pass the budget."""
        for item in items:
            budget -= self._tokens(self._described(item, detailed=True)[1])
            if budget < 0:
                return True
        return False

    def _described(self, item: tuple[HomeEntity, State], *, detailed: bool) -> tuple[Told, StateLine]:
        entity, state = item
        attributes = attributes_of(self.turn, entity.entity_id)
        now = self.view.descriptions.of(state, attributes, detailed=detailed)
        return now, self._line(entity, now)

    def _state_if_new(self, entity: HomeEntity) -> State | None:
        """Return the state of an entity, None where the model knows it or has just been told."""
        entity_id = entity.entity_id
        state = self.hass.states.get(entity_id)
        before = self.known.get(entity_id)
        if state is None or entity_id in self.told or (before is not None and before.state is state):
            return None
        return state

    def _line(self, entity: HomeEntity, now: Told) -> StateLine:
        area = area_of(self.view.snapshot, entity)
        introduced = self.names and entity.entity_id not in self.known
        note = self._note(entity, area) if introduced else ""
        return StateLine(entity.entity_id, now.text, entity.names[0], area, note)

    def _note(self, entity: HomeEntity, area: str | None) -> str:
        notes = self.view.notes
        if (note := notes.get(entity.entity_id)) is None:
            note = notes[entity.entity_id] = what_the_id_does_not_say(entity, area)
        return note

    def _tell(self, now: Told, line: StateLine) -> None:
        """Remember what the model knows now; a line only where it reads differently."""
        before = self.known.get(line.entity_id)
        self.told[line.entity_id] = now
        if before is None or before.text != now.text:
            self.lines.append(line)

    def _tokens(self, line: StateLine) -> int:
        return self.estimate(f'"{line.entity_id}":"{line.text} ({line.note})",')
