"""What is kept of a call has no secret and nothing that was said."""

from typing import Any

import pytest

from custom_components.home_agent.policy.audit import MAX_TEXT, masked, masked_result
from custom_components.home_agent.support.masking import MASK


def test_secrets_and_words_are_masked() -> None:
    parameters = {
        "entity_id": "alarm_control_panel.home",
        "code": "1234",
        "parameters": {"pin": 1, "message": "Call mum", "brightness": 3},
    }
    assert masked(parameters) == {
        "entity_id": "alarm_control_panel.home",
        "code": MASK,
        "parameters": {"pin": MASK, "message": MASK, "brightness": 3},
    }


@pytest.mark.parametrize("parameters", [
    {"summary": "marzipan"}, {"name": "marzipan"}, {"add": ["marzipan", "eggs"]}, {"items": "marzipan"},
    {"delete": "marzipan"}, {"value": "marzipan"}, {"action": "marzipan"}, {"marzipan for all": True},
    {"nested": {"deeper": [{"x": "marzipan"}]}}, '{"value": "marzipan", "code": "4711"}', {"value": "marzipan.cake"},
    {"value": "4711"}, {"value": b"marzipan"},
], ids=str)  # fmt: skip
def test_a_text_of_no_known_kind_is_masked_whatever_it_is_called(parameters: object) -> None:
    kept = str(masked({"action": "set_value", "entity_id": "todo.list", "parameters": parameters}))
    assert "marzipan" not in kept
    assert "4711" not in kept
    assert "'action': 'set_value', 'entity_id': 'todo.list'" in kept


@pytest.mark.parametrize("parameters", [
    {"entity_id": "light.desk"},
    {"entity_id": "light.desk, light.bed"},
    {"entity_id": ["light.*", "*.kitchen*", "*"]},
    {"action": "light.turn_on"},
    {"attributes": ["brightness", "rgb_color"]},
    {"brightness_pct": "50%", "temperature": "21,5 °C", "duration": "24h"},
    {"hvac_mode": "heat", "color_name": "red", "state": "off"},
    {"a": True, "b": None, "c": 1, "d": 2.5, "rgb_color": [255, 0, 0]},
    {"history": {"duration": "24h", "aggregate": "avg"}},
], ids=str)  # fmt: skip
def test_ids_numbers_and_choices_are_kept(parameters: dict[str, object]) -> None:
    assert masked(parameters) == parameters


@pytest.mark.parametrize(("parameters", "kept"), [
    ({1: "on", None: "off"}, {"1": "on", "None": "off"}), ({"\ud83d": "\ud83d"}, {MASK: MASK}),
    ({"number": 2**70, "set": {1}}, {"number": MASK, "set": MASK}), ({}, {}),
], ids=["keys that are no text", "half a surrogate pair", "odd values", "nothing"])  # fmt: skip
def test_whatever_a_model_writes_is_masked(parameters: dict[Any, object], kept: dict[str, object]) -> None:
    assert masked(parameters) == kept


@pytest.mark.parametrize(("result", "heard"), [
    (
        {"entity_id": "input_text.diary", "new_state": "marzipan", "outcome": "reached", "max": 100},
        {"entity_id": "input_text.diary", "new_state": MASK, "outcome": "reached", "max": 100},
    ),
    (
        {"count": 2, "entities": [{"entity_id": "text.a", "state": "x"}, {"entity_id": "light.a", "state": "on"}]},
        {"count": 2, "entities": [{"entity_id": "text.a", "state": MASK}, {"entity_id": "light.a", "state": "on"}]},
    ),
    (
        {"entity_id": "todo.a", "name": "List", "state": "1", "items": [{"summary": "marzipan"}]},
        {"entity_id": "todo.a", "name": "List", "state": MASK, "items": MASK},
    ),
    (
        {"domains": {"input_text": {"states": {"marzipan": 1}}, "light": 2}, "entities": {"text.a": "marzipan"}},
        {"domains": {"input_text": MASK, "light": 2}, "entities": {"text.a": MASK}},
    ),
    ({"answer": "Added marzipan", "data": {"success": []}}, {"answer": MASK, "data": {"success": []}}),
    ("You asked for marzipan", MASK),
    (None, None),
], ids=["text", "several", "list", "overview", "sentence", "answer", "nothing"])  # fmt: skip
def test_results_tell_the_house_nothing_that_somebody_wrote(result: object, heard: object) -> None:
    assert masked_result(result) == heard


def test_long_and_deep_values_are_cut() -> None:
    deep: dict[str, object] = {"a": 1}
    for _ in range(10):
        deep = {"a": deep, "list": list(range(100))}
    kept = str(masked({"x": "y" * 5000, "deep": deep}))
    assert len(kept) < 2 * MAX_TEXT + 1000
    assert "…" in kept
