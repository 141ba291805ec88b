"""What models write where JSON was asked for is read all the same, and never raises."""

import json

import pytest

from custom_components.home_agent.memory.extraction import MAX_CANDIDATES, MAX_REPLY, candidates_of
from custom_components.home_agent.memory.record import MemorySource, MemoryType

TEA = {"type": "preference", "content": "Grandma drinks peppermint tea", "importance": 0.7}
KEY = {"type": "fact", "content": "The spare key hangs behind the boiler", "importance": 0.8}
BOTH = json.dumps({"memories": [TEA, KEY]})


@pytest.mark.parametrize("reply", [
    BOTH, json.dumps([TEA, KEY]), f"```json\n{BOTH}\n```",
    f"Here is what I found:\n```\n{BOTH}\n```\nLet me know if [anything] is missing.", f"Sure! {BOTH} That is all.",
    f"{json.dumps(TEA)}\n{json.dumps(KEY)}", f"<think>The user {{likes}} tea [maybe].</think>{BOTH}",
    f'Hm, {{"content": "thought"}}</think>{BOTH}', BOTH.replace("}", ",}").replace("]", ",]"), BOTH.removesuffix("]}"),
    f'{BOTH.removesuffix("]}")}, {{"type": "fact", "content": "The bins go o',
    json.dumps({"result": "ok", "items": [TEA, KEY]}),
])  # fmt: skip
def test_the_usual_habits_are_understood(reply: str) -> None:
    found = candidates_of(reply)
    assert [(draft.content, draft.type.value, draft.importance) for draft in found] == [
        (TEA["content"], "preference", 0.7),
        (KEY["content"], "fact", 0.8),
    ]
    assert {draft.source for draft in found} == {MemorySource.EXTRACTED}


def test_a_single_object_and_plain_sentences() -> None:
    assert [draft.content for draft in candidates_of(json.dumps(TEA))] == [TEA["content"]]
    assert [draft.content for draft in candidates_of('["The cat is called Minka"]')] == ["The cat is called Minka"]


@pytest.mark.parametrize(
    "reply", ["", "Nothing.", '{"memories": []}', "[]", "```json\n[]\n```", "{", "[[[[", '{"a": 1}', "[1, null, {}]"]
)
def test_nothing_is_nothing(reply: str) -> None:
    assert candidates_of(reply) == []


@pytest.mark.parametrize(("given", "kind"), [
    ("Preference", MemoryType.PREFERENCE), ("preferences", MemoryType.PREFERENCE), ("birthday", MemoryType.EVENT),
    ("appointment", MemoryType.EVENT), ("situation", MemoryType.CONTEXT), ("routine", MemoryType.FACT),
    (7, MemoryType.FACT), (None, MemoryType.FACT),
])  # fmt: skip
def test_unknown_types_become_known_ones(given: object, kind: MemoryType) -> None:
    assert candidates_of(json.dumps([{**TEA, "type": given}]))[0].type is kind


@pytest.mark.parametrize(("given", "importance"), [
    (0.7, 0.7), ("0.7", 0.7), (7, 0.7), (70, 0.7), ("70%", 0.7), ("high", 0.8), ("?", 0.5), (None, 0.5), (True, 0.5),
    (-1, 0.0), (1, 1.0),
])  # fmt: skip
def test_importance_is_read_however_it_is_said(given: object, importance: float) -> None:
    assert candidates_of(json.dumps([{**TEA, "importance": given}]))[0].importance == pytest.approx(importance)


def test_labels_and_what_it_replaces() -> None:
    item = {**TEA, "entities": ["Grandma", 7, ""], "topics": "food", "replaces": ["m1", None]}
    draft = candidates_of(json.dumps([item]))[0]
    assert draft.metadata == {"entities": ["Grandma"], "topics": ["food"]}
    assert draft.replaces == {"m1"}


def test_it_is_bounded() -> None:
    assert len(candidates_of(json.dumps([TEA] * 100))) == MAX_CANDIDATES
    assert candidates_of("[" * 400_000) == []
    assert candidates_of("x" * MAX_REPLY + json.dumps([TEA])) == []
