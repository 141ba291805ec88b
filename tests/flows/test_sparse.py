"""What a layer of settings stores after its form was sent."""

from typing import Any

import pytest

from custom_components.home_agent.flows.forms import lifted
from custom_components.home_agent.flows.profile import inherited, overrides
from custom_components.home_agent.settings.profile import SETTINGS

KEYS_OF_FORM = ("history_max_messages", "local_first", "prompt_additions", "context_entities")
INHERITED = inherited({"prompt_additions": "Be brief."})


def test_every_setting_has_an_inherited_value() -> None:
    assert inherited().keys() == SETTINGS.keys()
    assert inherited()["context_entities"] == []
    assert INHERITED["prompt_additions"] == "Be brief."


@pytest.mark.parametrize(
    ("own", "sent", "stored"),
    [
        pytest.param({}, {"history_max_messages": 10}, {}, id="shown and sent back: unset"),
        pytest.param({}, {"history_max_messages": 3}, {"history_max_messages": 3}, id="changed: set"),
        pytest.param({"history_max_messages": 3}, {}, {}, id="emptied: inherits again"),
        pytest.param(
            {"history_max_messages": 10}, {"history_max_messages": 10}, {"history_max_messages": 10}, id="set stays set"
        ),
        pytest.param({}, {"local_first": True}, {}, id="switch untouched: unset"),
        pytest.param({}, {"local_first": False}, {"local_first": False}, id="switch turned"),
        pytest.param({"local_first": False}, {"local_first": True}, {}, id="switch back: inherits again"),
        pytest.param({}, {"prompt_additions": "Be brief."}, {}, id="text of the house: unset"),
        pytest.param({"prompt_additions": "Rhyme."}, {"prompt_additions": ""}, {}, id="text emptied"),
        pytest.param({"context_entities": [{"entity_id": "light.*"}]}, {"context_entities": []}, {}, id="list emptied"),
        pytest.param({"tool_timeout": 5}, {}, {"tool_timeout": 5}, id="not in this form: stays"),
        pytest.param({"of_a_newer_version": 1}, {}, {"of_a_newer_version": 1}, id="unknown: stays"),
    ],
)
def test_overrides(own: dict[str, Any], sent: dict[str, Any], stored: dict[str, Any]) -> None:
    assert overrides(own, INHERITED, sent, KEYS_OF_FORM) == stored


def test_zero_is_a_value() -> None:
    house = inherited({"context_update_interval": 60})
    sent = {"context_update_interval": 0}
    assert overrides({}, house, sent, ["context_update_interval"]) == sent


def test_fields_of_sections_are_lifted() -> None:
    assert lifted({"name": "A", "history": {"x": 1}}, {"history"}) == {"name": "A", "x": 1}
