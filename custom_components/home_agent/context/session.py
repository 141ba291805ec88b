"""What a conversation was already told. Lives as long as Home Assistant's chat session.

The turn part of a user message is kept as it was sent, so that each request starts with the whole previous one.
"""

import asyncio
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from homeassistant.components.conversation import Content, UserContent
from homeassistant.core import callback
from homeassistant.helpers import chat_session
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..conversations.base import Owner, is_given
from ..errors import ConversationBusy
from .mode import Mode
from .past import Past
from .results import SentResults
from .selection import Told
from .speakers import Speakers

BEGINNING = datetime.min.replace(tzinfo=UTC)
MAX_SPOKEN_OF = 12  # entities


@dataclass(slots=True)
class TurnPart:
    """The turn part of one user message."""

    content: UserContent
    text: str
    told: dict[str, Told] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    """Date, area, user and language as they were told, and what was said in rounds that are not sent any more."""
    items: Sequence[str] = ()
    """Keys of the passages, memories and events in it."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the model knows from the parts that are still sent."""

    entities: Mapping[str, Told] = field(default_factory=dict)
    """In the order in which they were told last."""
    facts: Mapping[str, str] = field(default_factory=dict)
    items: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Note:
    """What the model was told behind an answer of its own."""

    content: Content
    text: str


@dataclass(slots=True)
class Session:
    """One conversation."""

    parts: list[TurnPart] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    start: datetime = BEGINNING
    """Messages before this moment are not sent any more: they were trimmed, or the history was cleared."""
    starts: dict[Owner, datetime] = field(default_factory=dict)
    """The same for those who talked before in this conversation."""
    cleared: datetime = BEGINNING
    """When the history of everybody was cleared."""
    cleared_by: dict[str, datetime] = field(default_factory=dict)
    """When a user cleared their own."""
    results: SentResults = field(default_factory=SentResults)
    """Results of tools as they were sent: long ones are cut."""
    failed: list[UserContent] = field(default_factory=list)
    """Messages that got an error instead of an answer: neither is sent again."""
    instructions: str | None = None
    """The owner's rendered prompt, fixed with the first turn so that a clock in it does not change the prefix."""
    personal: bool = False
    """They hold what was filled in for whoever talks: another one gets their own."""
    instructed: Owner | None = None
    """Whom they were written for."""
    entity_context: str = ""
    """The states in them, as they stand there."""
    told: dict[str, Told] = field(default_factory=dict)
    """The same as the model knows them from there."""
    said: list[tuple[UserContent, str]] = field(default_factory=list)
    """Messages with the endpoint that was asked with them, as they were said."""
    mode: Mode | None = None
    """How states are told, fixed with the first turn: what was sent stays as it is."""
    window: int | None = None
    """Tokens of prompt and answer together, fixed with the first turn."""
    map_limit: int | None = None
    """Tokens of the home map since the model said that a request was too long."""
    spoken_of: list[str] = field(default_factory=list)
    """Entity ids that were acted on or found, newest first."""
    dropped: list[Content] = field(default_factory=list)
    """Messages that are not sent any more and are not yet in the summary."""
    summary: str = ""
    """What was said in rounds that are not sent any more; empty: nobody made one."""
    states_told_at: float | None = None
    """Loop time of the newest states."""
    taints: set[str] = field(default_factory=set)
    """Tools whose results brought text from outside into the conversation."""
    owner: Owner | None = None
    """Who talks now."""
    speakers: Speakers = field(default_factory=Speakers)
    """Who said each message; nobody is sent what another said."""
    past: Past = field(default_factory=lambda: Past(conversation_id=""))
    """What whoever talks now said before this session."""
    pasts: dict[Owner, Past] = field(default_factory=dict)
    """The same of everybody who talks in it; none is ever told to another."""
    busy: bool = False
    summing_up: asyncio.Task[None] | None = None

    def hear(self, owner: Owner, question: UserContent) -> None:
        """Take note of who talks. Home Assistant 2026.10 lets others into a conversation; they begin one of their own."""
        self.speakers.heard(question, owner)
        if self.owner is not None and self.owner != owner:
            self.dropped.clear()
            self.summary = ""
            self.starts[self.owner] = self.start
            self.start = self.starts.get(owner, self.cleared_at(owner))
        self.owner = owner

    def is_for_others(self, question: Content) -> bool:
        """Return whether a message is none of whoever talks now."""
        return self.owner is not None and not self.speakers.is_of(question, self.owner)

    def texts(self) -> dict[int, str]:
        """Return the turn parts by `id()` of their user content, as the wire wants them."""
        live = {id(part.content): part.text for part in self.parts if part.text}
        return live | {id(content): text for content, text in self.past.parts}

    def note_texts(self) -> dict[int, str]:
        """Return the notes by `id()` of the answers they stand behind."""
        return {id(note.content): note.text for note in self.notes}

    def forget_gone(self, content: Sequence[Content]) -> None:
        """Drop what hangs on messages that Home Assistant did not keep (a failed turn on 2026.10)."""
        kept = {id(item) for item in content}
        self.parts = [part for part in self.parts if id(part.content) in kept]
        self.notes = [note for note in self.notes if id(note.content) in kept]
        self.failed = [item for item in self.failed if id(item) in kept]
        self.said = [pair for pair in self.said if id(pair[0]) in kept]
        self.results.forget_gone(kept)

    def known_from(self, sent: Sequence[Content]) -> Known:
        """Return what the model knows from the parts that hang on these messages."""
        ids = {id(item) for item in sent}
        told = dict(self.told)
        facts: dict[str, str] = {}
        items: set[str] = set()
        for part in self.parts:
            if id(part.content) in ids:
                for entity_id in part.told:
                    told.pop(entity_id, None)
                told |= part.told
                facts |= part.facts
                items.update(part.items)
        return Known(told, facts, frozenset(items))

    def said_to(self, endpoint_id: str) -> set[int]:
        """Return the `id()`s of the messages that an endpoint was asked with."""
        return {id(content) for content, asked in self.said if asked == endpoint_id}

    def needs_instructions(self, owner: Owner) -> bool:
        """Return whether instructions have to be written for whoever talks."""
        return self.instructions is None or (self.personal and self.instructed != owner)

    def window_of(self, known: int) -> int:
        """Return the window that this conversation goes by: the first one known, unless a smaller one becomes known."""
        self.window = min(known, self.window or known)
        return self.window

    def spoke_of(self, entity_ids: Iterable[str]) -> None:
        """Remember what the conversation was about, the most important first."""
        self.spoken_of = list(dict.fromkeys((*entity_ids, *self.spoken_of)))[:MAX_SPOKEN_OF]

    def leave_off_summing_up(self) -> None:
        """Stop the model that sums up: somebody speaks, and is not kept waiting."""
        if self.summing_up is not None:
            self.summing_up.cancel()
            self.summing_up = None

    def cleared_at(self, owner: Owner) -> datetime:
        """Return when the history of whoever talks was cleared last."""
        return max(self.cleared, self.cleared_by.get(owner.user_id or "", BEGINNING))

    def forget(self, user_id: str | None) -> bool:
        """Let the next message be the first one, of everybody or of one user; return whether they talk here."""
        talking = {owner.user_id for owner in (*self.pasts, self.owner) if owner is not None}
        if user_id is None or talking == {user_id}:
            self.start_anew()
            return True
        if user_id in talking:
            self._forget_user(user_id)
        return user_id in talking

    def _forget_user(self, user_id: str) -> None:
        self.cleared_by[user_id] = dt_util.utcnow()
        self.pasts = {owner: past for owner, past in self.pasts.items() if owner.user_id != user_id}
        self.starts = {owner: start for owner, start in self.starts.items() if owner.user_id != user_id}
        self.spoken_of.clear()
        if self.owner is not None and self.owner.user_id == user_id:
            self.leave_off_summing_up()
            self.start = self.cleared_by[user_id]
            self.dropped.clear()
            self.summary = ""
        if self.instructed is not None and self.instructed.user_id == user_id:
            self.renew_instructions()

    def start_anew(self) -> None:
        """Let the next message be the first one."""
        self.leave_off_summing_up()
        self.start = self.cleared = dt_util.utcnow()
        self.starts.clear()
        self.pasts.clear()
        self.taints.clear()
        self.spoken_of.clear()
        self.dropped.clear()
        self.summary = ""
        self.renew()

    def renew(self) -> None:
        """Take up the settings as they are now."""
        self.mode = self.window = None
        self.renew_instructions()

    def renew_instructions(self) -> None:
        """Have the instructions written again."""
        self.instructions = self.instructed = None
        self.personal, self.entity_context = False, ""
        self.told.clear()


class Sessions:
    """All conversations with this hub, by conversation id and profile."""

    def __init__(self) -> None:
        """Start with none."""
        self._sessions: dict[tuple[str, str], Session] = {}
        self._speakers: dict[str, Speakers] = {}

    @contextmanager
    def turn(self, conversation_id: str, profile_id: str) -> Generator[Session]:
        """Open the session for one turn. Raises `ConversationBusy` while another turn of it runs.

        Home Assistant 2026.11 refuses the second turn itself; 2026.10 would run both and lose one.
        """
        key = (conversation_id, profile_id)
        if (session := self._sessions.get(key)) is None:
            chat = chat_session.current_session.get()
            # From 2026.11 on a session knows its user; before, whoever knows its id gets in, and names can be guessed.
            guarded = hasattr(chat, "user_id") or is_given(conversation_id)
            speakers = self._speakers.setdefault(conversation_id, Speakers(guarded=guarded))
            session = self._sessions[key] = Session(speakers=speakers)
            if chat:
                chat.async_on_cleanup(lambda: self._forget(key))
        if session.busy:
            raise ConversationBusy
        session.busy = True
        session.leave_off_summing_up()
        try:
            yield session
        finally:
            session.busy = False

    @callback
    def async_clear(self, conversation_id: str | None = None, *, user_id: str | None = None) -> int:
        """Let one conversation, or all, start anew with their next message; return how many there were.

        With `user_id` only those of this user. Home Assistant keeps its chat log until the session ends; nothing in it is
        sent any more.
        """
        meant = [session for key, session in self._sessions.items() if conversation_id in (None, key[0])]
        return sum([session.forget(user_id) for session in meant])

    @callback
    def async_renew_instructions(self) -> None:
        """Let every conversation take up the owner's prompt and settings as they are now."""
        for session in self._sessions.values():
            session.renew()

    @callback
    def _forget(self, key: tuple[str, str]) -> None:
        self._speakers.pop(key[0], None)
        if (session := self._sessions.pop(key, None)) is not None:
            session.leave_off_summing_up()


SESSIONS: HassKey[Sessions] = HassKey("home_agent_sessions")
"""Kept while Home Assistant runs: its chat logs outlive a reload of the entry as well."""
