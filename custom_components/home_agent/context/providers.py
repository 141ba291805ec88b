"""Asks all providers at once, and keeps what they say within its room."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from homeassistant.util.async_ import create_eager_task

from ..client.wire import dump
from .base import Asked, Block, Provider
from .outages import Outages

TIMEOUT = 2.0  # seconds; all are asked together, while the entities are looked for


class Providers:
    """What was registered; owned by the entry."""

    def __init__(self, *providers: Provider) -> None:
        """Ask these, in this order."""
        self._providers: list[Provider] = list(providers)
        self._outages = Outages()

    def add(self, provider: Provider) -> Callable[[], None]:
        """Ask one more; return how to stop that."""
        self._providers.append(provider)
        return lambda: self._providers.remove(provider)

    async def async_blocks(
        self, asked: Asked, known: Collection[str], estimate: Callable[[str], int]
    ) -> dict[str, Block]:
        """Return what is new to the model by provider, within `asked.tokens` together.

        `known` are the keys (`told_key`) that the model still sees.
        """
        providers = tuple(self._providers) if asked.tokens > 0 else ()
        answers = await async_together(
            *(self._outages.async_answer(item.name, TIMEOUT, item.async_block(asked)) for item in providers)
        )
        room = asked.tokens
        blocks: dict[str, Block] = {}
        for provider, block in zip(providers, answers, strict=True):
            if block is None:
                continue
            new = replace(block, items=[item for item in block.items if told_key(provider.name, item.key) not in known])
            fitting, spent = _fitting(new, room, estimate)
            if fitting.items:
                blocks[provider.name] = fitting
                room -= spent
        return blocks


async def async_together[T](*questions: Coroutine[Any, Any, T]) -> list[T]:
    """Return the answers; what answers at once costs no turn of the event loop."""
    tasks = [create_eager_task(question) for question in questions]
    if waiting := [task for task in tasks if not task.done()]:
        await asyncio.gather(*waiting)
    return [task.result() for task in tasks]


def told_key(provider: str, key: str) -> str:
    """Return what is remembered of an item that was told."""
    return f"{provider}:{key}"


def _fitting(block: Block, room: int, estimate: Callable[[str], int]) -> tuple[Block, int]:
    """Return the block with its first items that fit, and their tokens; one that is too long leaves its place to others."""
    items = []
    spent = estimate(block.heading) if block.heading else 0
    for item in block.items:
        tokens = estimate(dump(item.data).decode())
        if spent + tokens <= room:
            items.append(item)
            spent += tokens
    return replace(block, items=items), spent


def keys_of(blocks: Mapping[str, Block]) -> Sequence[str]:
    """Return the keys under which the items are remembered."""
    return [told_key(name, item.key) for name, block in blocks.items() for item in block.items]
