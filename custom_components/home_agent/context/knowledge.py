"""Passages of the owner's documents, below the states and behind their header."""

from zlib import crc32

from ..knowledge.library import Knowledge
from ..knowledge.passage import HEADER, taint
from .base import Asked, Block, Item


class KnowledgeProvider:
    """Tells what the owner's documents say about a request."""

    name = "knowledge"

    def __init__(self, knowledge: Knowledge) -> None:
        """Look in these documents."""
        self._knowledge = knowledge

    async def async_block(self, asked: Asked) -> Block | None:
        """Return the nearest passages. What others wrote makes the conversation careful, whether it fits or not."""
        query = asked.query
        passages = await self._knowledge.async_find(query.text, language=query.language, previous=query.previous)
        if not passages:
            return None
        taint(asked.turn, passages)
        items = [
            Item(key=f"{item.collection}/{item.id}/{crc32(item.text.encode()):x}", data=item.as_told())
            for item in passages
        ]
        return Block(items=items, heading=HEADER)
