"""What happens when a wish is due: done, asked about, or told, by kind and by how late it is."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

from homeassistant.components import persistent_notification
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.persistent_notification import _async_get_or_create_notifications
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events, async_mock_service

from custom_components.home_agent.agent import wakes
from custom_components.home_agent.agent.due import async_run_wish
from custom_components.home_agent.policy.channels import CONFIRM, REJECT
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn import events
from custom_components.home_agent.wishes.due import Due, DueReason, Stays
from custom_components.home_agent.wishes.when import Watch, When
from custom_components.home_agent.wishes.wish import Step, Wish, WishKind, WishStatus
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import say, set_up, speech, state_of, until
from tests.llm_server import LLMServer, error, text, tool_call
from tests.policy.confirmation.test_phones import add_phone, press
from tests.wish_rows import effect, wish_of

pytestmark = pytest.mark.usefixtures("demo_house")
LIGHT, CEILING, DOOR, SATELLITE = "light.bed_light", "light.ceiling_lights", "lock.front_door", "assist_satellite.hall"
UNLOCK = effect("lock.unlock", DOOR)
OFF = effect("light.turn_off", LIGHT)


async def run(
    hass: HomeAssistant, entry: MockConfigEntry, wish: Wish, reason: DueReason = DueReason.TIME, late: float = 0
) -> Stays | None:
    """Keep a wish, and do it as what waits for it would; `late` in minutes."""
    wishes, running = wishes_of(hass), replace(wish, status=WishStatus.RUNNING)
    wishes.put(running)
    due = Due(late=timedelta(minutes=late), reason=reason)
    ended = await async_run_wish(hass, entry.runtime_data, running, due)
    if ended is None:
        wishes.drop([running])
    elif wishes.get(wish.id) is not None:
        wishes.put(replace(wish, status=WishStatus.ASKED))
    await hass.async_block_till_done()
    return ended


def told(hass: HomeAssistant) -> list[str]:
    """Return what persistent notifications say."""
    return [item["message"] for item in _async_get_or_create_notifications(hass).values()]


def satellite(hass: HomeAssistant) -> tuple[list[ServiceCall], list[ServiceCall]]:
    """Add a voice satellite; return what it announces, and the conversations that it starts."""
    hass.states.async_set(SATELLITE, "idle", {"friendly_name": "Hall", "supported_features": 3})
    return tuple(async_mock_service(hass, "assist_satellite", name) for name in ("announce", "start_conversation"))  # type: ignore[return-value]


def at_satellite(*steps: Any, **fields: Any) -> Wish:
    return wish_of(None, *steps, satellite_id=SATELLITE, **fields)


def messages(calls: list[ServiceCall]) -> list[str]:
    return [str(call.data.get("message") or call.data.get("start_message")) for call in calls]


@pytest.fixture
async def lit(hass: HomeAssistant, demo_house: None) -> None:
    await hass.services.async_call("light", "turn_on", {"entity_id": [LIGHT, CEILING]}, blocking=True)


@pytest.mark.usefixtures("lit")
async def test_it_is_done_and_told(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    done = async_capture_events(hass, events.WISH_DONE)
    wish = wish_of(alice, OFF)
    assert await run(hass, entry, wish) is None
    assert state_of(hass, LIGHT) == "off"
    assert told(hass) == ["As planned: I turned off Bed Light."]
    assert [(event.data["wish_id"], event.data["entity_ids"], event.data["reason"]) for event in done] == [
        (wish.id, [LIGHT], "time")
    ]


@pytest.mark.usefixtures("lit")
async def test_only_problems_are_told(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass, profile={"wishes_told": "problems"})
    await run(hass, entry, wish_of(alice, OFF))
    assert state_of(hass, LIGHT) == "off"
    assert told(hass) == []


@pytest.mark.usefixtures("lit")
async def test_it_is_undone_by_its_user(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    await run(hass, entry, wish_of(alice, OFF, effect("light.turn_off", CEILING)))
    assert state_of(hass, CEILING) == "off"
    await say(hass, "undo that", context=alice)
    assert (state_of(hass, LIGHT), state_of(hass, CEILING)) == ("on", "on")


@pytest.mark.usefixtures("lit")
async def test_after_a_refusal_nothing_more_is_done(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    async_expose_entity(hass, ASSISTANT, CEILING, False)
    wish = wish_of(alice, effect("light.turn_off", CEILING), OFF)
    await run(hass, entry, wish)
    assert state_of(hass, LIGHT) == "on"
    assert told(hass) == ["Not done: “turn it off”. Something that it needs is not there any more."]


@pytest.mark.usefixtures("lit")
async def test_what_was_done_before_a_refusal_is_told(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    async_expose_entity(hass, ASSISTANT, CEILING, False)
    await run(hass, entry, wish_of(alice, OFF, effect("light.turn_off", CEILING)))
    assert state_of(hass, LIGHT) == "off"
    assert told(hass) == ["Only partly done: “turn it off”. Something that it needs is not there any more."]


async def test_a_phone_is_asked_and_says_yes(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    _, sent = add_phone(hass, alice)
    wish = wish_of(alice, UNLOCK, asks=True, words="unlock the door")
    assert isinstance(await run(hass, entry, wish), Stays)
    assert state_of(hass, DOOR) == "locked"
    assert messages(sent) == ["You planned this. Front Door is locked. Unlock it?"]
    [question] = entry.runtime_data.policy.confirmations.open()
    await press(hass, CONFIRM, question.id, alice)
    assert state_of(hass, DOOR) == "unlocked"
    assert messages(sent)[-1] == "Done. Front Door is unlocked."
    assert wishes_of(hass).get(wish.id) is None


async def test_a_phone_is_asked_and_says_no(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    add_phone(hass, alice)
    wish = wish_of(alice, UNLOCK, asks=True)
    await run(hass, entry, wish)
    [question] = entry.runtime_data.policy.confirmations.open()
    await press(hass, REJECT, question.id, alice)
    assert state_of(hass, DOOR) == "locked"
    assert wishes_of(hass).get(wish.id) is None
    assert told(hass) == []


async def test_without_an_answer_it_is_told(hass: HomeAssistant, alice: Context, freezer: Any) -> None:
    entry = await set_up(hass)
    _, sent = add_phone(hass, alice)
    wish = wish_of(alice, UNLOCK, asks=True, words="unlock the door")
    await run(hass, entry, wish)
    freezer.tick(timedelta(minutes=3))
    assert entry.runtime_data.policy.confirmations.open() == []
    await hass.async_block_till_done()
    assert messages(sent)[-1] == "Not done: “unlock the door”. It needed a confirmation and got none."
    assert wishes_of(hass).get(wish.id) is None


async def test_without_a_way_to_ask_it_is_not_done(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    assert await run(hass, entry, wish_of(alice, UNLOCK, asks=True, words="unlock")) is None
    assert state_of(hass, DOOR) == "locked"
    assert told(hass) == ["Not done: “unlock”. It needs your confirmation, and there is no way to ask you."]


async def test_never_ask_does_not_spare_a_wish(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass, profile={"never_ask": ["lock"]})
    await run(hass, entry, wish_of(alice, UNLOCK))
    assert state_of(hass, DOOR) == "locked"


async def test_the_satellite_asks_and_hears_the_yes(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    _, started = satellite(hass)
    wish = at_satellite(UNLOCK, asks=True)
    assert isinstance(await run(hass, entry, wish), Stays)
    assert messages(started) == ["You planned this. Front Door is locked. Unlock it?"]
    assert started[0].data["extra_system_prompt"] == ""
    answer = await say(hass, "yes", satellite_id=SATELLITE)
    assert speech(answer) == "Done. Front Door is unlocked."
    assert state_of(hass, DOOR) == "unlocked"
    assert wishes_of(hass).get(wish.id) is None


async def test_the_satellite_hears_the_pin(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"pins": {"unlock": "4711"}})
    satellite(hass)
    await run(hass, entry, at_satellite(UNLOCK, asks=True))
    await say(hass, "yes", satellite_id=SATELLITE)
    assert state_of(hass, DOOR) == "locked"
    await say(hass, "yes, 4711", satellite_id=SATELLITE)
    assert state_of(hass, DOOR) == "unlocked"


async def test_other_words_at_the_satellite_leave_the_question(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    satellite(hass)
    await run(hass, entry, at_satellite(UNLOCK, asks=True))
    await say(hass, "what time is it", satellite_id=SATELLITE)
    assert len(entry.runtime_data.policy.confirmations.open()) == 1
    await say(hass, "yes", satellite_id=SATELLITE)
    assert state_of(hass, DOOR) == "unlocked"


async def test_a_cancelled_wish_takes_its_question_back(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    add_phone(hass, alice)
    wish = wish_of(alice, UNLOCK, asks=True)
    await run(hass, entry, wish)
    [question] = entry.runtime_data.policy.confirmations.open()
    wishes_of(hass).drop([wish])
    await press(hass, CONFIRM, question.id, alice)
    assert state_of(hass, DOOR) == "locked"


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (WishKind.REMINDER, "take the cake out", "Reminder: take the cake out"),
        (WishKind.TELL, "the washer is done", "You wanted to be told: the washer is done"),
        (WishKind.TIMER, "", "The timer is up."),
        (WishKind.TIMER, "pasta", "The timer “pasta” is up."),
    ],
)
async def test_it_is_told_at_the_satellite(hass: HomeAssistant, kind: WishKind, given: str, said: str) -> None:
    entry = await set_up(hass)
    announced, _ = satellite(hass)
    await run(hass, entry, at_satellite(kind=kind, text=given))
    assert messages(announced) == [said]
    assert told(hass) == []


@pytest.mark.parametrize("kind", [WishKind.TELL, WishKind.REMINDER])
async def test_what_happened_is_told_in_the_words_that_it_was_waited_for_with(
    hass: HomeAssistant, kind: WishKind
) -> None:
    """A clause alone is no sentence in every language."""
    entry = await set_up(hass)
    when = When(event=Watch(entity_ids=(LIGHT,), states=("off",)), at=dt_util.utcnow(), words="wenn Bed Light aus ist")
    await run(hass, entry, wish_of(None, kind=kind, text="Bed Light aus ist", when=when, language="de"))
    assert told(hass) == ["Du wolltest Bescheid wissen, wenn Bed Light aus ist. Jetzt ist es so weit."]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", "Wie geplant habe ich Bed Light ausgeschaltet."),
        ("fr", "Comme prévu, j'ai éteint Bed Light."),
        ("nl", "Zoals gepland heb ik Bed Light uitgezet."),
    ],
)
async def test_what_was_done_is_one_sentence(hass: HomeAssistant, language: str, said: str) -> None:
    entry = await set_up(hass)
    await hass.services.async_call("light", "turn_on", {"entity_id": LIGHT}, blocking=True)
    await run(hass, entry, wish_of(None, OFF, language=language))
    assert told(hass) == [said]


@pytest.mark.usefixtures("lit")
@pytest.mark.parametrize(
    ("late", "fields", "state", "said"),
    [
        (0.5, {}, "off", "As planned: I turned off Bed Light."),
        (30, {}, "off", "This was planned for "),
        (90, {}, "on", "Missed: “turn it off”, planned for "),
        (600, {"ends": True}, "off", "This was planned for "),
        (1500, {"ends": True}, "on", "Missed: “turn it off”, planned for "),
    ],
)
async def test_late_actions(
    hass: HomeAssistant, alice: Context, late: float, fields: dict[str, Any], state: str, said: str
) -> None:
    entry = await set_up(hass)
    at = dt_util.utcnow() - timedelta(minutes=late)
    await run(hass, entry, wish_of(alice, OFF, when=When(at=at, words="then"), **fields), DueReason.MISSED, late)
    assert state_of(hass, LIGHT) == state
    assert told(hass)[0].startswith(said)


@pytest.mark.usefixtures("lit")
async def test_an_action_is_not_made_up_for_where_that_is_off(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass, profile={"wishes_late": 0})
    at = dt_util.utcnow() - timedelta(minutes=10)
    await run(hass, entry, wish_of(alice, OFF, when=When(at=at, words="then")), DueReason.MISSED, 10)
    assert state_of(hass, LIGHT) == "on"


@pytest.mark.usefixtures("lit")
async def test_what_comes_too_late_is_asked_about(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    _, sent = add_phone(hass, alice)
    at = dt_util.utcnow() - timedelta(minutes=90)
    wish = wish_of(alice, OFF, when=When(at=at, words="then"))
    assert isinstance(await run(hass, entry, wish, DueReason.MISSED, 90), Stays)
    assert state_of(hass, LIGHT) == "on"
    assert messages(sent)[0].startswith("You planned this for ")
    [question] = entry.runtime_data.policy.confirmations.open()
    await press(hass, CONFIRM, question.id, alice)
    assert state_of(hass, LIGHT) == "off"


async def test_what_unlocks_is_not_even_asked_about_when_late(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    _, sent = add_phone(hass, alice)
    await run(hass, entry, wish_of(alice, UNLOCK, asks=True), DueReason.MISSED, 3)
    assert messages(sent)[0].startswith("Missed: ")
    assert entry.runtime_data.policy.confirmations.open() == []


@pytest.mark.usefixtures("lit")
async def test_an_intent_is_handled(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    step = Step(intent="HassTurnOff", arguments={"name": LIGHT}, targets=(LIGHT,))
    await run(hass, entry, wish_of(alice, step))
    assert state_of(hass, LIGHT) == "off"
    assert told(hass) == ["As planned: I turned off Bed Light."]


@pytest.mark.usefixtures("lit")
async def test_a_tool_is_called(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    step = Step(tool="ha_control", arguments={"action": "turn_off", "entity_id": LIGHT}, targets=(LIGHT,))
    await run(hass, entry, wish_of(alice, step))
    assert state_of(hass, LIGHT) == "off"


@pytest.mark.usefixtures("lit")
async def test_words_are_read_again(hass: HomeAssistant, alice: Context, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    await run(hass, entry, wish_of(alice, Step(command="turn off the bed light", targets=(LIGHT,))))
    assert state_of(hass, LIGHT) == "off"
    assert told(hass)[0].startswith("Done as planned: “turn it off”.")
    assert llm_server.requests == []


@pytest.mark.usefixtures("lit")
async def test_words_that_need_a_yes_ask_for_it(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    _, started = satellite(hass)
    wish = at_satellite(Step(command="unlock the front door", targets=(DOOR,)))
    assert isinstance(await run(hass, entry, wish), Stays)
    assert messages(started) == ["You planned this. Front Door is locked. Unlock it?"]
    await say(hass, "yes", satellite_id=SATELLITE)
    assert state_of(hass, DOOR) == "unlocked"


async def test_words_that_are_not_understood_any_more_are_told(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    await run(hass, entry, wish_of(alice, Step(command="water the flowers", targets=(LIGHT,))))
    assert told(hass)[0].startswith("Not done: “turn it off”. ")


async def test_more_steps_than_calls_in_a_turn(hass: HomeAssistant, alice: Context, lit: None) -> None:
    entry = await set_up(hass, profile={"max_calls_per_turn": 1})
    await run(hass, entry, wish_of(alice, OFF, effect("light.turn_off", CEILING)))
    assert (state_of(hass, LIGHT), state_of(hass, CEILING)) == ("off", "off")


@pytest.mark.usefixtures("lit")
async def test_a_device_that_does_not_follow_is_told(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass, options={"verify_seconds": 0.1})
    async_mock_service(hass, "light", "turn_off")
    failed = async_capture_events(hass, events.WISH_FAILED)
    await run(hass, entry, wish_of(alice, OFF))
    assert told(hass) == ["Not done: “turn it off”. I sent the command, but nothing has changed: Bed Light."]
    assert [event.data["reason"] for event in failed] == ["failed"]


@pytest.mark.usefixtures("lit")
async def test_what_is_undone_at_the_satellite(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    satellite(hass)
    await run(hass, entry, at_satellite(OFF, device_id="hall"))
    assert state_of(hass, LIGHT) == "off"
    await say(hass, "undo that", satellite_id=SATELLITE, device_id="hall")
    assert state_of(hass, LIGHT) == "on"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (DueReason.EXPIRED, "Not done: “turn it off”. What it waited for has not happened."),
        (DueReason.GONE, "Not done: “turn it off”. Something that it needs is not there any more."),
        (DueReason.ASKED, "Not done: “turn it off”. It needed a confirmation and got none."),
        (
            DueReason.INTERRUPTED,
            "Home Assistant stopped while it did this: “turn it off”. I don't know whether it was done. Bed Light is on.",
        ),
    ],
)
@pytest.mark.usefixtures("lit")
async def test_why_it_was_not_done(hass: HomeAssistant, alice: Context, reason: DueReason, said: str) -> None:
    entry = await set_up(hass)
    await run(hass, entry, wish_of(alice, OFF), reason)
    assert state_of(hass, LIGHT) == "on"
    assert told(hass) == [said]


async def test_what_shows_that_it_was_done_is_told_as_done(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
    await run(hass, entry, wish_of(alice, OFF), DueReason.INTERRUPTED)
    assert told(hass) == ["As planned: I turned off Bed Light."]


@pytest.mark.usefixtures("lit")
@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("open", "Not done: “turn it off”. Its condition is not met. Kitchen Window is open."),
        ("unavailable", "Not done: “turn it off”. I can't tell whether its condition is met."),
    ],
)
async def test_a_condition_that_is_not_met(hass: HomeAssistant, alice: Context, state: str, said: str) -> None:
    entry = await set_up(hass)
    window = "cover.kitchen_window"
    hass.states.async_set(window, state, {"friendly_name": "Kitchen Window"})
    when = When(at=dt_util.utcnow(), conditions=(Watch(entity_ids=(window,), states=("closed",)),))
    await run(hass, entry, wish_of(alice, OFF, when=when))
    assert state_of(hass, LIGHT) == "on"
    assert told(hass)[0].startswith(said)


async def test_a_reminder_whose_condition_is_not_met_is_not_told(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    when = When(at=dt_util.utcnow(), conditions=(Watch(entity_ids=(DOOR,), states=("unlocked",)),))
    await run(hass, entry, wish_of(alice, kind=WishKind.REMINDER, text="lock the door", when=when))
    assert told(hass) == []


async def test_a_deleted_agent(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    await run(hass, entry, wish_of(alice, OFF, agent_id="gone"))
    assert told(hass) == ["Not done: “turn it off”. Its agent does not exist any more."]


async def test_an_agent_that_is_not_for_its_user_any_more(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass, profile={"people": ["no_user"]})
    await run(hass, entry, wish_of(alice, OFF))
    assert told(hass)[0].startswith("Not done: “turn it off”. Home Agent is not set up for you.")


# Where it is told


@pytest.mark.parametrize("state", ["unavailable", "unknown"])
async def test_a_satellite_that_is_gone_leaves_it_to_the_phone(hass: HomeAssistant, alice: Context, state: str) -> None:
    entry = await set_up(hass)
    announced, _ = satellite(hass)
    _, sent = add_phone(hass, alice)
    hass.states.async_set(SATELLITE, state, {"supported_features": 3})
    await run(hass, entry, wish_of(alice, kind=WishKind.REMINDER, text="cake", satellite_id=SATELLITE))
    assert (announced, messages(sent), told(hass)) == ([], ["Reminder: cake"], [])


async def test_a_satellite_that_fails_leaves_it_to_the_notification(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    satellite(hass)

    async def fail(_call: ServiceCall) -> None:
        raise RuntimeError

    hass.services.async_register("assist_satellite", "announce", fail)
    await run(hass, entry, at_satellite(kind=WishKind.REMINDER, text="cake"))
    assert told(hass) == ["Reminder: cake"]


async def test_a_satellite_that_cannot_announce(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    announced, _ = satellite(hass)
    hass.states.async_set(SATELLITE, "idle", {"supported_features": 2})
    await run(hass, entry, at_satellite(kind=WishKind.REMINDER, text="cake"))
    assert (announced, told(hass)) == ([], ["Reminder: cake"])


async def test_no_one_is_interrupted(hass: HomeAssistant) -> None:
    """While someone talks with the satellite, it waits."""
    entry = await set_up(hass)
    announced, _ = satellite(hass)
    hass.states.async_set(SATELLITE, "listening", {"supported_features": 3})
    hass.loop.call_later(0.3, hass.states.async_set, SATELLITE, "idle", {"supported_features": 3})
    began = hass.loop.time()
    await run(hass, entry, at_satellite(kind=WishKind.REMINDER, text="cake"))
    assert messages(announced) == ["Reminder: cake"]
    assert hass.loop.time() - began >= 0.3


async def test_the_language_of_the_wish(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    await run(hass, entry, wish_of(alice, kind=WishKind.REMINDER, text="Kuchen", language="de"))
    assert told(hass) == ["Erinnerung: Kuchen"]


# Late


@pytest.mark.parametrize(
    ("kind", "late", "said"),
    [
        (WishKind.REMINDER, 300, "This was planned for "),
        (WishKind.TELL, 300, "This was planned for "),
        (WishKind.TIMER, 30, "This was planned for "),
        (WishKind.TIMER, 90, "A timer for "),
        (WishKind.WAKE, 90, "Missed: “up”"),
    ],
)
async def test_what_is_only_told_is_told_late(
    hass: HomeAssistant, alice: Context, kind: WishKind, late: float, said: str
) -> None:
    entry = await set_up(hass)
    at = dt_util.utcnow() - timedelta(minutes=late)
    wish = wish_of(alice, kind=kind, text="" if kind is WishKind.TIMER else "up", when=When(at=at))
    assert await run(hass, entry, wish, DueReason.MISSED, late) is None
    assert [text.startswith(said) for text in told(hass)] == [True]


# Waking


async def wake(hass: HomeAssistant, entry: MockConfigEntry, context: Context | None = None, **fields: Any) -> Wish:
    wish = wish_of(context, kind=WishKind.WAKE, words="wake me", **fields)
    assert isinstance(await run(hass, entry, wish), Stays)
    await asyncio.sleep(0)
    return wish


@pytest.fixture
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five minutes last a tenth of a second."""
    monkeypatch.setattr(wakes, "PAUSE", 0.1)


@pytest.mark.usefixtures("short_pause")
async def test_a_wake_up_is_told_three_times(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    announced, _ = satellite(hass)
    wish = await wake(hass, entry, satellite_id=SATELLITE)
    await until(lambda: wishes_of(hass).get(wish.id) is None)
    assert len(announced) == 3
    assert "time to wake up" in messages(announced)[0]


async def test_who_says_something_is_awake(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    announced, _ = satellite(hass)
    wish = await wake(hass, entry, satellite_id=SATELLITE)
    await until(lambda: announced)
    await say(hass, "good morning", satellite_id=SATELLITE)
    await until(lambda: wishes_of(hass).get(wish.id) is None)
    assert len(announced) == 1


async def test_someone_else_does_not_wake_them(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    wish = await wake(hass, entry, alice)
    await until(lambda: told(hass))
    await say(hass, "good morning", satellite_id=SATELLITE)
    await say(hass, "good morning")
    await asyncio.sleep(0.05)
    assert wishes_of(hass).get(wish.id) is not None
    await say(hass, "good morning", context=alice)
    await until(lambda: wishes_of(hass).get(wish.id) is None)


async def test_a_dismissed_notification_is_an_answer(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    wish = await wake(hass, entry, alice)
    await until(lambda: told(hass))
    persistent_notification.async_dismiss(hass, f"home_agent_wish_{wish.id}")
    await until(lambda: wishes_of(hass).get(wish.id) is None)


async def test_a_notification_swiped_away_is_an_answer(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    _, sent = add_phone(hass, alice)
    wish = await wake(hass, entry, alice)
    await until(lambda: sent)
    hass.bus.async_fire("mobile_app_notification_cleared", {"tag": sent[0].data["data"]["tag"]})
    await until(lambda: wishes_of(hass).get(wish.id) is None)


async def test_a_cancelled_wake_up_is_told_no_more(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    done = async_capture_events(hass, events.WISH_DONE)
    wish = await wake(hass, entry, alice)
    await until(lambda: told(hass))
    wishes_of(hass).drop([wish])
    await hass.async_block_till_done(wait_background_tasks=True)
    assert done == []


async def test_a_wake_up_is_told_once_more_after_a_restart(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    wish = await wake(hass, entry, alice)
    await until(lambda: told(hass))
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert wishes_of(hass).get(wish.id) is not None
    persistent_notification.async_dismiss_all(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await until(lambda: told(hass))


# A question


async def test_a_question_is_answered(hass: HomeAssistant, alice: Context, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(text("It is **21** degrees."))
    await run(hass, entry, wish_of(alice, kind=WishKind.QUESTION, text="how warm is it"))
    assert told(hass) == ["You asked “how warm is it”. It is 21 degrees."]
    assert entry.runtime_data.conversations is not None


async def test_a_question_about_the_home_without_a_model(hass: HomeAssistant, alice: Context) -> None:
    entry = await set_up(hass)
    await run(hass, entry, wish_of(alice, kind=WishKind.QUESTION, text="is the front door locked?"))
    assert told(hass)[0].startswith("You asked “is the front door locked")
    assert "Yes" in told(hass)[0] or "locked" in told(hass)[0].rpartition("”")[2]


async def test_a_model_that_cannot_be_reached(hass: HomeAssistant, alice: Context, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(error(500, "no"), error(500, "no"))
    await run(hass, entry, wish_of(alice, kind=WishKind.QUESTION, text="how warm is it outside"))
    assert told(hass)[0].startswith("There is no answer to “how warm is it outside”. ")


async def test_a_question_reads_what_it_may(hass: HomeAssistant, alice: Context, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_query", {"entity_id": DOOR}), text("It is locked."))
    await run(hass, entry, wish_of(alice, kind=WishKind.QUESTION, text="what about the door"))
    assert told(hass) == ["You asked “what about the door”. It is locked."]
    [tool_message] = [item for item in llm_server.request.body["messages"] if item["role"] == "tool"]
    assert "locked" in tool_message["content"]
