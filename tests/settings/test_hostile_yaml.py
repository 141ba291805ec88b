"""YAML of an agent that only costs time: it is refused, with the line, before it is read."""

import time

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.settings.portable import MAX_DEPTH, from_yaml

HOSTILE = {
    "lists": "[" * 99_000,
    "closed lists": "[" * 40_000 + "]" * 40_000,
    "mappings": "{a: " * 20_000,
    "rows": "- " * 49_000,
    "keys": "? " * 49_000,
    "blocks": "\n".join(f"{' ' * depth}a:" for depth in range(400)),
    "just too deep": "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
    "many values": "x: [" + "a," * 49_000 + "]",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.usefixtures("no_collection")
def test_what_is_too_deep_costs_no_time(text: str) -> None:
    began = time.thread_time()
    name, settings, [(key, told)] = from_yaml(MockConfigEntry(), text)
    assert time.thread_time() - began < 2.5
    assert (name, settings, key) == ("", {}, "import_yaml")
    assert "too deeply" in told["error"] or "values" in told["error"]


@pytest.mark.parametrize(
    "value", ["!!timestamp soon", "!!bool maybe", "!!int ''", "!!float x", "1:" * 2_000 + "1.5"], ids=range(5)
)
def test_a_value_that_does_not_fit_its_tag_is_refused(value: str) -> None:
    _, settings, [(key, _)] = from_yaml(MockConfigEntry(), f"name: Kids\ndescription: {value}\n")
    assert (settings, key) == ({}, "import_yaml")


def test_what_settings_look_like_is_read() -> None:
    text = "name: Kids\ncontext:\n  context_entities: [{entity_id: light.desk, attributes: [brightness]}]\n"
    name, _, problems = from_yaml(MockConfigEntry(), text)
    assert name == "Kids"
    assert "import_yaml" not in [key for key, _ in problems]
