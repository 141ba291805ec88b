"""Brings the stable part, the history that is still sent and the turn part together: the messages of a request."""

from collections.abc import Collection, Sequence

from homeassistant.components.conversation import ChatLog, Content, SystemContent, UserContent
from homeassistant.core import HomeAssistant

from .. import events
from ..client.base import Message
from ..client.messages import messages_from_content
from ..client.tokens import TokenEstimator
from ..const import LOGGER
from ..home import Home, HomeSnapshot
from ..prompt.default import NOTHING_DONE
from ..prompt.parts import render_note
from ..turn import Turn
from .budget import Budget
from .history import sent_rounds
from .selection import Selections
from .session import Note, Session, TurnPart
from .stable_part import StablePart
from .turn_part import async_turn_part

UNLIMITED = 10**9  # tokens; within a turn nothing is trimmed any more


class Briefing:
    """What one turn tells the model."""

    def __init__(
        self,
        hass: HomeAssistant,
        turn: Turn,
        session: Session,
        chat_log: ChatLog,
        selections: Selections,
        budget: Budget,
        estimator: TokenEstimator,
    ) -> None:
        """Belong to one turn; `async_prepare` comes first."""
        self._hass = hass
        self._turn = turn
        self._session = session
        self._chat_log = chat_log
        self._selections = selections
        self._budget = budget
        self._estimate = estimator.estimate
        self._question = next(item for item in reversed(chat_log.content) if isinstance(item, UserContent))
        self._past: Sequence[Content] = ()
        self._snapshot = HomeSnapshot()

    def restore(self, tools: Collection[str]) -> None:
        """Begin with what was said before this session; `tools` are the names of those that are offered."""
        limit = self._turn.profile.history_max_messages
        self._past = self._session.past.restore(limit, self._budget.history, self._estimate, tools)

    async def async_prepare(self, home: Home, stable: StablePart, words: str) -> None:
        """Write the system message into the chat log and the turn part into the session."""
        self._snapshot = await home.async_get()
        shown = self._snapshot if self._turn.profile.context_mode != "off" else HomeSnapshot()
        text = await stable.async_text(
            words, shown, self._budget.home_map, self._estimate, self._chat_log.extra_system_prompt
        )
        self._chat_log.content[0] = SystemContent(content=text)
        part = await self._async_add_part(self._budget)
        events.async_context_injected(self._hass, self._turn, list(part.told), self._estimate(part.text))

    async def async_messages(self, shorter: bool) -> list[Message]:
        """Return the messages as they go over the wire; `shorter` after the model said they were too many."""
        if shorter:
            self._session.parts.pop()
            await self._async_add_part(self._budget.tightened())
        content = [self._chat_log.content[0], *self._sent()]
        return messages_from_content(content, self._session.texts(), notes=self._session.note_texts())

    def note_what_was_done(self) -> None:
        """Tell the model, behind the last answer, what became of its turn. It stays there: a request begins as the last."""
        text = render_note(NOTHING_DONE, self._turn.effects)
        self._session.notes.append(Note(self._chat_log.content[-1], text))

    async def _async_add_part(self, budget: Budget) -> TurnPart:
        """Decide which rounds are sent, and tell what the model does not know from them."""
        rounds = sent_rounds(self._all(), self._session, self._turn.profile, budget.history, self._estimate)
        sent: list[Content] = [item for one in rounds for item in one]
        told = self._session.told_since(sent)
        try:
            part = await async_turn_part(
                self._hass,
                self._turn,
                self._session,
                self._snapshot,
                self._selections,
                self._question,
                told,
                budget.states,
                self._estimate,
            )
        except Exception:  # noqa: BLE001 - a state that cannot be told must not cost the answer
            LOGGER.exception("The states of the house could not be told")
            part = TurnPart(content=self._question, text="")
        self._session.parts.append(part)
        return part

    def _sent(self) -> list[Content]:
        """Return the chat log from the oldest round that is sent, without rounds that failed."""
        rounds = sent_rounds(self._all(), self._session, self._turn.profile, UNLIMITED, self._estimate)
        return [item for one in rounds for item in one]

    def _all(self) -> list[Content]:
        """Return what was said before this session and in it."""
        return [*self._past, *self._chat_log.content]
