"""What happens when a wish is due: done, asked about, or told, by kind and by how late it is."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.persistent_notification import _async_get_or_create_notifications
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events, async_mock_service

from custom_components.home_agent.agent.due import async_run_wish
from custom_components.home_agent.policy.channels import CONFIRM, REJECT
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn import events
from custom_components.home_agent.wishes.due import Due, DueReason, Stays
from custom_components.home_agent.wishes.when import When
from custom_components.home_agent.wishes.wish import Wish, WishKind, WishStatus
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import say, set_up, speech, state_of
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
