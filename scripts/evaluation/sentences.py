"""Whether Home Assistant's own sentences keep working: drawn from its installed data, each is said to its agent and to ours.

A sentence counts where Home Assistant's agent recognises it and has an answer in the home; then ours has to do the same to the
same entities, or answer the same question. What it declines and what it does otherwise is told.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
import logging
import multiprocessing
from random import Random
from typing import Any

from hassil.errors import MissingListError, MissingRuleError
from hassil.expression import (
    Alternative,
    Expression,
    ListReference,
    Permutation,
    RuleReference,
    Sentence,
    Sequence,
    TextChunk,
)
from hassil.intents import IntentData, Intents, RangeSlotList, SlotList, TextSlotList, TextSlotValue
from hassil.util import normalize_whitespace
from home_assistant_intents import get_languages
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.default_agent import DefaultAgent

from tests.local import said

from .local import OURS, SEED, STRICT, House, Reply, async_house, changes

SAME, DECLINED, DIFFERENT = "same", "declined", "different"
_FREE = "milk"
"""What stands for free text."""
_TRIES = 6  # sentences that are drawn until one has an answer
_OUTSIDE = frozenset({"HassStartTimer", "HassRespond", "HassBroadcast"})
"""Intents whose outcome is not in the home: the same intent is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """What became of one sentence."""

    language: str
    intent: str
    text: str
    outcome: str
    """`SAME`, `DECLINED` (nothing was done, and said so) or `DIFFERENT`."""
    said: str
    """Our answer."""


class Drawing:
    """Draws sentences of one language."""

    def __init__(self, intents: Intents, slot_lists: Mapping[str, SlotList], random: Random) -> None:
        """Draw from the sentences of a language, with the names of a home."""
        self._intents = intents
        self._lists = {**intents.slot_lists, **slot_lists}
        self._random = random

    def sentences(self, name: str) -> Iterator[str]:
        """Yield sentences of one intent, a few."""
        blocks = [data for data in self._intents.intents[name].data if data.sentences]
        for _ in range(_TRIES if blocks else 0):
            data = self._random.choice(blocks)
            rules = {**self._intents.expansion_rules, **data.expansion_rules}
            try:
                text = self._draw(self._random.choice(data.sentences).expression, data, rules)
            except MissingListError, MissingRuleError, IndexError:
                continue  # of no name in this home
            yield normalize_whitespace(text).strip()

    def _draw(self, item: Expression, data: IntentData, rules: Mapping[str, Sentence]) -> str:
        random = self._random
        if isinstance(item, TextChunk):
            return str(item.original_text)
        if isinstance(item, Alternative):
            return self._draw(random.choice(item.items), data, rules)
        if isinstance(item, Permutation):
            return " ".join(self._draw(part, data, rules) for part in random.sample(item.items, len(item.items)))
        if isinstance(item, Sequence):
            return "".join(self._draw(part, data, rules) for part in item.items)
        if isinstance(item, RuleReference):
            if item.rule_name not in rules:
                raise MissingRuleError(item.rule_name)
            return self._draw(rules[item.rule_name].expression, data, rules)
        assert isinstance(item, ListReference)
        return self._value(item.list_name, data, rules)

    def _value(self, name: str, data: IntentData, rules: Mapping[str, Sentence]) -> str:
        if (values := data.slot_lists.get(name, self._lists.get(name))) is None:
            raise MissingListError(name)
        if isinstance(values, TextSlotList):
            fitting = [value for value in values.values if _fits(value, data)]
            return self._draw(self._random.choice(fitting).text_in, data, rules)
        if isinstance(values, RangeSlotList):
            return str(self._random.choice(range(values.start, values.stop + 1, values.step)))
        return _FREE


def _fits(value: TextSlotValue, data: IntentData) -> bool:
    """Return whether a name is of what a sentence is about."""
    for key, wanted in data.requires_context.items():
        allowed = wanted.get("value") if isinstance(wanted, dict) else wanted
        found = (value.context or {}).get(key)
        if found is not None and allowed is not None:
            if found not in (allowed if isinstance(allowed, list) else [allowed]):
                return False
    return True


async def async_walk(house: House, language: str, random: Random, *, part: float = 1.0) -> list[Walked]:
    """Return what becomes of one sentence of each intent of a language; `part`: of so many of the intents, drawn."""
    agent = get_agent_manager(house.hass).default_agent
    assert agent is not None
    loaded = await agent.async_get_or_load_intents(language)
    if loaded is None:
        return []
    drawing = Drawing(loaded.intents, await _async_names(agent), random)
    names = sorted(loaded.intents.intents)
    walked = []
    for name in sorted(random.sample(names, max(1, round(part * len(names))))):
        for text in drawing.sentences(name):
            if (found := await _async_compared(house, language, text)) is not None:
                walked.append(found)
                break
    return walked


async def _async_names(agent: DefaultAgent) -> Mapping[str, SlotList]:
    return await agent._make_slot_lists()  # noqa: SLF001 - the names as its agent reads them


async def _async_compared(house: House, language: str, text: str) -> Walked | None:
    """Return what ours makes of a sentence; None where Home Assistant's agent makes nothing of it."""
    theirs, touched = await _async_said(house, STRICT, language, text)
    if not theirs.handled or len(theirs.intents) != 1:
        return None
    ours, also = await _async_said(house, OURS, language, text)
    if not also and ours.response is not None:  # what is already so is not done again
        also = {target.id for target in ours.response.success_results if target.id} & touched
    if (ours.intents == theirs.intents and (also == touched or theirs.intents[0] in _OUTSIDE)) or (
        also == touched and (also or ours.handled)
    ):
        outcome = SAME
    elif not also:
        outcome = DECLINED
    else:
        outcome = DIFFERENT
    return Walked(language=language, intent=theirs.intents[0], text=text, outcome=outcome, said=ours.said)


async def _async_said(house: House, agent: str, language: str, text: str) -> tuple[Reply, set[str]]:
    house.prepare({})
    before = house.snapshot()
    row = {"utterance": text, "lang": language, "kind": "control", "context_area": "living"}
    reply, _ = await house.async_ask(agent, row)
    touched = changes(before, house.snapshot()) | (house.called & house.rows.keys())
    house.forget()
    return reply, touched


async def _async_walk_alone(language: str) -> list[Walked]:
    async with async_house(said.home("en", coloured=True)) as house:
        return await async_walk(house, language, Random(SEED))


def walk(language: str) -> list[Walked]:
    """Return what becomes of one sentence of each intent of a language: the work of one process."""
    logging.disable(logging.CRITICAL)  # what fails is counted
    return asyncio.run(_async_walk_alone(language))


def run(languages: Collection[str], processes: int, say: Callable[[str], None]) -> list[Walked]:
    """Return what becomes of one sentence of each intent of these languages, or of all."""
    walked: list[Walked] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, max_tasks_per_child=8) as pool:
        for found in pool.map(walk, sorted(languages or get_languages())):
            walked += found
            say(f"{found[0].language}: {len(found)} sentences" if found else "no sentences")
    return walked


def render(walked: list[Walked]) -> str:
    """Return the counts by language, and what was not the same."""
    lines = ["| language | sentences | same | declined | different |", "| --- | --- | --- | --- | --- |"]
    for language in ("all", *sorted({item.language for item in walked})):
        own = Counter(item.outcome for item in walked if language in ("all", item.language))
        lines.append(f"| {language} | {own.total()} | {own[SAME]} | {own[DECLINED]} | {own[DIFFERENT]} |")
    others = [item for item in walked if item.outcome != SAME]
    lines += ["", *(f"- {item.outcome}: {item.language}, {item.intent}: {item.text!r}: {item.said}" for item in others)]
    return "\n".join(lines)


def as_json(walked: list[Walked]) -> list[dict[str, Any]]:
    """Return what was not the same as data."""
    return [
        {
            "language": item.language,
            "intent": item.intent,
            "text": item.text,
            "outcome": item.outcome,
            "said": item.said,
        }
        for item in walked
        if item.outcome != SAME
    ]
