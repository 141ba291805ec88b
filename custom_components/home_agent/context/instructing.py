"""Writes the instructions of a conversation: gathers what the owner's prompt has a place for, and nothing else."""

from collections.abc import Callable, Iterable
from typing import Protocol

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..conversations.base import Role, StoredMessage
from ..prompt.events_asked import event_lines, events_text
from ..prompt.history_text import HistoryMessage, HistoryOptions
from ..prompt.instructions import Instructions, instructions, plain
from ..prompt.placeholders import ENTITIES, EVENTS, PromptTask, async_zone, has_history
from ..prompt.service import ProcessedPrompt, PromptContextService
from ..prompt.words import words_for
from ..turn import Turn
from .budget import Budget
from .happenings import Happenings
from .outages import Outages
from .session import Session

TIMEOUT = 4.0  # seconds for states, or for events; each asks its own sources and has limits of its own


class TellsStates(Protocol):
    """Knows the entities of the first turn part (briefing.py)."""

    @property
    def budget(self) -> Budget:
        """Tokens per room of the prompt."""
        ...

    async def async_entity_context(self) -> str:
        """Return their states, which count as told from then on."""
        ...


class Instructing:
    """Writes instructions; owned by the entry."""

    def __init__(self, hass: HomeAssistant, happenings: Happenings) -> None:
        """Start with nothing remembered."""
        self._hass = hass
        self._happenings = happenings
        self._outages = Outages()
        self.service = PromptContextService(hass)

    async def async_write(
        self,
        turn: Turn,
        session: Session,
        states: TellsStates,
        tool_names: frozenset[str],
        guides: Iterable[str],
        *,
        looks_up: bool,
    ) -> Instructions:
        """Return the instructions for a conversation that begins with this turn."""
        profile = turn.profile
        slow = frozenset([prompt for prompt in _prompts(turn) if await self.service.async_is_slow(prompt)])

        def written(process: Callable[[str], ProcessedPrompt]) -> Instructions:
            def filled(prompt: str) -> ProcessedPrompt:
                return self.service.unprocessed(prompt, profile.name) if prompt in slow else process(prompt)

            return instructions(self._hass, turn, tool_names, guides, looks_up=looks_up, process=filled)

        if not profile.use_prompt_context_service:
            return written(lambda prompt: plain(self._hass, prompt, turn))
        task = await self._async_task(turn, session, states)
        options = HistoryOptions(
            max_length=profile.prompt_history_length,
            max_messages=profile.prompt_history_messages,
            max_tokens=min(profile.prompt_history_tokens, max(states.budget.history, states.budget.blocks)),
            include_system_messages=profile.prompt_history_system,
        )
        return written(lambda prompt: self.service.process_prompt(prompt, task, options))

    async def _async_task(self, turn: Turn, session: Session, states: TellsStates) -> PromptTask:
        needs = self.service.needs(*_prompts(turn))
        session.personal = bool(needs)
        zone = await async_zone(self._hass, turn.profile.timezone.strip())
        return PromptTask(
            agent_name=turn.profile.name,
            task_id=turn.conversation_id,
            language=turn.language,
            user_id=turn.context.user_id,
            user_name=turn.user.name if turn.user else None,
            household_id=self._hass.config.location_name or None,
            current_time=dt_util.now(zone),
            timezone=zone.key,
            area_id=turn.area_id,
            device_id=turn.device_id,
            history=_history(session, turn) if has_history(needs) else (),
            entity_context=await self._async_entities(states) if ENTITIES in needs else "",
            event_context=await self._async_events(turn, states) if EVENTS in needs else None,
            mask=turn.mask,
        )

    async def _async_entities(self, states: TellsStates) -> str:
        return await self._outages.async_answer(ENTITIES, TIMEOUT, states.async_entity_context()) or ""

    async def _async_events(self, turn: Turn, states: TellsStates) -> str | None:
        """Return the events that the first message asks for, as many as have room; None when it asks for none."""
        events = await self._outages.async_answer(EVENTS, TIMEOUT, self._happenings.async_events(turn))
        if events is None:
            return None
        turn.events_in_prompt = True
        words = words_for(turn.language)
        lines = _fitting(event_lines(events, words), states.budget.blocks, self.service.estimate_tokens)
        return events_text(lines, words)


def _prompts(turn: Turn) -> tuple[str, ...]:
    """Return what the owner wrote."""
    profile = turn.profile
    return (profile.prompt_additions, *(() if profile.use_default_prompt else (profile.custom_prompt,)))


def _fitting(lines: list[str], room: int, estimate: Callable[[str], int]) -> list[str]:
    fitting: list[str] = []
    for line in lines:
        room -= estimate(line)
        if room >= 0:
            fitting.append(line)
    return fitting


def _history(session: Session, turn: Turn) -> tuple[HistoryMessage, ...]:
    """Return what was said before this session; from now on it is told in the prompt, and nowhere else (C-9)."""
    system = turn.profile.prompt_history_system
    return tuple(told for message in session.past.tell() for told in _told(message, system=system))


def _told(message: StoredMessage, *, system: bool) -> Iterable[HistoryMessage]:
    role = "user" if message.role is Role.USER else "assistant"
    if system:
        for number, call in enumerate(message.calls):
            text = f"{call.name} ({'done' if call.success else 'failed'})"
            yield HistoryMessage(id=f"{message.id}-{number}", role="system", text=text)
    yield HistoryMessage(id=message.id, role=role, text=message.text)
