"""States as JSON for a model."""

from datetime import UTC, date, datetime, time, timedelta
from enum import IntEnum
from time import thread_time
from typing import Any

from homeassistant.components.light.const import ColorMode
from homeassistant.core import HomeAssistant, State
from homeassistant.util.json import JsonValueType
import pytest

from custom_components.home_agent.home.states import (
    all_attributes,
    attribute_names,
    chosen_attributes,
    describe,
    json_safe,
    result_of,
)


class Level(IntEnum):
    LOW = 1


class Unknown:
    def __str__(self) -> str:
        return "x" * 300


@pytest.mark.parametrize(("value", "expected"), [
    (None, None),
    (True, True),
    (1.5, 1.5),
    (float("inf"), None),
    pytest.param(2**70, None, id="a number above 64 bits"),
    pytest.param(-(10**400), None, id="a number beyond all bounds"),
    pytest.param(2**64 - 1, 2**64 - 1, id="the highest number"),
    pytest.param("a\ud83d", "a?", id="half a surrogate pair"),
    pytest.param({"b\ud83d": "é"}, {"b?": "é"}, id="half a surrogate pair in a key"),
    ("a", "a"),
    ("x" * 300, "x" * 254 + "…"),
    (ColorMode.HS, "hs"),
    (Level.LOW, 1),
    (datetime(2026, 7, 1, 12, 0, 0, 5, UTC), "2026-07-01T05:00:00-07:00"),
    (datetime(2026, 12, 1, 12, tzinfo=UTC), "2026-12-01T04:00:00-08:00"),
    (date(2026, 7, 1), "2026-07-01"),
    (time(7, 30), "07:30:00"),
    (timedelta(minutes=1), 60.0),
    pytest.param({"b", "a"}, ["a", "b"], id="set"),  # its own id would differ between processes
    ((1, [2, {"c": (3,)}]), [1, [2, {"c": "…"}]]),
    ({1: {"a": {"b": {}}}}, {"1": {"a": {"b": "…"}}}),
    (list(range(22)), [*range(20), "… 2 more"]),
    (Unknown(), "x" * 255),
], ids=str)  # fmt: skip
def test_json_safe(hass: HomeAssistant, value: object, expected: JsonValueType) -> None:
    assert json_safe(value) == expected


def test_big_objects_are_cut(hass: HomeAssistant) -> None:
    cut = json_safe({str(number): number for number in range(25)})
    assert isinstance(cut, dict)
    assert (len(cut), cut["…"]) == (21, "5 more")


def test_what_opens_a_camera_is_never_told() -> None:
    attributes: dict[str, Any] = {"access_token": "t", "entity_picture": "/api?token=t", "icon": "mdi:x", "brand": "B"}
    state = State("camera.a", "idle", attributes)
    assert all_attributes(state, lambda _: True) == {"brand": "B"}
    assert chosen_attributes(state, ["access_token", "brand", "none"], lambda _: True) == {"brand": "B", "none": None}


def test_result_has_what_matters_and_what_was_set() -> None:
    state = State("light.a", "on", {"brightness": 128, "min_mireds": 153, "effect": None, "flash_count": 2})
    assert result_of(state, ["flash_count", "transition"], lambda _: True) == {
        "entity_id": "light.a", "new_state": "on", "brightness": 128, "flash_count": 2,
    }  # fmt: skip


def knows(entity_id: str) -> bool:
    return entity_id != "light.hidden"


TOKEN = "b2c9e1d4a7f05836b2c9e1d4a7f05836"


@pytest.mark.parametrize(("value", "told"), [
    ("light.hidden", ""),
    ("Light.Hidden", ""),
    ("light.seen", "light.seen"),
    ("v1.2", "v1.2"),
    ("light.seen, light.hidden", "light.seen, …"),
    (["light.seen", "light.hidden"], ["light.seen"]),
    (("light.hidden",), []),
    ({"light.hidden": 1, "light.seen": 2}, {"light.seen": 2}),
    ({"lamps": ["light.hidden", "light.seen"]}, {"lamps": ["light.seen"]}),
    (
        [f"light.l{number}" for number in range(21)] + ["light.hidden"],
        [*(f"light.l{number}" for number in range(20)), "… 1 more"],
    ),
    ("http://user:secret@10.0.0.5/stream", ""),
    ("see rtsp://10.0.0.5:554/live?pw=1 now", "see … now"),
    ("/api/camera_proxy/camera.a?token=1", ""),
    ("/local/plan.png", ""),
    ("data:image/png;base64,AAAA", ""),
    ("www.example.com/x", ""),
    ("user:secret@10.0.0.5", ""),
    ("media-source://media_source/local/x.mp3", ""),
    (TOKEN, ""),
    (f"Bearer {TOKEN}", "Bearer …"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", ""),
    ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", ""),
    ("x9Kf2LmQ8vTz4RbY7wPs1N", ""),
    (["a", TOKEN], ["a"]),
    ({"api_key": "x", "nested": {"password": "y", "ok": 1}}, {"nested": {"ok": 1}}),
    ("Living room ceiling lamp 2", "Living room ceiling lamp 2"),
    ("The.Matrix.1999.1080p.BluRay.x264.mkv", "The.Matrix.1999.1080p.BluRay.x264.mkv"),
    ("light_living_room_ceiling_lamp_2_left", "light_living_room_ceiling_lamp_2_left"),
    ("2026-11-22T18:30:00.000000+00:00", "2026-11-22T18:30:00.000000+00:00"),
    ("AC/DC - Highway to Hell", "AC/DC - Highway to Hell"),
    ("What? Why=not", "What? Why=not"),
    ("Klaus.Mueller@example.com", "Klaus.Mueller@example.com"),
])  # fmt: skip
def test_what_a_value_may_not_tell(value: object, told: object) -> None:
    found = json_safe(value, knows=knows)
    assert found == told
    assert json_safe("light.hidden") == "light.hidden"  # what is no attribute is told as it is


@pytest.mark.parametrize("name", [
    "access_token", "entity_picture", "media_content_id", "code", "user_code", "PIN", "api_key", "apiKey", "refreshToken",
    "wifi_password", "webhook_id", "client_secret", "stream_source", "psk",
])  # fmt: skip
def test_a_secret_by_its_name(name: str) -> None:
    state = State("sensor.a", "1", {name: "abc", "fine": "abc"})
    assert all_attributes(state, lambda _: True) == {"fine": "abc"}
    assert chosen_attributes(state, [name, "fine"], lambda _: True) == {"fine": "abc"}
    assert attribute_names(state) == ["fine"]
    assert describe(state, (name, "fine"), knows=lambda _: True) == "1 fine=abc"
    assert name not in result_of(state, [name], lambda _: True)


@pytest.mark.parametrize("name", ["code_format", "country_code", "keypad", "opening", "hockey", "key_count"])
def test_no_secret_by_its_name(name: str) -> None:
    assert all_attributes(State("sensor.a", "1", {name: 5}), lambda _: True) == {name: 5}


def test_what_is_left_of_attributes() -> None:
    state = State("group.a", "on", {"entity_id": ["light.hidden"], "picture": "/api/x?y=1", "empty": [], "order": 1})
    assert all_attributes(state, knows) == {"empty": [], "order": 1}
    assert describe(state, ("entity_id", "picture", "order"), knows=knows) == "on order=1"


@pytest.mark.usefixtures("no_collection")
def test_looking_through_long_texts_takes_no_time() -> None:
    began = thread_time()
    for sign in ("a", "a1", "?", "=", ":", "@", "/", ".", "a.", "x?=", "a:b@", "Aa0_"):
        json_safe(sign * 100_000, knows=knows)
        json_safe([sign * 5_000] * 100, knows=knows)
    assert thread_time() - began < 2
