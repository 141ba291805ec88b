"""JSON of anything."""

from datetime import UTC, datetime
import json
from pathlib import Path

from homeassistant.core import State
import pytest

from custom_components.home_agent.support.encoding import dump


class Odd:
    def __str__(self) -> str:
        return "odd"


@pytest.mark.parametrize(("value", "text"), [
    ({"b": 1, "a": "grün"}, '{"b":1,"a":"grün"}'),
    (datetime(2026, 11, 21, 8, 0, tzinfo=UTC), '"2026-11-21T08:00:00+00:00"'),
    ({"x": {1}, 2: (3,)}, '{"x":[1],"2":[3]}'), (Path("/a/b"), '"/a/b"'), (float("nan"), "null"), ([Odd()], '["odd"]'),
    ([b"raw", 2**70], "[\"b'raw'\",1180591620717411303424]"),
])  # fmt: skip
def test_anything_becomes_json(value: object, text: str) -> None:
    assert dump(value).decode() == text


def test_a_state_is_what_home_assistant_makes_of_it() -> None:
    assert json.loads(dump(State("light.kitchen", "on")))["entity_id"] == "light.kitchen"


def test_half_a_surrogate_pair_is_no_reason_to_fail() -> None:
    assert json.loads(dump({"text": "\ud83d"})) == {"text": "\ud83d"}
