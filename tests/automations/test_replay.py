"""What a replay says: why a trigger was held back, what cannot be replayed, what came near; and within which bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
import time
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations import past_actions, replay as replay_module
from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.automations.recorded import PastGap
from custom_components.home_agent.automations.replay import Replay, async_replay
from custom_components.home_agent.automations.timeline import Timeline
from custom_components.home_agent.automations.watched import async_entities, event_types_of
from custom_components.home_agent.support.errors import ToolRefusal
from tests.automations.engine import Script

DOOR = "binary_sensor.door"
BEGIN = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)  # a Monday; Home Assistant's tests are in San Diego, eight hours behind
OPENED = {"trigger": "state", "entity_id": DOOR, "to": "on"}

type Row = tuple[float, str, str | None]


def timeline(*rows: Row, hours: float = 6, **initial: str) -> Timeline:
    """Return a timeline of changes (minutes, entity, state); initial states are those of `domain__name`."""
    start: dict[str, tuple[str, Mapping[str, Any]]] = {
        name.replace("__", "."): (state, {}) for name, state in initial.items()
    }
    changes: list[tuple[datetime, str, str | None, Mapping[str, Any]]] = [
        (BEGIN + timedelta(minutes=minute), entity_id, state, {}) for minute, entity_id, state in rows
    ]
    return Script(
        initial={DOOR: ("off", {}), **start}, changes=changes, begin=BEGIN, end=BEGIN + timedelta(hours=hours)
    ).timeline()


async def played(hass: HomeAssistant, on: Timeline, *triggers: Mapping[str, Any], **more: Any) -> Replay:
    config = {"alias": "x", "actions": [], **more, "triggers": [*triggers] or [OPENED]}
    return await async_replay(hass, await async_draft(hass, config), on)


def held(found: Replay) -> Sequence[tuple[str, str]]:
    return [(one.condition, one.because) for one in found.held]


@pytest.mark.parametrize(
    ("condition", "because"),
    [
        ({"condition": "state", "entity_id": "light.a", "state": "on"}, "light.a was 'off', not 'on'"),
        ({"condition": "state", "entity_id": "light.a", "state": ["on", "idle"]}, "light.a was 'off', not 'on' or 'idle'"),
        ({"condition": "state", "entity_id": "light.a", "attribute": "x", "state": "on"}, "light.a had no attribute 'x'"),
        (
            {"condition": "state", "entity_id": "light.a", "state": "off", "for": "01:00:00"},
            "light.a was 'off' for 0:10:00 only, not for 1:00:00",
        ),
        (
            {"condition": "numeric_state", "entity_id": "sensor.heat", "above": 20},
            "sensor.heat was '18', not above 20.0",
        ),
        ({"condition": "time", "after": "09:00", "before": "10:00"}, "it was 00:10:00, not after 09:00:00 and before 10:00:00"),
        ({"condition": "time", "weekday": ["sat"]}, "it was mon, not sat"),
        ({"condition": "trigger", "id": "other"}, "the trigger was '0', not other"),
        ("{{ is_state('light.a', 'on') }}", "its template was not true (light.a was 'off')"),
        (
            {"condition": "or", "conditions": [
                {"condition": "state", "entity_id": "light.a", "state": "on"},
                {"condition": "state", "entity_id": DOOR, "state": "off"},
            ]},
            f"light.a was 'off', not 'on' and {DOOR} was 'on', not 'off'",
        ),
        (
            {"condition": "not", "conditions": [{"condition": "state", "entity_id": "light.a", "state": "off"}]},
            "light.a was 'off', and that must not be so",
        ),
        (
            {"condition": "state", "entity_id": "light.none", "state": "on"},
            "it could not be checked: In 'state' condition: unknown entity light.none",
        ),
    ],
)  # fmt: skip
async def test_what_held_it_back(hass: HomeAssistant, condition: Any, because: str) -> None:
    past = timeline((10, DOOR, "on"), light__a="off", sensor__heat="18")
    found = await played(hass, past, conditions=[condition])
    assert (found.runs, held(found)) == ((), [("conditions[0]", because)])


async def test_the_first_false_condition_is_told(hass: HomeAssistant) -> None:
    past = timeline((10, DOOR, "on"), light__a="off")
    conditions = [
        {"condition": "state", "entity_id": DOOR, "state": "on"},
        {"condition": "state", "entity_id": "light.a", "state": "on"},
    ]
    assert held(await played(hass, past, conditions=conditions)) == [("conditions[1]", "light.a was 'off', not 'on'")]


async def test_a_run_that_had_not_ended_is_told(hass: HomeAssistant) -> None:
    past = timeline((10, DOOR, "on"), (11, DOOR, "off"), (12, DOOR, "on"))
    found = await played(hass, past, actions=[{"delay": "00:05:00"}])
    assert [run.at for run in found.runs] == [BEGIN + timedelta(minutes=10)]
    assert held(found) == [("", "it was still running since 00:10:00 (mode single)")]


@pytest.mark.parametrize(
    ("trigger", "why"),
    [
        ({"trigger": "webhook", "webhook_id": "x"}, "calls of webhooks are not recorded"),
        ({"trigger": "conversation", "command": "go"}, "sentences are not recorded"),
        ({"trigger": "event", "event_type": "pressed"}, "events of the type pressed are not recorded here"),
        ({"trigger": "tag", "tag_id": "x"}, "events of the type tag_scanned are not recorded here"),
        ({"trigger": "homeassistant", "event": "shutdown"}, "when Home Assistant was told to stop is not recorded"),
    ],
)
async def test_what_leaves_no_trace_is_named(hass: HomeAssistant, trigger: Mapping[str, Any], why: str) -> None:
    for domain in ("webhook", "conversation", "tag"):
        assert await async_setup_component(hass, domain, {})
    found = await played(hass, timeline((10, DOOR, "on")), trigger, OPENED)
    assert found.not_replayed == (("triggers[0]", why),)
    assert [run.trigger for run in found.runs] == ["triggers[1]"]


async def test_what_is_not_in_the_timeline_is_named(hass: HomeAssistant) -> None:
    hass.states.async_set("light.other", "on")
    past = timeline((10, DOOR, "on"))
    found = await played(hass, past, conditions=["{{ is_state('light.other', 'on') }}"])
    assert found.not_replayed == (("entities", "not known here: light.other"),)
    assert found.runs == ()


async def test_what_came_near_is_told(hass: HomeAssistant) -> None:
    past = timeline((10, DOOR, "on"), (20, DOOR, "off"), (30, DOOR, "on"))
    found = await played(hass, past, {**OPENED, "to": "open"})
    assert [(near.count, near.because) for near in found.near] == [
        (2, f"{DOOR} went 'off' → 'on'; it asks for to: 'open'"),
        (1, f"{DOOR} went 'on' → 'off'; it asks for to: 'open'"),
    ]


async def test_an_attribute_that_is_not_there_is_told(hass: HomeAssistant) -> None:
    found = await played(hass, timeline((10, DOOR, "on")), {**OPENED, "attribute": "level", "to": "high"})
    assert [near.because for near in found.near] == [f"{DOOR} has no attribute 'level'"]


async def test_the_range_of_a_number_is_told(hass: HomeAssistant) -> None:
    past = timeline((10, "sensor.heat", "19.5"), (20, "sensor.heat", "22"), sensor__heat="18")
    found = await played(hass, past, {"trigger": "numeric_state", "entity_id": "sensor.heat", "above": 25})
    assert [near.because for near in found.near] == ["sensor.heat was between 19.5 and 22; it asks to come above 25.0"]


async def test_nothing_waits_over_a_gap(hass: HomeAssistant) -> None:
    past = timeline((10, DOOR, "on"), (25, "light.a", "on"), light__a="off")
    gap = PastGap(since=BEGIN + timedelta(minutes=20), until=BEGIN + timedelta(minutes=40))
    waiting = {**OPENED, "for": "00:15:00"}
    assert len((await played(hass, past, waiting)).runs) == 1
    assert (await played(hass, replace(past, gaps=(gap,)), waiting)).runs == ()


async def test_a_start_of_home_assistant_is_a_trigger(hass: HomeAssistant) -> None:
    gap = PastGap(since=BEGIN + timedelta(minutes=20), until=BEGIN + timedelta(minutes=40))
    found = await played(hass, replace(timeline(), gaps=(gap,)), {"trigger": "homeassistant", "event": "start"})
    assert [run.at for run in found.runs] == [gap.until]


async def test_each_start_of_home_assistant_is_a_trigger(hass: HomeAssistant) -> None:
    gaps = tuple(
        PastGap(since=BEGIN + timedelta(minutes=minute), until=BEGIN + timedelta(minutes=minute + 5))
        for minute in (20, 60, 100)
    )
    found = await played(hass, replace(timeline(), gaps=gaps), {"trigger": "homeassistant", "event": "start"})
    assert [run.at for run in found.runs] == [gap.until for gap in gaps]


async def test_a_change_in_a_gap_is_not_seen(hass: HomeAssistant) -> None:
    gap = PastGap(since=BEGIN + timedelta(minutes=5), until=BEGIN + timedelta(minutes=15))
    past = replace(timeline((10, DOOR, "on"), (20, DOOR, "off"), (30, DOOR, "on")), gaps=(gap,))
    assert [run.at for run in (await played(hass, past)).runs] == [BEGIN + timedelta(minutes=30)]


async def test_a_calendar_is_replayed_from_what_its_state_told(hass: HomeAssistant) -> None:
    at = BEGIN + timedelta(hours=2)
    attributes = {"message": "Dentist", "start_time": "2026-01-05 02:00:00", "end_time": "2026-01-05 03:00:00"}
    past = Script(
        initial={"calendar.home": ("off", attributes)},
        changes=[(at, "calendar.home", "on", attributes)],
        begin=BEGIN,
        end=BEGIN + timedelta(hours=6),
    ).timeline()
    assert await async_setup_component(hass, "calendar", {})
    trigger = {"trigger": "calendar", "entity_id": "calendar.home", "event": "start", "offset": "-00:30:00"}
    assert [run.at for run in (await played(hass, past, trigger)).runs] == [at - timedelta(minutes=30)]


async def test_a_device_trigger_is_what_its_platform_makes_of_a_state(hass: HomeAssistant) -> None:
    from homeassistant.helpers import device_registry as dr
    from pytest_homeassistant_custom_component.common import MockConfigEntry

    assert await async_setup_component(hass, "light", {})
    entry = MockConfigEntry(domain="light")
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, identifiers={("t", "1")})
    light = er.async_get(hass).async_get_or_create(
        "light", "t", "1", suggested_object_id="lamp", device_id=device.id, config_entry=entry
    )
    trigger = {
        "trigger": "device", "device_id": device.id, "domain": "light", "entity_id": light.id, "type": "turned_on",
    }  # fmt: skip
    past = timeline((10, light.entity_id, "on"), light__lamp="off")
    found = await played(hass, past, trigger)
    assert (len(found.runs), found.not_replayed) == (1, ())


async def test_a_trigger_of_the_devices_of_now_is_not_attached(hass: HomeAssistant) -> None:
    found = await played(hass, timeline(), {"trigger": "persistent_notification"}, OPENED)
    assert found.not_replayed[0] == ("triggers[0]", "notifications are not recorded")


async def test_first_and_all_of_several_lights(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "light", {})
    past = timeline((10, "light.a", "on"), (20, "light.b", "on"), light__a="off", light__b="off")
    lights = {"trigger": "light.turned_on", "target": {"entity_id": ["light.a", "light.b"]}}
    minutes = {
        behavior: [
            (run.at - BEGIN).seconds // 60
            for run in (await played(hass, past, {**lights, "options": {"behavior": behavior}})).runs
        ]
        for behavior in ("each", "first", "all")
    }
    assert minutes == {"each": [10, 20], "first": [10], "all": [20]}


async def test_it_ends_where_it_triggers_too_often(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_module, "MAX_HAPPENED", 100)
    found = await played(hass, timeline(), {"trigger": "time_pattern", "seconds": "*"})
    assert len(found.runs) == 100
    assert found.until < BEGIN + timedelta(minutes=2)
    assert found.not_replayed == (("", "It triggers too often: only the beginning was replayed."),)


@pytest.mark.usefixtures("no_collection")
async def test_the_event_loop_is_not_held_up(hass: HomeAssistant) -> None:
    rows = [(number / 200, DOOR, "on" if number % 2 else "off") for number in range(20_000)]
    past = timeline(*rows)
    longest, before = 0.0, time.perf_counter()

    def beat() -> None:
        nonlocal longest, before
        now = time.perf_counter()
        longest, before = max(longest, now - before), now
        handles[0] = hass.loop.call_soon(beat)

    handles = [hass.loop.call_soon(beat)]
    conditions = [{"condition": "state", "entity_id": DOOR, "state": "off"}]
    found = await played(hass, past, {**OPENED, "to": "on"}, conditions=conditions)
    handles[0].cancel()
    assert len(found.held) == 10_000
    assert longest < 0.5  # this machine is shared; a replay in one piece takes seconds


async def test_a_template_without_end_is_refused(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_module, "MAX_TEMPLATE_SECONDS", 0.2)
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(ToolRefusal, match="more time and memory"):
        await played(hass, timeline((10, DOOR, "on")), conditions=[loop])


async def test_a_template_without_end_in_a_script_is_named(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_actions, "MAX_TEMPLATE_SECONDS", 0.2)
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}5"
    assert await async_setup_component(hass, "script", {"script": {"long": {"sequence": [{"delay": loop}]}}})
    found = await played(hass, timeline((10, DOOR, "on")), actions=[{"action": "script.long"}])
    assert found.not_replayed == (("actions[0]", "a template of script.long takes longer than 0.2 s"),)


async def test_replays_leave_nothing_behind(hass: HomeAssistant) -> None:
    before = dict(hass.bus.async_listeners())
    await played(hass, timeline((10, DOOR, "on")), {**OPENED, "for": "05:00:00"})
    assert dict(hass.bus.async_listeners()) == before
    assert hass.states.get(DOOR) is None


async def test_two_replays_at_once_do_not_meet(hass: HomeAssistant) -> None:
    import asyncio

    one, other = await asyncio.gather(
        played(hass, timeline((10, DOOR, "on"))), played(hass, timeline((20, DOOR, "on"), (30, DOOR, "off")))
    )
    assert [run.at for run in one.runs] == [BEGIN + timedelta(minutes=10)]
    assert [run.at for run in other.runs] == [BEGIN + timedelta(minutes=20)]


async def test_a_template_of_now_is_of_the_past_again_elsewhere(hass: HomeAssistant) -> None:
    from homeassistant.helpers.template import Template

    hass.states.async_set(DOOR, "live")
    await played(hass, timeline((10, DOOR, "on")), conditions=["{{ states('binary_sensor.door') == 'on' }}"])
    assert Template("{{ states('binary_sensor.door') }}", hass).async_render() == "live"


async def test_a_wait_for_what_leaves_no_trace_is_named(hass: HomeAssistant) -> None:
    actions = [{"wait_for_trigger": [{"trigger": "webhook", "webhook_id": "x", "allowed_methods": ["POST"]}]}]
    past = timeline((10, DOOR, "on"), (20, DOOR, "off"), (30, DOOR, "on"))
    found = await played(hass, past, actions=actions, mode="single")
    assert found.not_replayed == (("actions[0].wait_for_trigger[0]", "calls of webhooks are not recorded"),)
    assert len(found.runs) == 2  # nothing is held back because of it


async def test_a_second_trigger_while_it_waits_is_held_back(hass: HomeAssistant) -> None:
    actions = [{"wait_for_trigger": [{"trigger": "state", "entity_id": "light.a", "to": "on"}], "timeout": "01:00:00"}]
    past = timeline(
        (10, DOOR, "on"), (20, DOOR, "off"), (30, DOOR, "on"), (75, DOOR, "off"), (80, DOOR, "on"), light__a="off"
    )
    found = await played(hass, past, actions=actions, mode="single")
    assert [run.at for run in found.runs] == [BEGIN + timedelta(minutes=10), BEGIN + timedelta(minutes=80)]
    assert held(found) == [("", "it was still running since 00:10:00 (mode single)")]


async def test_what_actions_wait_for_is_looked_up(hass: HomeAssistant) -> None:
    hass.states.async_set("light.b", "off")
    actions = [
        {
            "wait_for_trigger": [
                {"trigger": "state", "entity_id": "light.a"},
                {"trigger": "event", "event_type": "button"},
            ]
        },
        {"wait_template": "{{ is_state('light.b', 'on') }}"},
    ]
    draft = await async_draft(hass, {"alias": "x", "triggers": [OPENED], "actions": actions})
    assert async_entities(hass, draft) == {DOOR, "light.a", "light.b"}
    assert event_types_of(draft) == {"button"}


COOL = "{{ now() - (this.attributes.last_triggered or as_datetime(0)) > timedelta(hours=1) }}"


async def existing(hass: HomeAssistant) -> str:
    """Make an automation that exists, and return its entity."""
    config = {"id": "cool", "alias": "Cool", "triggers": [OPENED], "conditions": [COOL], "actions": []}
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    return "automation.cool"


async def test_when_it_ran_before_counts(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    freezer.move_to(BEGIN - timedelta(minutes=30))
    await existing(hass)
    hass.states.async_set(DOOR, "on")
    await hass.async_block_till_done()
    draft = await async_draft(
        hass, {"alias": "Cool", "triggers": [OPENED], "conditions": [COOL], "actions": []}, "cool"
    )
    past = timeline((10, DOOR, "on"), (20, DOOR, "off"), (40, DOOR, "on"))
    found = await async_replay(hass, draft, past)
    assert [run.at for run in found.runs] == [BEGIN + timedelta(minutes=40)]
    assert found.not_replayed == ()


async def test_an_example_does_not_know_when_it_ran_before(hass: HomeAssistant) -> None:
    piece = timeline((10, DOOR, "on")).around(BEGIN + timedelta(minutes=10), timedelta(minutes=5), timedelta(minutes=5))
    found = await played(hass, piece, conditions=[COOL])
    assert found.not_replayed == (("conditions[0]", "when it ran before is not known"),)
    assert (await played(hass, piece)).not_replayed == ()


async def test_a_kept_example_does_not_know_it_either(hass: HomeAssistant) -> None:
    kept = Timeline.from_dict(hass, timeline((10, DOOR, "on")).as_dict())
    found = await played(hass, kept, conditions=[COOL])
    assert found.not_replayed == (("conditions[0]", "when it ran before is not known"),)


async def test_what_asks_for_a_name_that_is_not_given_yet_is_named(hass: HomeAssistant) -> None:
    conditions = ["{{ this.attributes.friendly_name == 'x' }}"]
    assert (await played(hass, timeline((10, DOOR, "on")), conditions=conditions)).not_replayed == ()
    found = await played(hass, timeline((10, DOOR, "on")), conditions=conditions, alias="")
    assert found.not_replayed == (("conditions[0]", "it has no name yet"),)


async def test_what_happened_to_it_in_fact_is_not_what_its_replayed_runs_make_of_it(hass: HomeAssistant) -> None:
    past = timeline((5, "automation.x", "off"), (10, DOOR, "on"), automation__x="on")
    condition = {"condition": "state", "entity_id": "automation.x", "state": "on"}
    found = await played(hass, past, conditions=[condition])
    assert [run.at for run in found.runs] == [BEGIN + timedelta(minutes=10)]


async def test_what_happened_to_it_in_fact_does_not_start_it(hass: HomeAssistant) -> None:
    past = timeline((5, "automation.x", "off"), (10, DOOR, "on"), automation__x="on")
    found = await played(hass, past, {"trigger": "state", "entity_id": "automation.x", "to": "off"}, OPENED)
    assert [run.at for run in found.runs] == [BEGIN + timedelta(minutes=10)]


@pytest.mark.parametrize(
    ("config", "path", "why"),
    [
        ({"conditions": ["{{ trigger.to_state.context.user_id is none }}"]}, "conditions[0]", "who made a change is not known"),
        ({"variables": {"by": "{{ trigger.to_state.context.id }}"}}, "variables", "who made a change is not known"),
        (
            {"actions": [{"wait_for_trigger": [{"trigger": "event", "event_type": "x", "context": {"user_id": ["a"]}}]}]},
            "actions[0]",
            "who made a change is not known",
        ),
        ({"conditions": ["{{ this.context.user_id is none }}"]}, "conditions[0]", "who made a change is not known"),
        (
            {"conditions": ["{{ now() - states.light.a.last_reported > timedelta(hours=1) }}"]},
            "conditions[0]",
            "when a state was last reported is not recorded",
        ),
        (
            {"conditions": [{"or": ["{{ states['light.a'].last_reported_timestamp > 1 }}"]}]},
            "conditions[0]",
            "when a state was last reported is not recorded",
        ),
    ],
)  # fmt: skip
async def test_what_nobody_knows_is_named(hass: HomeAssistant, config: Mapping[str, Any], path: str, why: str) -> None:
    found = await played(hass, timeline((10, DOOR, "on"), light__a="off"), **config)
    assert (path, why) in found.not_replayed


async def test_actions_that_take_no_time_may_ask_for_anything(hass: HomeAssistant) -> None:
    actions = [{"if": ["{{ trigger.to_state.context.user_id is none }}"], "then": [{"event": "said"}]}]
    assert (await played(hass, timeline((10, DOOR, "on")), actions=actions)).not_replayed == ()
    found = await played(hass, timeline((10, DOOR, "on")), actions=[*actions, {"delay": 5}])
    assert found.not_replayed == (("actions[0]", "who made a change is not known"),)


async def test_what_actions_say_of_who_it_was_needs_no_replay(hass: HomeAssistant) -> None:
    actions = [{"event": "said", "event_data": {"by": "{{ trigger.to_state.context.user_id }}"}}, {"delay": 5}]
    found = await played(hass, timeline((10, DOOR, "on")), actions=actions)
    assert (len(found.runs), found.not_replayed) == (1, ())


async def test_a_script_that_calls_itself_is_named(hass: HomeAssistant) -> None:
    sequence = [{"delay": "00:20:00"}, {"action": "script.again"}]
    assert await async_setup_component(hass, "script", {"script": {"again": {"sequence": sequence}}})
    past = timeline((10, DOOR, "on"), (20, DOOR, "off"), (30, DOOR, "on"))
    found = await played(hass, past, actions=[{"action": "script.again"}])
    assert found.not_replayed == (("actions[0]", "script.again calls itself"),)
    assert len(found.runs) == 2  # nothing is held back because of it


async def test_a_script_that_nobody_can_follow_is_named(hass: HomeAssistant) -> None:
    scripts = {
        "own": {"sequence": [{"delay": "{{ this.attributes.current }}"}]},
        "quick": {"sequence": [{"event": "x"}]},
    }
    assert await async_setup_component(hass, "script", {"script": scripts})
    past = timeline((10, DOOR, "on"), (20, DOOR, "off"), (30, DOOR, "on"))
    found = await played(hass, past, actions=[{"action": "script.own"}])
    assert found.not_replayed == (("actions[0]", "how long script.own runs is not known: it asks for itself"),)
    found = await played(hass, past, actions=[{"action": "{{ 'script.own' }}"}])
    assert found.not_replayed == (("actions[0]", "how long script.own runs is not known"),)
    found = await played(hass, past, actions=[{"action": "script.quick"}, {"action": "script.own", "enabled": False}])
    assert (len(found.runs), found.not_replayed) == (2, ())


async def test_what_a_script_looks_at_and_is_not_known_is_named(hass: HomeAssistant) -> None:
    hass.states.async_set("light.other", "on")
    sequence = [{"condition": "state", "entity_id": "light.other", "state": "on"}, {"delay": "01:00:00"}]
    assert await async_setup_component(hass, "script", {"script": {"looks": {"sequence": sequence}}})
    found = await played(hass, timeline((10, DOOR, "on")), actions=[{"action": "script.looks"}])
    assert found.not_replayed == (("entities", "not known here: light.other"),)


async def test_one_that_triggers_itself_is_named(hass: HomeAssistant) -> None:
    trigger = {"action": "automation.trigger", "target": {"entity_id": "{{ this.entity_id }}"}}
    found = await played(hass, timeline((10, DOOR, "on")), actions=[trigger])
    assert found.not_replayed == (("actions[0]", "it triggers itself"),)


async def test_a_restart_stops_the_scripts_that_it_calls(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "script", {"script": {"slow": {"sequence": [{"delay": "05:00:00"}]}}})
    gap = PastGap(since=BEGIN + timedelta(minutes=20), until=BEGIN + timedelta(minutes=30))
    past = timeline((10, DOOR, "on"), (40, DOOR, "off"), (50, DOOR, "on"), (60, DOOR, "off"), (70, DOOR, "on"))
    found = await played(hass, replace(past, gaps=(gap,)), actions=[{"action": "script.slow"}])
    assert [run.at for run in found.runs] == [BEGIN + timedelta(minutes=10), BEGIN + timedelta(minutes=50)]
    assert held(found) == [("", "it was still running since 00:50:00 (mode single)")]


async def test_the_run_of_a_script_goes_on_when_one_behind_it_is_stopped(hass: HomeAssistant) -> None:
    """The second run waits for its turn until the third one restarts the script that has called it."""
    scripts = {
        "in_turns": {"sequence": [{"delay": "03:00:00"}], "mode": "queued"},
        "anew": {"sequence": [{"action": "script.in_turns"}], "mode": "restart"},
    }
    assert await async_setup_component(hass, "script", {"script": scripts})
    doors = [
        (10.0 * number + minute, DOOR, state) for number in range(1, 6) for minute, state in ((0, "on"), (5, "off"))
    ]
    past = timeline(*doors[:2], (19, "sensor.a", "2"), *doors[2:6], (39, "sensor.a", "3"), *doors[6:], sensor__a="1")
    choices = [
        {
            "conditions": [{"condition": "state", "entity_id": "sensor.a", "state": state}],
            "sequence": [{"action": script}],
        }
        for state, script in (("1", "script.in_turns"), ("2", "script.anew"))
    ]
    actions = [{"choose": choices, "default": [{"delay": "05:00:00"}]}]
    found = await played(hass, past, actions=actions, mode="parallel", max=3)
    assert (len(found.runs), held(found)) == (4, [("", "3 runs had not ended (mode parallel)")])


async def test_once_it_has_turned_itself_off_it_stays_off(hass: HomeAssistant) -> None:
    gap = PastGap(since=BEGIN + timedelta(minutes=20), until=BEGIN + timedelta(minutes=30))
    past = timeline((10, DOOR, "on"), (40, DOOR, "off"), (50, DOOR, "on"))
    off = {"action": "automation.turn_off", "target": {"entity_id": "automation.x"}}
    found = await played(hass, replace(past, gaps=(gap,)), actions=[off])
    assert ([run.at for run in found.runs], found.held) == ([BEGIN + timedelta(minutes=10)], ())


async def test_another_automation_that_it_triggers_takes_its_time(hass: HomeAssistant) -> None:
    other = {"id": "other", "alias": "Other", "triggers": [], "actions": [{"delay": "00:25:00"}]}
    assert await async_setup_component(hass, "automation", {"automation": [other]})
    past = timeline((10, DOOR, "on"), (20, DOOR, "off"), (30, DOOR, "on"), (40, DOOR, "off"), (50, DOOR, "on"))
    trigger = {"action": "automation.trigger", "target": {"entity_id": "automation.other"}}
    found = await played(hass, past, actions=[trigger])
    assert [run.at for run in found.runs] == [BEGIN + timedelta(minutes=10), BEGIN + timedelta(minutes=50)]
    found = await played(hass, past, actions=[trigger], mode="parallel")
    assert len(found.runs) == 3


def _answer(_call: ServiceCall) -> ServiceResponse:
    return {"is_late": True}


@pytest.mark.parametrize(("text", "is_told"), [("{{ answer.is_late }}", True), ("{{ answers == 1 }}", False)])
async def test_what_goes_on_by_an_answer_is_named(hass: HomeAssistant, text: str, is_told: bool) -> None:
    hass.services.async_register("x", "ask", _answer, supports_response=SupportsResponse.ONLY)
    actions = [
        {"action": "x.ask", "response_variable": "answer"},
        {"if": [text], "then": [{"delay": "05:00:00"}]},
        {"event": "told", "event_data": {"answer": "{{ answer.is_late }}"}},
    ]
    found = await played(hass, timeline((10, DOOR, "on")), actions=actions)
    assert (("actions[1]", "what it was answered (answer) is not known") in found.not_replayed) is is_told
