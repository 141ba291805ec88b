"""Both ends of a turn: take up what was said before this session, and keep what was said in the turn."""

from collections.abc import Sequence
from datetime import timedelta

from homeassistant.components.conversation import Content, UserContent
from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from .. import events
from ..conversations.base import Owner
from ..conversations.store import Conversations
from ..turn import Turn
from .past import Past, kept_messages
from .session import BEGINNING, Session


@callback
def recall(
    turn: Turn, session: Session, conversations: Conversations, conversation_id: str | None, question: UserContent
) -> None:
    """Let the session know who talks, and what they said before it (`session.past`).

    `conversation_id` is what the caller sent: Home Assistant replaces an id that it does not know any more.
    """
    owner = Owner.of(turn)
    session.hear(owner, question)
    if (past := session.pasts.get(owner)) is None:
        past = session.pasts[owner] = Past(conversation_id=turn.conversation_id)
        found = None
        if turn.profile.history_enabled:
            found = conversations.find(turn, conversation_id, anew=session.cleared_at(owner) != BEGINNING)
        if found is not None:
            begin = dt_util.utcnow() - timedelta(hours=turn.profile.history_max_age_hours)
            past.conversation_id = found.id
            past.messages = found.since(begin).messages
            if past.messages:  # words of a web page are no safer for being kept
                session.taints |= found.taints
    session.past = past


@callback
def keep(
    hass: HomeAssistant,
    turn: Turn,
    session: Session,
    conversations: Conversations,
    said: Sequence[Content],
) -> None:
    """Keep a round that was answered: the user's message and what follows it in the chat log.

    Not when the history was cleared while it was answered.
    """
    if said[0].created < session.cleared_at(Owner.of(turn)):
        return
    messages = kept_messages(said)
    if messages and (kept := conversations.add(turn, session.past.conversation_id, messages, session.taints)):
        events.async_history_saved(hass, turn, len(messages), len(kept.messages), persists=kept.persists)
