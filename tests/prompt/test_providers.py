"""Providers: all at once, within their room, and none of them can cost the answer."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
import logging

import pytest

from custom_components.home_agent.prompt import providers as module
from custom_components.home_agent.prompt.providers import Block, ContextRequest, Item, Providers, keys_of, new_blocks
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.turn.turn import Turn

type MakeTurn = Callable[..., Turn]


class Says:
    """A provider that says what the test wants, or fails, or never comes."""

    def __init__(self, name: str, *words: str, heading: str = "", error: Exception | None = None) -> None:
        self.name = name
        self.block = Block(items=[Item(key=word, data=word) for word in words], heading=heading)
        self.error = error
        self.comes = True

    def is_asked(self, request: ContextRequest) -> bool:
        return True

    async def async_block(self, request: ContextRequest) -> Block | None:
        if not self.comes:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        return self.block


def estimate(text: str) -> int:
    return len(text)


@pytest.fixture
def asked(make_turn: MakeTurn) -> ContextRequest:
    return ContextRequest(
        turn=make_turn("where is the marzipan"), query=Query(text="where is the marzipan"), tokens=100
    )


async def blocks_of(providers: Providers, asked: ContextRequest, known: Collection[str] = ()) -> Mapping[str, Block]:
    """Return what is told of all that the providers have."""
    return new_blocks(await providers.async_blocks(asked), known, asked.tokens, estimate)


def told(blocks: Mapping[str, Block]) -> dict[str, Sequence[object]]:
    return {name: [item.data for item in block.items] for name, block in blocks.items()}


async def test_what_is_new_to_the_model_is_told(asked: ContextRequest) -> None:
    providers = Providers(Says("memories", "one", "two"), Says("happenings"))
    first = await blocks_of(providers, asked)
    assert told(first) == {"memories": ["one", "two"]}
    assert await blocks_of(providers, asked, keys_of(first)) == {}


async def test_same_key_of_another_provider_is_something_else(asked: ContextRequest) -> None:
    providers = Providers(Says("memories", "one"), Says("happenings", "one"))
    assert told(await blocks_of(providers, asked, ["memories:one"])) == {"happenings": ["one"]}


async def test_what_does_not_fit_is_left_out(asked: ContextRequest) -> None:
    providers = Providers(Says("knowledge", "a" * 60, "b" * 60, "c" * 10, heading="#" * 10), Says("memories", "d" * 20))
    assert told(await blocks_of(providers, asked)) == {"knowledge": ["a" * 60, "c" * 10]}


async def test_one_that_fails_or_sleeps_is_left_out_and_logged_once_per_outage(
    asked: ContextRequest, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.01)
    failing, sleeping = Says("memories", "one", error=ValueError("marzipan")), Says("happenings", "two")
    sleeping.comes = False
    providers = Providers(failing, sleeping, Says("knowledge", "three"))
    for _ in range(2):
        assert told(await blocks_of(providers, asked)) == {"knowledge": ["three"]}
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 2
    assert "marzipan" not in caplog.text
    failing.error, sleeping.comes = None, True
    assert set(await blocks_of(providers, asked)) == {"memories", "happenings", "knowledge"}
    failing.error = ValueError()
    await blocks_of(providers, asked)
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 3


async def test_without_room_nobody_is_asked(asked: ContextRequest) -> None:
    sleeping = Says("memories", "one")
    sleeping.comes = False
    assert await blocks_of(Providers(sleeping), replace(asked, tokens=0)) == {}
