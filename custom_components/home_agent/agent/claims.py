"""Whether an answer says something that did not happen: judged by what was asked, what was done and what the home shows.

An action that is claimed in a turn without one is believed if the home shows it, or if the user gave no command.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.core import HomeAssistant, valid_entity_id

from ..home.agreement import STATES, agrees
from ..home.domains import DOMAINS, UNKNOWN
from ..home.exposure import is_shared
from ..home.snapshot import Home
from ..languages import claims
from ..local.commands import SpokenCommand, async_command
from ..policy.write import HAPPENED
from ..support.localize import async_own_text
from ..support.nearness import likeness
from ..support.text import fold, runs
from ..turn.turn import Outcome, Turn

_FORM = 0.85  # likeness of two forms of a word
_TELLING = 4  # letters of a word that says something wherever it stands
_LEAD_IN = 3  # words before a command that are left out to find it: "and now please"


def _shows(subject: str) -> bool:
    """Return whether a state shows all that became of what was changed: of a device it does, of a wish or a list it does not."""
    domain = DOMAINS.get(subject.partition(".")[0], UNKNOWN)
    return valid_entity_id(subject) and not (domain.acts_unseen or domain.holds_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Untrue:
    """What is not true in an answer."""

    nothing_done: bool = False
    no_automation: bool = False  # something was done, but none was made, changed or deleted
    states: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ClaimCheck:
    """Judges the answers of one turn."""

    hass: HomeAssistant
    turn: Turn
    home: Home
    asks_behind: bool = False
    _command: SpokenCommand | None = field(default=None, init=False)
    _asked: bool = field(default=False, init=False)

    async def async_untrue(self, answer: str) -> Untrue | None:
        """Return what is not true in an answer, None if nothing is known to be wrong."""
        record = self.turn.record
        if record.request_id is not None and not self.asks_behind:
            return None
        told = claims.told_in(answer, self.turn.speaks)
        if await self._async_claims_automation(answer, told):
            return Untrue(no_automation=True) if record.acted else Untrue(nothing_done=True)
        if record.acted and (  # what it changed may not show in the states
            not record.outcomes
            or any(DOMAINS.get(key.partition(".")[0], UNKNOWN).acts_unseen for key in record.outcomes)
        ):
            return None
        told += await self._async_translated(claims.told_plainly(answer, self.turn.speaks))
        if not told:
            return await self._async_untold(answer)
        wrong: dict[str, str] = {}
        unproven = acts = any_true = False
        for item in told:
            verdicts = await self._async_verdicts(item)
            any_true = any_true or any(verdicts.values())
            if any(verdict is False for verdict in verdicts.values()):
                if item.acts and not record.acted and not await self._async_asks():
                    continue  # a report of what was done earlier: it may have been changed since
                acts = acts or item.acts
                states = {key: self.hass.states.get(key) for key, verdict in verdicts.items() if verdict is False}
                wrong |= {key: state.state if state is not None else "" for key, state in states.items()}
            elif not record.acted and not any(verdicts.values()):
                unproven = unproven or item.acts or bool(item.states and await self._async_recognised())
        if not record.acted and (wrong or unproven) and await self._async_asks():
            command = await self._async_recognised()
            if (unproven and not (command and command.fulfilled)) or (wrong and (acts or command)):
                return Untrue(nothing_done=True, states=wrong)
        if wrong:
            return Untrue(states=wrong)
        return None if any_true else await self._async_untold(answer)

    async def _async_claims_automation(self, answer: str, told: Sequence[claims.Told]) -> bool:
        """Return whether an answer says that an automation was made, changed or deleted, in a turn that did this to none.

        Where the turn did what no state shows, such as a wish or an item of a list, the answer may be about that.
        """
        turn = self.turn
        if not all(_shows(subject) for subject in turn.record.changed):
            return False
        if any(item.shown_by == frozenset() for item in told):
            return await self._async_asks()
        if not claims.wants_automation(turn.text, turn.language):
            return False
        for item in told:
            named = [self.hass.states.get(key) for key in await self._async_named(item.text)]
            if any(one.domain == AUTOMATION and one.state in item.states for one in named if one is not None):
                return False  # it was so before
        is_claimed = claims.tells_of_change(answer, turn.speaks) or (
            claims.tells_from_now(answer, turn.text, turn.speaks)  # of things, not of how it answers
            and bool(turn.record.changed or await self._async_named(answer) or await self._async_named(turn.text))
        )
        return is_claimed and await self._async_asks()

    async def _async_untold(self, answer: str) -> Untrue | None:
        """Doubt an answer of which no sentence is understood, but that claims.repeats words of a command and denies nothing."""
        language, text = self.turn.speaks, self.turn.text
        if self.turn.record.acted or claims.answers_with_less(answer, language) or not claims.repeats(answer, text):
            return None
        command = await self._async_recognised()
        return Untrue(nothing_done=True) if command is not None and not command.fulfilled else None

    async def _async_translated(self, sentences: Sequence[str]) -> list[claims.Told]:
        """Return the sentences that say a state in Home Assistant's own word for it, in a language of which no more is known."""
        found: list[claims.Told] = []
        for sentence in sentences:
            said = [fold(run) for run in runs(sentence)]
            for domain in {entity_id.partition(".")[0] for entity_id in await self._async_named(sentence)}:
                states = {state for state in STATES.get(domain, ()) if await self._async_says(said, domain, state)}
                if len(states) == 1:
                    told = frozenset(states)
                    found.append(claims.Told(text=sentence, acts=False, states=told, numbers=(), plain_numbers=()))
        return found

    async def _async_says(self, said: Sequence[str], domain: str, state: str) -> bool:
        """Return whether Home Assistant's word for a state is among these words, also inflected; a short one stands last."""
        path = f"entity_component._.state.{state}"
        word = await async_own_text(self.hass, self.turn.speaks, "entity_component", domain, path)
        if not word or len(words := [fold(run) for run in runs(word)]) != 1:
            return False
        if len(words[0]) < _TELLING:
            return said[-1:] == words
        return any(likeness(one, words[0]) >= _FORM for one in said)

    async def _async_verdicts(self, told: claims.Told) -> dict[str, bool | None]:
        """For each entity that a sentence is about, return whether it is what the sentence says; None if that cannot be told."""
        things = await self._async_named(told.text)
        if not things and (told.acts or told.states or told.numbers) and await self._async_asks():
            things = await self._async_named(self.turn.text)
        if told.shown_by is not None:
            things = [entity_id for entity_id in things if entity_id.partition(".")[0] in told.shown_by]
        asked_for = set(claims.numbers_in(self.turn.text))
        numbers = [*told.numbers, *(value for value in told.plain_numbers if value in asked_for)]
        if numbers and not (told.acts or not asked_for.isdisjoint(numbers) or await self._async_recognised()):
            numbers = []  # "a good temperature is 20 degrees"
        as_set = not self.turn.record.acted and (told.acts or not asked_for.isdisjoint(numbers))
        verdicts: dict[str, bool | None] = {}
        for entity_id in things:
            if self.turn.record.outcomes.get(entity_id, Outcome.FAILED) in HAPPENED:
                verdicts[entity_id] = True
            elif (state := self.hass.states.get(entity_id)) is not None:
                verdicts[entity_id] = agrees(state, told.states, numbers, as_set=as_set)
        return verdicts

    async def _async_named(self, text: str) -> Sequence[str]:
        user = self.turn.user
        return [
            entity_id
            for entity_id in (await self.home.async_get()).names.mentioned_in(text)
            if user is None or user.permissions.check_entity(entity_id, POLICY_READ)
            if not self.turn.within or is_shared(self.hass, entity_id)
        ]

    async def _async_asks(self) -> bool:
        """Return whether the user asks for something to be done."""
        turn = self.turn
        if claims.has_words(turn.language) and claims.asks_for_action(turn.text, turn.language):
            return True
        return await self._async_recognised() is not None

    async def _async_recognised(self) -> SpokenCommand | None:
        """Return the command that Home Assistant's own sentences find in what was said."""
        if not self._asked:
            self._asked = True
            parts = claims.parts_of(self.turn.text, self.turn.language)
            self._command = await async_command(self.hass, self.turn, parts)
            if self._command is None and parts and not parts[0].endswith("?"):
                words, ends = parts[-1].split(), [""]  # none is the whole
                for count in range(1, min(_LEAD_IN, len(words) - 2) + 1):
                    if claims.looks_back(" ".join(words[:count]), self.turn.language):  # a question is no lead-in
                        break
                    ends.append(" ".join(words[count:]))
                self._command = await async_command(self.hass, self.turn, ends)
        return self._command
