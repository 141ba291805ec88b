"""A piece of the past: what the recorder knows, a small part of it as an example, and after renames."""

from datetime import datetime, timedelta
import json

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.light import ColorMode, LightEntity
from homeassistant.components.recorder import Recorder
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.automations import recorded
from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.automations.replay import async_replay
from custom_components.home_agent.automations.timeline import MAX_KEPT, Timeline
from custom_components.home_agent.support.errors import ToolRefusal

DOOR = "binary_sensor.door"
MINUTE = timedelta(minutes=1)


async def lived(hass: HomeAssistant, freezer: FrozenDateTimeFactory, *states: str, entity_id: str = DOOR) -> datetime:
    """Let a door take states, one each minute; return when the first was."""
    begin = dt_util.utcnow()
    for state in states:
        hass.states.async_set(entity_id, state, {"level": state.upper()})
        await hass.async_block_till_done()
        freezer.tick(MINUTE)
    await async_wait_recording_done(hass)
    return begin


async def test_what_was_recorded(recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    begin = await lived(hass, freezer, "off", "on", "off")
    found = await Timeline.async_recorded(hass, [DOOR], begin + MINUTE / 2, dt_util.utcnow())
    assert {entity_id: state.state for entity_id, state in found.start.items()} == {DOOR: "off"}
    assert found.start[DOOR].last_changed == begin
    assert [(change.at, change.state.state) for change in found.changes if change.state] == [
        (begin + MINUTE, "on"), (begin + 2 * MINUTE, "off"),
    ]  # fmt: skip
    assert found.changes[0].state.attributes == {"level": "ON"}  # type: ignore[union-attr]


async def test_what_is_not_written_yet_is_there(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    begin = await lived(hass, freezer, "off", "on")
    hass.states.async_set(DOOR, "late")
    found = await Timeline.async_recorded(hass, [DOOR], begin, dt_util.utcnow() + MINUTE)
    assert found.changes[-1].state.state == "late"  # type: ignore[union-attr]


async def test_recorded_events(recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    begin = dt_util.utcnow()
    freezer.tick(MINUTE)
    hass.bus.async_fire("pressed", {"button": 2})
    await async_wait_recording_done(hass)
    freezer.tick(MINUTE)
    found = await Timeline.async_recorded(hass, [], begin, dt_util.utcnow(), event_types=["pressed"])
    assert [(event.at, dict(event.data)) for event in found.events] == [(begin + MINUTE, {"button": 2})]
    config = {
        "alias": "x", "actions": [],
        "triggers": [{"trigger": "event", "event_type": "pressed", "event_data": {"button": 2}}],
    }  # fmt: skip
    replay = await async_replay(hass, await async_draft(hass, config), found)
    assert [run.at for run in replay.runs] == [begin + MINUTE]


async def test_without_a_recorder_it_says_so(hass: HomeAssistant) -> None:
    now = dt_util.utcnow()
    with pytest.raises(ToolRefusal, match="recorder"):
        await Timeline.async_recorded(hass, [DOOR], now - MINUTE, now)


async def test_too_many_entities_are_refused(hass: HomeAssistant) -> None:
    now = dt_util.utcnow()
    with pytest.raises(ToolRefusal, match="51 entities"):
        await Timeline.async_recorded(hass, [f"light.{number}" for number in range(51)], now - MINUTE, now)


async def test_more_changes_than_fit_leave_out_the_oldest(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "MAX_CHANGES", 3)
    begin = await lived(hass, freezer, *map(str, range(8)))
    found = await Timeline.async_recorded(hass, [DOOR], begin - MINUTE, dt_util.utcnow())
    assert [change.state.state for change in found.changes if change.state] == ["6", "7"]
    assert found.since == begin + 5 * MINUTE
    assert found.start[DOOR].state == "5"


def long_one(count: int) -> Timeline:
    from tests.automations.engine import BEGIN, Script

    changes: list[tuple[datetime, str, str | None, dict[str, str]]] = [
        (BEGIN + number * MINUTE, DOOR, str(number), {}) for number in range(1, count)
    ]
    return Script(initial={DOOR: ("0", {})}, changes=changes).timeline()


def test_a_piece_of_it_knows_the_states_at_its_beginning() -> None:
    whole = long_one(60)
    piece = whole.around(whole.since + 30 * MINUTE, 5 * MINUTE, 2 * MINUTE)
    assert piece.start[DOOR].state == "25"
    assert [change.state.state for change in piece.changes if change.state] == [
        "26",
        "27",
        "28",
        "29",
        "30",
        "31",
        "32",
    ]


def test_a_piece_is_as_long_as_can_be_kept() -> None:
    whole = long_one(2_000)
    piece = whole.around(whole.since + 1_000 * MINUTE, 900 * MINUTE, 900 * MINUTE)
    assert len(piece.changes) <= MAX_KEPT
    assert piece.changes[0].at < whole.since + 1_000 * MINUTE < piece.changes[-1].at
    piece.as_dict()


def test_a_long_one_is_not_kept() -> None:
    with pytest.raises(ToolRefusal, match="at most 200"):
        long_one(500).as_dict()


async def test_an_example_is_json_and_replays_alike(hass: HomeAssistant) -> None:
    config = {"alias": "x", "actions": [], "triggers": [{"trigger": "state", "entity_id": DOOR, "to": "30"}]}
    draft = await async_draft(hass, config)
    piece = long_one(60).around(long_one(60).since + 30 * MINUTE, 5 * MINUTE, 2 * MINUTE)
    kept = Timeline.from_dict(hass, json.loads(json.dumps(piece.as_dict())))
    assert (await async_replay(hass, draft, kept)).runs == (await async_replay(hass, draft, piece)).runs != ()


async def test_an_example_stays_true_when_its_entities_are_renamed(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    registry = er.async_get(hass)
    entry = registry.async_get_or_create("binary_sensor", "t", "1", suggested_object_id="door")
    begin = await lived(hass, freezer, "off", "on", entity_id=entry.entity_id)
    kept = (await Timeline.async_recorded(hass, [entry.entity_id], begin, dt_util.utcnow())).as_dict()
    hass.states.async_remove(entry.entity_id)
    registry.async_update_entity(entry.entity_id, new_entity_id="binary_sensor.front")
    found = Timeline.from_dict(hass, kept)
    assert found.entity_ids == {"binary_sensor.front"}
    assert {change.entity_id for change in found.changes} == {"binary_sensor.front"}


@pytest.mark.parametrize(
    "data", [{}, {"since": 1}, {"since": "x", "until": "y", "entities": {}, "start": [], "changes": []}]
)
async def test_what_is_no_example_is_refused(hass: HomeAssistant, data: dict[str, object]) -> None:
    with pytest.raises(ToolRefusal, match="cannot be read"):
        Timeline.from_dict(hass, data)


async def pressed(hass: HomeAssistant, freezer: FrozenDateTimeFactory, count: int) -> datetime:
    """Let a button be pressed, once each hour; return the hour before the first time."""
    begin = dt_util.utcnow()
    for _ in range(count):
        freezer.tick(60 * MINUTE)
        hass.bus.async_fire("button", {})
    await async_wait_recording_done(hass)
    freezer.tick(MINUTE)
    return begin


async def test_more_events_than_fit_leave_out_the_oldest(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "MAX_EVENTS", 5)
    hass.states.async_set(DOOR, "off")
    begin = await pressed(hass, freezer, 12)
    hass.states.async_set(DOOR, "on")
    await async_wait_recording_done(hass)
    freezer.tick(MINUTE)
    found = await Timeline.async_recorded(hass, [DOOR], begin - MINUTE, dt_util.utcnow(), event_types=["button"])
    assert [event.at for event in found.events] == [begin + hour * 60 * MINUTE for hour in range(8, 13)]
    assert found.since == begin + 7 * 60 * MINUTE
    assert found.start[DOOR].state == "off"
    assert [change.state.state for change in found.changes if change.state] == ["on"]


async def test_as_many_events_as_fit_are_all_there(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "MAX_EVENTS", 5)
    hass.states.async_set(DOOR, "off")
    begin = await pressed(hass, freezer, 5)
    found = await Timeline.async_recorded(hass, [], begin, dt_util.utcnow(), event_types=["button"])
    assert (found.since, len(found.events)) == (begin, 5)


async def test_many_events_do_not_drown_a_restart(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "MAX_EVENTS", 5)
    begin = dt_util.utcnow()
    freezer.tick(MINUTE)
    hass.bus.async_fire("homeassistant_started", {})
    await pressed(hass, freezer, 12)
    types = {"button", "homeassistant_started"}
    events = await hass.async_add_executor_job(recorded._events, hass, types, begin, dt_util.utcnow())
    assert events[0].event_type == "homeassistant_started"


async def test_events_are_known_since_something_was_recorded(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    begin = await pressed(hass, freezer, 2)
    found = await Timeline.async_recorded(hass, [], begin - timedelta(days=7), dt_util.utcnow(), event_types=["button"])
    assert begin - 60 * MINUTE < found.since <= begin + 60 * MINUTE


@pytest.mark.parametrize("recorder_config", [{"exclude": {"event_types": ["button"]}}])
async def test_events_that_are_left_out_are_not_known(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    begin = await pressed(hass, freezer, 1)
    found = await Timeline.async_recorded(hass, [], begin, dt_util.utcnow(), event_types=["button", "other"])
    assert found.event_types == {"other"}


async def test_when_an_automation_ran_before_is_looked_up(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    config = {
        "alias": "Cool", "triggers": [{"trigger": "state", "entity_id": DOOR, "to": "on"}], "actions": [],
        "conditions": ["{{ now() - (this.attributes.last_triggered or as_datetime(0)) > timedelta(hours=1) }}"],
    }  # fmt: skip
    assert await async_setup_component(hass, "automation", {"automation": [{"id": "cool", **config}]})
    begin = dt_util.utcnow()
    for state in ("off", "on", "off", "on", "off"):
        hass.states.async_set(DOOR, state)
        await hass.async_block_till_done()
        freezer.tick(20 * MINUTE)
    freezer.tick(60 * MINUTE)
    hass.states.async_set(DOOR, "on")
    await async_wait_recording_done(hass)
    freezer.tick(MINUTE)
    since = begin + 30 * MINUTE  # it ran before at 20 and has held back at 60
    found = await Timeline.async_recorded(hass, [DOOR], since, dt_util.utcnow())
    replay = await async_replay(hass, await async_draft(hass, config, "cool"), found)
    assert [(held.at - begin) / MINUTE for held in replay.held] == [60]
    assert [(run.at - begin) / MINUTE for run in replay.runs] == [160]


ALWAYS = "a" * 32


async def by_somebody(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> datetime:
    """Let a light be switched by nobody and by a person, in turns, each hour, and a button be pressed so."""
    begin = dt_util.utcnow()
    for number in range(6):
        context = Context(user_id=ALWAYS if number % 3 == 1 else None, parent_id=None if number % 2 else "0" * 26)
        hass.states.async_set("light.a", "on" if number % 2 else "off", context=context)
        hass.bus.async_fire("button", {}, context=context)
        await hass.async_block_till_done()
        freezer.tick(60 * MINUTE)
    await async_wait_recording_done(hass)
    return begin


@pytest.mark.parametrize(
    ("trigger", "condition", "hours"),
    [
        ("state", "{{ trigger.to_state.context.user_id is not none }}", [1, 4]),
        ("state", "{{ trigger.to_state.context.user_id is none }}", [2, 3, 5]),
        ("state", "{{ trigger.from_state.context.user_id is none }}", [1, 3, 4]),
        ("state", "{{ trigger.from_state.context.parent_id == '0' * 26 }}", [1, 3, 5]),
        ("state", "{{ states.light.a.context.parent_id is none }}", [1, 3, 5]),
        ("state", "{{ trigger.to_state.context.id | length == 26 }}", [1, 2, 3, 4, 5]),
        ("button", "{{ trigger.event.context.user_id is none }}", [2, 3, 5]),
        ("button of a person", "{{ true }}", [1, 4]),
    ],
)
async def test_who_made_a_change(
    recorder_mock: Recorder,
    hass: HomeAssistant,
    freezer: FrozenDateTimeFactory,
    trigger: str,
    condition: str,
    hours: list[int],
) -> None:
    begin = await by_somebody(hass, freezer)
    waited: dict[str, object] = {"trigger": "state", "entity_id": "light.a"}
    if "button" in trigger:
        waited = {"trigger": "event", "event_type": "button"}
        waited |= {"context": {"user_id": [ALWAYS]}} if "person" in trigger else {}
    config = {"alias": "x", "actions": [], "triggers": [waited], "conditions": [condition]}
    found = await Timeline.async_recorded(hass, ["light.a"], begin, dt_util.utcnow(), event_types=["button"])
    replay = await async_replay(hass, await async_draft(hass, config), found)
    assert replay.not_replayed == ()
    assert [round((run.at - begin) / (60 * MINUTE)) for run in replay.runs] == hours


async def test_who_made_a_change_that_is_not_written_yet(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    begin = await by_somebody(hass, freezer)
    hass.states.async_set("light.a", "late", context=Context(user_id=ALWAYS))
    freezer.tick(MINUTE)
    config = {
        "alias": "x", "actions": [], "triggers": [{"trigger": "state", "entity_id": "light.a", "to": "late"}],
        "conditions": ["{{ trigger.to_state.context.user_id is not none }}"],
    }  # fmt: skip
    found = await Timeline.async_recorded(hass, ["light.a"], begin, dt_util.utcnow())
    replay = await async_replay(hass, await async_draft(hass, config), found)
    assert (len(replay.runs), replay.not_replayed) == (1, ())


class Lamp(LightEntity):
    """A light whose brightness the recorder leaves out."""

    _attr_name = "Lamp"
    _attr_should_poll = False
    _attr_supported_color_modes = {ColorMode.BRIGHTNESS}  # noqa: RUF012 - as Home Assistant's own lights have it
    _attr_color_mode = ColorMode.BRIGHTNESS
    _attr_is_on = True
    _attr_brightness = 20


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ({"conditions": ["{{ state_attr('light.lamp', 'brightness') | int(0) > 100 }}"]}, True),
        ({"conditions": ["{{ states.light.lamp.attributes.brightness is none }}"]}, True),
        ({"conditions": ["{{ trigger.to_state.attributes['brightness'] == 5 }}"]}, True),
        ({"conditions": ["{{ 'brightness' in trigger.to_state.attributes }}"]}, True),
        ({"conditions": [{"condition": "numeric_state", "entity_id": "light.lamp", "attribute": "brightness", "above": 5}]}, True),
        ({"conditions": [{"condition": "state", "entity_id": "light.lamp", "attribute": "brightness", "state": 5}]}, True),
        ({"conditions": ["{{ trigger.to_state.context.user_id is none and trigger.to_state.attributes.brightness == 5 }}"]}, True),
        ({"conditions": ["{{ state_attr('light.lamp', 'friendly_name') == 'Lamp' }}"]}, False),
        ({}, False),
    ],
)  # fmt: skip
async def test_an_attribute_that_is_left_out_is_named(
    recorder_mock: Recorder, hass: HomeAssistant, freezer: FrozenDateTimeFactory, more: dict[str, object], is_told: bool
) -> None:
    assert await async_setup_component(hass, "light", {})
    lamp = Lamp()
    await hass.data["light"].async_add_entities([lamp])
    begin = dt_util.utcnow()
    for is_on in (False, True, False):
        freezer.tick(MINUTE)
        lamp._attr_is_on = is_on
        lamp.async_write_ha_state()
        await hass.async_block_till_done()
    await async_wait_recording_done(hass)
    freezer.tick(MINUTE)
    config = {"alias": "x", "actions": [], "triggers": [{"trigger": "state", "entity_id": "light.lamp"}], **more}
    found = await Timeline.async_recorded(hass, ["light.lamp"], begin, dt_util.utcnow())
    draft = await async_draft(hass, config)
    why = ("light.lamp", "the attribute 'brightness' of light.lamp is not recorded")
    for timeline in (found, Timeline.from_dict(hass, json.loads(json.dumps(found.as_dict())))):
        assert (why in (await async_replay(hass, draft, timeline)).not_replayed) is is_told
