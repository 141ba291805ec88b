"""What rides in the turn part besides states: knowledge, memories, happenings. One provider for each.

A provider returns what fits this request, best first; what the model was already told in this conversation is left out
here, so a provider need not remember anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from homeassistant.util.json import JsonValueType

from ..retrieval.base import Query
from ..turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user asks, and how much room an answer to it has."""

    turn: Turn
    query: Query
    """The words with what is known about who says them; `query.allowed` tells which entities may be spoken of."""
    tokens: int
    """What a block may take, about; items beyond it are cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One passage, memory or event."""

    key: str
    """Same key, same content: what was told with this key is not told again while the model still sees it."""
    data: JsonValueType
    """What the model reads. It came from outside, so it is written as JSON, never as words of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What a provider has to tell."""

    items: Sequence[Item]
    """Best first."""
    heading: str = ""
    """A line of ours above the items. Without one they stand beside the states, under the provider's name."""


class Provider(Protocol):
    """Has something to tell about a request."""

    @property
    def name(self) -> str:
        """Its key in the turn part, and what it is called in the log: `memories`."""
        ...

    async def async_block(self, asked: Asked) -> Block | None:
        """Return what to tell, None for nothing.

        May raise anything and take as long as it likes: what is not there in time is left out, and logged once per outage.
        """
        ...
