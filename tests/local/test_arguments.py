"""Values for declared arguments, from what was said alone."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
import itertools
from typing import Any
from zoneinfo import ZoneInfo

from homeassistant.core import State
from hypothesis import given, settings, strategies as st
import pytest

from custom_components.home_agent.home.snapshot import HomeArea, HomeEntity, HomeSnapshot
from custom_components.home_agent.languages.vocabulary import Language, language_of
from custom_components.home_agent.local.arguments import Extracted, extract
from custom_components.home_agent.local.declared import (
    Argument,
    ArgumentKind,
    Form,
    arguments_of_fields,
    arguments_of_schema,
)

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 15, 30, tzinfo=BERLIN)
"""A Wednesday."""
AREAS = {
    "living": ("Wohnzimmer", "Erdgeschoss"), "kitchen": ("Küche", "Erdgeschoss"),
    "bedroom": ("Schlafzimmer", "Obergeschoss"), "garden": ("Garten", ""), "drive": ("Einfahrt", ""),
}  # fmt: skip
ENTITIES = {
    "camera.drive": ("Kamera Einfahrt", "drive"), "camera.garden": ("Gartenkamera", "garden"),
    "camera.strip": ("Grünstreifen", None), "light.strip": ("Grünstreifen Licht", "garden"),
    "light.lamp_2": ("Lampe 2", "living"), "light.kitchen": ("Deckenlicht", "kitchen"),
    "light.bedroom": ("Deckenlicht", "bedroom"), "sensor.temperature": ("Wärme", "living"),
    "sensor.humidity": ("Feuchte", "living"), "switch.off": ("Off", "living"),
}  # fmt: skip
HOME = HomeSnapshot(
    {item: HomeEntity(item, (name,), area) for item, (name, area) in ENTITIES.items()},
    {item: HomeArea(item, (name,), (floor,) if floor else ()) for item, (name, floor) in AREAS.items()},
)
STATES = {
    "sensor.temperature": State("sensor.temperature", "21", {"device_class": "temperature"}),
    "sensor.humidity": State("sensor.humidity", "50", {"device_class": "humidity"}),
}
LANGUAGES: dict[str, Language] = {}


def read(text: str, *arguments: Argument, language: str = "de", now: datetime = NOW) -> Extracted:
    """Return what a text says for some arguments in the home above."""
    if language not in LANGUAGES:
        LANGUAGES[language] = language_of(language, {})
    return extract(text, arguments, HOME, LANGUAGES[language], now, state_of=STATES.get)


CAMERA = Argument(name="camera", kind=ArgumentKind.ENTITY, domains=frozenset({"camera"}), required=True)
AREA = Argument(name="area_id", kind=ArgumentKind.AREA)
RANGE = Argument(name="period", kind=ArgumentKind.TIME_RANGE)
ANY = Argument(name="thing", kind=ArgumentKind.ENTITY)
LIGHT = Argument(name="light", kind=ArgumentKind.ENTITY, domains=frozenset({"light"}))
FEEL = Argument(name="sensor", kind=ArgumentKind.ENTITY, domains=frozenset({"sensor"}), classes=frozenset({"humidity"}))
PERCENT = Argument(name="volume", kind=ArgumentKind.NUMBER, unit="%", minimum=0, maximum=100, whole=True)
DEGREES = Argument(name="temperature", kind=ArgumentKind.NUMBER, unit="°C")
MINUTES = Argument(name="length", kind=ArgumentKind.NUMBER, unit="min")
VMID = Argument(name="vmid", kind=ArgumentKind.IDENTIFIER, labels=("VM",), minimum=100)
COUNT = Argument(name="count", kind=ArgumentKind.NUMBER, whole=True)
MODE = Argument(name="mode", kind=ArgumentKind.OPTION, options={"eco": "eco", "very fast": "very_fast", "fast": "fast"})


@pytest.mark.parametrize(
    ("language", "text", "argument", "value", "rest"),
    [
        ("de", "zeig mir die Kamera Einfahrt", CAMERA, "camera.drive", "zeig mir die"),
        ("de", "was ist in der Einfahrt los", CAMERA, "camera.drive", "was ist in der los"),
        ("de", "zeig den Garten", CAMERA, "camera.garden", "zeig den"),
        ("de", "Bild vom Grünstreifen", CAMERA, "camera.strip", "Bild vom"),
        ("de", "Bild vom Grünstreifen Licht", CAMERA, None, None),
        ("de", "zeig mir die Küche", CAMERA, None, None),
        ("de", "Feuchte", FEEL, "sensor.humidity", ""),
        ("de", "Wärme", FEEL, None, None),
        ("de", "das Deckenlicht", LIGHT, None, None),
        ("de", "das Deckenlicht in der Küche", LIGHT, "light.kitchen", "das in der Küche"),
        ("en", "press off", ANY, "switch.off", "press"),
        ("de", "staubsauge im Wohnzimmer", AREA, "living", "staubsauge im"),
        ("en", "clean the kitchen", AREA, "kitchen", "clean the"),
        ("de", "Wohnzimmer oder Küche", AREA, None, None),
        ("de", "sauge in Wohnzimmer und Küche", Argument(name="a", kind=ArgumentKind.AREA, several=True), ["living", "kitchen"], "sauge in und"),
        ("de", "alles im Obergeschoss", Argument(name="floor", kind=ArgumentKind.FLOOR_NAME), "Obergeschoss", "alles im"),
        ("en", "set the volume to 40 percent", PERCENT, 40, "set the volume to"),
        ("de", "Lautstärke vierzig Prozent bitte", PERCENT, 40, "Lautstärke bitte"),
        ("ru", "громкость сорок", replace(PERCENT, labels=("громкость",)), 40, "громкость"),
        ("en", "volume 140", PERCENT, None, None),
        ("en", "volume 40.5", PERCENT, None, None),
        ("en", "volume 21 degrees", PERCENT, None, None),
        ("de", "auf 21,5 Grad", DEGREES, 21.5, "auf"),
        ("de", "Lampe 2", DEGREES, None, None),
        ("en", "two lights", COUNT, None, None),
        ("en", "in 10 minutes", COUNT, None, None),
        ("en", "one or two", COUNT, None, None),
        ("de", "für anderthalb Stunden", MINUTES, 90, ""),
        ("en", "for 20 minutes", MINUTES, 20, ""),
        ("de", "starte VM 101", VMID, 101, "starte VM"),
        ("en", "start 101 in 200 minutes", VMID, 101, "start in 200 minutes"),
        ("en", "start vm 50", VMID, None, None),
        ("en", "start 101 or 102", VMID, None, None),
        ("en", "go very fast", MODE, "very_fast", "go"),
        ("en", "go fast then eco", MODE, None, None),
        ("de", "eine Stunde und 10 Minuten", Argument(name="d", kind=ArgumentKind.DURATION), timedelta(minutes=70), ""),
        ("en", "at half past seven", Argument(name="t", kind=ArgumentKind.TIME, form=Form.JSON), "07:30:00", ""),
        ("en", "at 7 or at 8", Argument(name="t", kind=ArgumentKind.TIME), None, None),
        ("de", "übermorgen", Argument(name="t", kind=ArgumentKind.DATE), date(2026, 11, 20), ""),
        ("de", "morgen um 7 Uhr", Argument(name="t", kind=ArgumentKind.DATETIME, form=Form.SELECTOR), "2026-11-19 07:00:00", ""),
        ("en", "tell me a story", Argument(name="t", kind=ArgumentKind.TEXT), None, None),
    ],
)  # fmt: skip
def test_one_argument(language: str, text: str, argument: Argument, value: Any, rest: str | None) -> None:
    found = read(text, argument, language=language)

    assert found.values.get(argument.name) == value
    assert (found.rest(text) if found.values else None) == rest
    assert found.missing == ((argument.name,) if argument.required and value is None else ())


@pytest.mark.parametrize(("text", "arguments", "unclear"), [
    ("das Deckenlicht", (LIGHT,), ("light",)), ("5 und 6", (COUNT,), ("count",)),
    ("5", (COUNT, Argument(name="other", kind=ArgumentKind.NUMBER)), ("count", "other")),
    ("gestern und heute", (RANGE,), ("period",)), ("Wohnzimmer oder Küche", (AREA,), ("area_id",)),
    ("eco fast", (MODE,), ("mode",)), ("nichts davon", (COUNT, RANGE, AREA, LIGHT, MODE), ()),
])  # fmt: skip
def test_ambiguous_names_are_neither(text: str, arguments: tuple[Argument, ...], unclear: tuple[str, ...]) -> None:
    found = read(text, *arguments)

    assert not found.values
    assert found.unclear == unclear


@pytest.mark.parametrize(
    ("language", "text", "values"),
    [
        ("en", "volume 30 temperature 21", {"volume": 30, "temperature": 21}),
        ("en", "21 degrees and 30 percent", {"volume": 30, "temperature": 21}),
        ("en", "30 and 21 degrees", {"volume": 30, "temperature": 21}),
        ("de", "Kamera Einfahrt seit gestern Abend", {"camera": "camera.drive", "period": ("2026-11-17T18:00", "2026-11-18T15:30")}),
        ("de", "Lampe 2 auf 40 Prozent", {"light": "light.lamp_2", "volume": 40}),
        ("ru", "VM 101 за последние 2 часа", {"vmid": 101, "period": ("2026-11-18T13:30", "2026-11-18T15:30")}),
        ("en", "vm 101 between 8 and 10", {"vmid": 101, "period": ("2026-11-18T08:00", "2026-11-18T10:00")}),
    ],
)  # fmt: skip
def test_several_arguments(language: str, text: str, values: Mapping[str, Any]) -> None:
    found = read(text, CAMERA, LIGHT, RANGE, PERCENT, DEGREES, VMID, language=language).values
    told = {
        key: tuple(f"{moment:%Y-%m-%dT%H:%M}" for moment in value.values()) if isinstance(value, dict) else value
        for key, value in found.items()
    }

    assert told == values


def test_places_are_those_of_the_text_as_it_was_said() -> None:
    text = "Zeig mir — bitte — die KAMERA Einfahrt, in den letzten  zwei Tagen!"
    found = read(text, CAMERA, RANGE)

    assert {name: [text[a:b] for a, b in places] for name, places in found.places.items()} == {
        "camera": ["KAMERA Einfahrt"],
        "period": ["in den letzten  zwei Tagen"],
    }
    assert found.rest(text) == "Zeig mir — bitte — die , !"


def test_a_schema_declares_arguments() -> None:
    schema = {
        "type": "object",
        "required": ["camera", "start_time", "question", "vm"],
        "properties": {
            "camera": {"type": "string"}, "start_time": {"type": "string", "format": "date-time"},
            "end_time": {"type": "string", "format": "date-time"}, "room": {"type": "string"},
            "mode": {"type": "string", "enum": ["eco", "very_fast"]},
            "level": {"type": "integer", "minimum": 1, "maximum": 5, "title": "Stufe"},
            "vm": {"type": "string", "pattern": "^(VM|CT)-[0-9]+$"}, "slow": {"type": "string", "pattern": "^(a+)+$"},
            "question": {"type": "string"}, "sure": {"type": "boolean"},
        },
    }  # fmt: skip
    arguments = arguments_of_schema(schema)

    assert {one.name: one.kind.value for one in arguments} == {
        "camera": "entity", "start_time": "range_start", "end_time": "range_end", "room": "area_name", "mode": "option",
        "level": "number", "vm": "identifier", "slow": "text", "question": "text", "sure": "text",
    }  # fmt: skip
    found = read("Garten seit gestern very fast Stufe 3 vm-7 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1", *arguments)
    assert found.values == {
        "camera": "camera.garden", "start_time": "2026-11-17T00:00:00+01:00", "end_time": "2026-11-18T15:30:00+01:00",
        "room": "Garten", "mode": "very_fast", "level": 3, "vm": "VM-7",
    }  # fmt: skip
    assert found.missing == ("question",)


def test_fields_of_a_script_declare_arguments() -> None:
    fields = {
        "where": {"name": "Room", "required": True, "selector": {"area": {}}},
        "what": {"selector": {"entity": {"multiple": True, "filter": [{"domain": "light"}]}}},
        "long": {"selector": {"duration": {}}},
        "warm": {"name": "Wärme", "selector": {"number": {"min": 5, "max": 30, "step": 0.5, "unit_of_measurement": "°C"}}},
        "how": {"selector": {"select": {"options": [{"label": "sehr leise", "value": "silent"}, "laut"]}}},
        "made": {"selector": {"entity": {"filter": {"integration": "hue"}}}},
        "text": {"selector": {"text": {}}},
        "none": {},
    }  # fmt: skip
    arguments = arguments_of_fields(fields)

    assert [one.kind.value for one in arguments] == [
        "area", "entity", "duration", "number", "option", "text", "text", "text",
    ]  # fmt: skip
    found = read("im Schlafzimmer Lampe 2 für 90 Minuten sehr leise bei 21,5 Grad", *arguments)
    assert found.values == {
        "where": "bedroom", "what": ["light.lamp_2"], "long": {"hours": 1, "minutes": 30, "seconds": 0}, "warm": 21.5,
        "how": "silent",
    }  # fmt: skip


@pytest.mark.parametrize(
    "pattern", ["(a+)+", "(a|aa)+$", "a*a*a*a*b", "(?=a)b", r"(a)\1", "[a-", "x" * 200, "(a{1,9}){2,9}"]
)
def test_patterns_that_may_take_long_are_not_used(pattern: str) -> None:
    (argument,) = arguments_of_schema({"properties": {"x": {"type": "string", "pattern": pattern}}})

    assert argument.kind is ArgumentKind.TEXT


@settings(deadline=None, derandomize=True, database=None, max_examples=50)
@given(
    camera=st.sampled_from(["camera.drive", "camera.strip"]),
    percent=st.integers(0, 100),
    hour=st.integers(0, 23),
    vm=st.integers(101, 99999),
    order=st.permutations(range(4)),
)
def test_what_is_said_comes_back(camera: str, percent: int, hour: int, vm: int, order: list[int]) -> None:
    parts = [ENTITIES[camera][0], f"{percent} %", f"um {hour}:15 Uhr", f"VM {vm}"]
    text = ", ".join(parts[place] for place in order)
    clock = Argument(name="clock", kind=ArgumentKind.TIME)

    found = read(text, CAMERA, PERCENT, clock, VMID, now=datetime(2026, 1, 1, tzinfo=UTC))

    assert found.values == {"camera": camera, "volume": percent, "clock": time(hour, 15), "vmid": vm}
    used = sorted(place for places in found.places.values() for place in places)
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(used))


@settings(deadline=None, derandomize=True, database=None, max_examples=50)
@given(text=st.text(max_size=120))
def test_any_text_is_read(text: str) -> None:
    found = read(text, CAMERA, LIGHT, AREA, RANGE, PERCENT, VMID, MODE)

    assert all(0 <= a < b <= len(text) for places in found.places.values() for a, b in places)
    assert found.places.keys() == found.values.keys()
