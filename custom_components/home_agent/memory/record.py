"""The shapes of memory: what is kept, what is to be kept, and whose it is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Self
from uuid import uuid4

from homeassistant.util.json import JsonObjectType, JsonValueType

from ..home.foreign import TextReader
from ..support.rows import as_row, from_row

MAX_CONTENT = 1000  # characters
ALL: Final = "*"  # every owner; no user has this id
TAINTED = "tainted"
"""Key of the metadata under which stands what brought outside text into the conversation that a memory comes from."""
_NOTHING: Mapping[str, JsonValueType] = MappingProxyType({})


class MemoryType(StrEnum):
    """What kind of thing is kept."""

    FACT = "fact"
    PREFERENCE = "preference"
    CONTEXT = "context"  # what holds for a while: guests, a holiday, an illness
    EVENT = "event"


class MemorySource(StrEnum):
    """How a memory came to be; the first two only go when a user says so, or at a time that was said."""

    SAID = "said"  # A user asked to remember it
    SERVICE = "service"  # an action stored it
    EXTRACTED = "extracted"  # A model thought it worth keeping


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing that is kept."""

    id: str  # A UUID
    type: MemoryType
    content: str  # one paragraph of at most `MAX_CONTENT` characters
    owner: str | None  # the id of a user; None: it is the home's
    source: MemorySource
    importance: float  # 0 to 1
    extracted_at: datetime  # when it was stored first, in UTC; so all times
    last_accessed: datetime
    accesses: int = 0
    expires_at: datetime | None = None
    is_transient: bool = False  # it was stored for a while only
    source_conversation_id: str | None = None
    language: str = "en"
    author: str | None = None
    """Id of the user who wrote it, or `DEVICE`; None: not known, as of memories of older releases."""
    metadata: Mapping[str, JsonValueType] = field(default_factory=lambda: _NOTHING)
    """Lists under `entities`, `topics` and `TAINTED`, where there are any."""
    replaced_by: str | None = None
    """Id of the memory that holds instead; what was replaced is kept as history, and not used."""
    replaced_at: datetime | None = None

    @property
    def is_kept(self) -> bool:
        """Whether a user asked to keep it, so that it is never dropped for room."""
        return self.source is not MemorySource.EXTRACTED

    @property
    def tainted(self) -> list[str]:
        """What brought text from outside into the conversation it comes from."""
        found = self.metadata.get(TAINTED)
        return [str(item) for item in found] if isinstance(found, list) else []

    def taints_of(self, reader: TextReader) -> set[str]:
        """Return what taints a reader of it; a user's own of which no author is known was written by that user."""
        return reader.taints_by(self.author or self.owner, self.tainted)

    def importance_at(self, now: datetime, decay: float) -> float:
        """Return the importance by now: what was extracted loses a share (`decay`) with each day without use."""
        if self.is_kept or not decay:
            return self.importance
        days = max(0.0, (now - self.last_accessed) / timedelta(days=1))
        return self.importance * float((1 - min(decay, 1.0)) ** days)

    def is_expired(self, now: datetime) -> bool:
        """Return whether its time is over."""
        return self.expires_at is not None and self.expires_at <= now

    def as_dict(self) -> JsonObjectType:
        """Return every field under its own name, times as ISO strings."""
        return as_row(self) | {"importance": round(self.importance, 4)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the memory. Raises `KeyError`, `TypeError` or `ValueError` for invalid data."""
        memory = from_row(cls, data)
        content, importance = cleaned(memory.content)[:MAX_CONTENT], min(max(memory.importance, 0.0), 1.0)
        return replace(memory, content=content, importance=importance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is to be remembered."""

    content: str
    type: MemoryType = MemoryType.FACT
    owner: str | None = None
    source: MemorySource
    importance: float = 0.5
    language: str = "en"
    expires_at: datetime | None = None  # none: as long as its type is kept
    source_conversation_id: str | None = None
    author: str | None = None
    metadata: Mapping[str, JsonValueType] = field(default_factory=lambda: _NOTHING)
    replaces: frozenset[str] = frozenset()  # ids of memories that are known to hold no longer because of it

    def as_memory(self, now: datetime, *, days: int) -> Memory:
        """Return a new memory of it, which is kept for so many days if the draft says nothing else; 0: for ever."""
        expires_at = self.expires_at or (now + timedelta(days=days) if days else None)
        return Memory(
            id=str(uuid4()),
            type=self.type,
            content=cleaned(self.content),
            owner=self.owner,
            source=self.source,
            importance=min(max(self.importance, 0.0), 1.0),
            extracted_at=now,
            last_accessed=now,
            expires_at=expires_at,
            is_transient=expires_at is not None,
            source_conversation_id=self.source_conversation_id,
            language=self.language,
            author=self.author,
            metadata=dict(self.metadata),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memories one turn or one action may read, and whose it writes."""

    owners: frozenset[str | None]  # whose are read; None is the home
    owner: str | None  # whose what is written becomes
    is_known: bool = True  # whether the speaker is known; otherwise only what they ask to keep is stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of a draft."""

    memory: Memory | None  # what holds now; None where it was refused
    outcome: str  # `added`, `merged` (with what was there) or `refused`
    replaced: tuple[Memory, ...] = ()  # what holds no longer because of it
    dropped: tuple[Memory, ...] = ()  # what had to go for want of room; never what a user asked to keep
    reason: str | None = None  # why it was refused: `empty`, `too_long`, `full`, `unwritable` or `off`


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMemory:
    """A memory that answers a question."""

    memory: Memory
    score: float  # 0 to 1, the higher the nearer


def marked(metadata: Mapping[str, JsonValueType], taints: Iterable[str]) -> Mapping[str, JsonValueType]:
    """Return metadata with these taints instead of its own."""
    rest = {key: value for key, value in metadata.items() if key != TAINTED}
    listed = [*sorted(taints)]
    return rest | ({TAINTED: [*listed]} if listed else {})


def cleaned(text: object) -> str:
    """Return a text as one paragraph, without control characters. Raises `TypeError` for other than text."""
    if not isinstance(text, str):
        raise TypeError(type(text).__name__)
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(text.split())
