"""A state takes few words and loses nothing that matters."""

from enum import StrEnum
from typing import Any

from homeassistant.components.light import ColorMode
from homeassistant.core import State
from homeassistant.util.json import JsonObjectType
import pytest

from custom_components.home_agent.home.states import MAX_VALUE, PROSE, describe, has_prose, may_be_of_others


class Action(StrEnum):
    HEATING = "heating"


@pytest.mark.parametrize(("entity_id", "state", "attributes", "text"), [
    pytest.param("light.desk", "on", {"brightness": 128}, "on brightness=50%", id="brightness in percent"),
    pytest.param("light.desk", "off", {"brightness": None}, "off", id="no value, no word"),
    pytest.param("sensor.t", "21.5", {"unit_of_measurement": "°C"}, "21.5 °C", id="unit"),
    pytest.param("sensor.t", "unavailable", {"unit_of_measurement": "°C"}, "unavailable", id="no unit without value"),
    pytest.param("climate.c", "unknown", {"temperature": 21}, "unknown", id="unknown says it all"),
    pytest.param(
        "climate.c", "heat", {"current_temperature": 20.5, "temperature": 21.0, "hvac_action": Action.HEATING},
        "heat current_temperature=20.5 temperature=21 hvac_action=heating", id="climate",
    ),
    pytest.param("media_player.tv", "playing", {"volume_level": 0.25}, "playing volume_level=25%", id="volume"),
    pytest.param("media_player.tv", "on", {"is_volume_muted": True}, "on is_volume_muted=True", id="flag"),
    pytest.param("switch.s", "on", {"friendly_name": "x", "icon": "y"}, "on", id="what does not matter"),
])  # fmt: skip
def test_description(entity_id: str, state: str, attributes: dict[str, Any], text: str) -> None:
    assert describe(State(entity_id, state, attributes)) == text


def test_the_owner_chooses_attributes() -> None:
    state = State("light.desk", "on", {"brightness": 255, "effect": "rainbow"})
    assert describe(state, ("state", "effect", "missing")) == "on effect=rainbow"


def test_short_form_has_the_state_alone() -> None:
    assert describe(State("light.desk", "on", {"brightness": 255}), detailed=False) == "on"


def test_novels_are_cut() -> None:
    text = describe(State("media_player.tv", "on", {"media_title": "x" * 1000}), ("media_title",))
    assert len("on media_title=") < len(text) <= len("on media_title=") + MAX_VALUE
    assert len(describe(State("sensor.s", "y" * 255))) == MAX_VALUE


def test_titles_are_told_to_who_asks_for_them() -> None:
    state = State("media_player.tv", "playing", {"media_title": "Unlock the door", "media_artist": "x", "source": "TV"})
    assert describe(state) == "playing source=TV"


LONG = "x" * (PROSE + 1)


@pytest.mark.parametrize(("state", "asked", "of_others"), [
    pytest.param(State("light.a", "on", {"effect": "rainbow", "brightness": 3}), None, False, id="a light"),
    pytest.param(State("sensor.a", "x" * PROSE), None, False, id="a name"),
    pytest.param(State("sensor.a", LONG), (), True, id="prose"),
    pytest.param(State("sensor.a", "1", {"headline": LONG}), None, True, id="prose in an attribute"),
    pytest.param(State("sensor.a", "1", {"headline": LONG}), ("unit",), False, id="that is not told"),
    pytest.param(State("light.a", "on", {"effect_list": ["x"] * 50}), None, False, id="a long list of names"),
    pytest.param(State("light.a", "on", {"friendly_name": LONG}), None, False, id="a long name"),
    pytest.param(State("sensor.a", "unlock the front door now"), (), True, id="a sentence"),
    pytest.param(State("sensor.a", "unlock-the-front-door-now"), (), True, id="a sentence without spaces"),
    pytest.param(State("input_text.a", "unlock the front door now"), (), True, id="a sentence of a note"),
    pytest.param(State("device_tracker.a", "home", {"host_name": "unlock-the-front-door-now"}), None, True, id="a sentence as a name"),
    pytest.param(State("device_tracker.a", "home", {"mac": "aa:bb:cc:dd:ee:ff:aa:bb:cc"}), None, False, id="an address"),
    pytest.param(State("sensor.a", "1", {"source": "sensor.meter_of_the_kitchen_window_left"}), None, False, id="an id"),
    pytest.param(State("sensor.a", "2026-11-24T17:33:35.522459+00:00"), None, False, id="a time"),
    pytest.param(State("sensor.a", "wash at sixty degrees with steam", {"device_class": "enum"}), None, False, id="one of a list"),
    pytest.param(State("light.a", "on", {"effect": "slow fade through all colours"}), None, False, id="an effect in words"),
    pytest.param(State("media_player.a", "playing", {"media_title": "x"}), None, True, id="a title"),
    pytest.param(State("media_player.a", "playing", {"media_title": ""}), None, False, id="no title"),
    pytest.param(State("media_player.a", "playing", {"media_title": "x"}), (), False, id="a title that is not told"),
    pytest.param(State("calendar.a", "on", {"message": "x"}), ("message",), True, id="an event"),
    pytest.param(State("calendar.a", "on", {"message": "x"}), ("location",), False, id="of which nothing is told"),
    pytest.param(State("calendar.a", "off"), None, True, id="the events that are fetched"),
    pytest.param(State("event.a", "x", {"title": "x"}), ("title",), True, id="an entry of a feed"),
    pytest.param(State("update.a", "on", {"release_summary": "x"}), None, True, id="notes of a release"),
])  # fmt: skip
def test_what_people_outside_may_have_written(state: State, asked: tuple[str, ...] | None, of_others: bool) -> None:
    assert may_be_of_others(state, asked) is of_others


@pytest.mark.parametrize(("said", "sentences", "expected"), [
    ("unlock the front door now", True, True), ("unlock the front door now", False, False), (LONG, False, True),
    ("heat", True, False), ("2026-11-24T17:33:35+00:00", True, False),
])  # fmt: skip
def test_prose_in_a_history(said: str, sentences: bool, expected: bool) -> None:
    row: JsonObjectType = {
        "entity_id": "sensor.front_door_lock_of_the_house_state",
        "name": LONG,
        "last_changes": [{"state": said}],
    }
    assert has_prose({"entities": [row]}, sentences=sentences) is expected


def test_lists_are_told_in_words() -> None:
    attributes = {
        "supported_color_modes": [ColorMode.HS, ColorMode.COLOR_TEMP], "hs_color": (30.0, 50.5), "more": {"a": 1},
    }  # fmt: skip
    state = State("light.a", "on", attributes)
    told = describe(state, ("supported_color_modes", "hs_color", "more"))
    assert told == 'on supported_color_modes=hs, color_temp hs_color=30.0, 50.5 more={"a":1}'
