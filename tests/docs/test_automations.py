"""The conversations of docs/AUTOMATIONS.md are held: each message, each call of the model, each answer, what becomes of the home."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
import json
import re

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.recorder import Recorder
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_fire_time_changed
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.settings.portable import async_preset
from custom_components.home_agent.support.const import ASSISTANT
from tests.automations.home import Talk, with_files
from tests.automations.model import since_user
from tests.house import build_house, person, set_up
from tests.llm_replies import JSON
from tests.llm_server import LLMServer, Reply, text, tool_call

from .pages import DOCS, FENCE, ROOT, read

LINE = re.compile(r"(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\d\d:\d\d) )?([A-Z][\w ]+?): (.+)")
CONVERSATIONS = [match[2] for match in FENCE.finditer(read(DOCS / "AUTOMATIONS.md")) if match[1] == "text"]
MONDAY = datetime(2027, 3, 1)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
IDS = re.compile(r"\b\d{12,}\b")
"""An id is made of what an automation does; the page has the same one everywhere."""
ID = "1767225600000"
DEVICES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "binary_sensor.garage_door": ("off", {"device_class": "garage_door", "friendly_name": "Garage door"}),
    "person.anna": ("home", {"friendly_name": "Anna"}),
    "sensor.mailbox": ("0", {"friendly_name": "Mailbox"}),
}
FILE = """\
# Made by hand
- id: hall
  alias: Hall lamp  # since spring
  triggers:
    - trigger: time
      at: "07:00:00"
  actions:
    - action: light.turn_on
      target: {entity_id: light.bed_light}
"""
ISSUES = json.loads(read(ROOT / "custom_components/home_agent/translations/en.json"))["issues"]
PHONE = "mobile_app_bens_phone"


@dataclass(frozen=True, slots=True)
class PageLine:
    """One line of a conversation."""

    at: datetime | None
    """None: when the line before was said."""
    who: str
    what: str


def lines(conversation: str) -> Iterator[PageLine]:
    """Yield the lines, all in one week; what is indented belongs to the line above."""
    for line in re.sub(r"\n  +", " ", conversation).splitlines():
        found = LINE.fullmatch(line)
        assert found is not None, line
        at = None
        if found[1]:
            hour, minute = map(int, found[2].split(":"))
            day = MONDAY + timedelta(days=DAYS.index(found[1]), hours=hour, minutes=minute)
            at = day.replace(tzinfo=dt_util.get_default_time_zone())
        yield PageLine(at, found[3], found[4])


class Telling:
    """A conversation that is held in a home whose automations stand in files."""

    def __init__(
        self, hass: HomeAssistant, server: LLMServer, freezer: FrozenDateTimeFactory, entry: MockConfigEntry
    ) -> None:
        """Take the home."""
        self.hass, self.server, self.freezer, self.entry = hass, server, freezer, entry
        self.people: dict[str, Talk] = {}
        self.calls: list[str] = []
        self.phone: list[str] = []
        self.answer = self.words = ""

    async def go(self, following: Sequence[PageLine]) -> None:
        """Let the first line happen; the others say what the model calls, and what comes of it."""
        line, *after = following
        self.calls = [one.what for one in after if one.who == "Model"]
        self.words = next((one.what for one in after if one.who == "Home Agent"), "")
        if line.at is not None and line.at > dt_util.now():
            self.freezer.move_to(line.at)
            async_fire_time_changed(self.hass, line.at)
            await self.settle()
        match line.who:
            case "Home":
                entity_id, state = line.what.split(" is ")
                known = self.hass.states.get(entity_id)
                assert known is not None
                self.hass.states.async_set(entity_id, state, known.attributes)
            case "Administrator":
                await self.decide(line.what)
            case who:
                self.answer = IDS.sub(ID, await self.people[who].say(line.what))
        await self.settle()
        for one in after:
            await self.check(one)

    async def settle(self) -> None:
        await self.hass.async_block_till_done(wait_background_tasks=True)
        await async_wait_recording_done(self.hass)

    async def check(self, line: PageLine) -> None:
        """Compare a line with what has come of it."""
        match line.who:
            case "Home Agent":
                assert self.answer == line.what
            case "Result":
                told = [one["content"] for one in self.server.requests[-1].body["messages"] if one["role"] == "tool"]
                assert any(line.what in one.replace("\\n", " ") for one in told), told
            case "Repairs":
                assert line.what in [said async for said in self.waiting()]
            case "Phone":
                assert self.phone[-1] == line.what
            case "There":
                entity_id, _, state = line.what.partition(" is ")
                assert self.hass.states.is_state(entity_id, state)
            case "Sent":
                assert line.what in str(self.server.requests[-1].body["messages"])
            case "Gone":
                assert self.hass.states.get(line.what) is None

    async def waiting(self) -> AsyncIterator[str]:
        """Yield what administrators read in Repairs."""
        for key in ("automations_proposed", "automations_tried", "automations_changed"):
            for _, said in (await self.entry.runtime_data.proposals.async_waiting(key)).values():
                yield said

    async def decide(self, button: str) -> None:
        """Press a button in Repairs."""
        [key] = [key for key, issue in ISSUES.items() if button in str(issue.get("fix_flow"))]
        proposals = self.entry.runtime_data.proposals
        rows = [row for row, _ in (await proposals.async_waiting(key)).values()]
        assert await proposals.async_decide(key, rows, []) == (1, None)

    def respond(self, body: JSON) -> Reply:
        """Make the next call of the page, or say what stands there."""
        messages = since_user(body["messages"])
        results = [str(message["content"]) for message in messages if message["role"] == "tool"]
        if len(results) == len(self.calls):
            return text(self.words)
        name, _, written = self.calls[len(results)].partition(" ")
        if name == "says":
            return text(written)
        known = re.findall(r'"hash": ?"(\w+)"', " ".join(results))
        return tool_call(name, json.loads(written.replace("…", known[-1] if known else "")))


@pytest.fixture
async def telling(
    recorder_mock: Recorder,
    request: pytest.FixtureRequest,
    hass: HomeAssistant,
    house: None,
    llm_server: LLMServer,
    freezer: FrozenDateTimeFactory,
    hass_admin_user: MockUser,
) -> AsyncGenerator[Telling]:
    freezer.move_to(MONDAY.replace(hour=6, tzinfo=dt_util.get_default_time_zone()))
    await build_house(hass)
    for domain in ("trace", "persistent_notification"):
        assert await async_setup_component(hass, domain, {})
    for entity_id, (state, attributes) in DEVICES.items():
        hass.states.async_set(entity_id, state, attributes)
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    hass.config.internal_url = "http://homeassistant.local:8123"
    await with_files(hass, automations=FILE)
    if "\nModel: " in request.node.callspec.params["conversation"]:
        _, maker = await async_preset(hass, "automation_creation", "en")
        entry = await set_up(hass, llm_server, profile=maker)
    else:
        entry = await set_up(hass)
    telling = Telling(hass, llm_server, freezer, entry)
    llm_server.respond(telling.respond)
    for who, context in (("You", Context(user_id=hass_admin_user.id)), ("Anna", person(hass, "Anna"))):
        telling.people[who] = Talk(hass, llm_server, context)

    async def notify(call: ServiceCall) -> None:
        telling.phone.append(call.data["message"])

    hass.services.async_register("notify", PHONE, notify)
    yield telling
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


def test_there_are_ten_with_a_model_and_one_without() -> None:
    assert [("\nModel: " in one) for one in CONVERSATIONS] == [True] * 10 + [False]


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda text: text.splitlines()[0])
async def test_a_conversation_goes_as_written(telling: Telling, conversation: str) -> None:
    waiting: list[PageLine] = []
    for line in lines(conversation):
        if waiting and line.who in ("You", "Anna", "Home", "Administrator"):
            await telling.go(waiting)
            waiting = []
        waiting.append(line)
    await telling.go(waiting)
