"""What tests of the prompt context service look at: a home, its prompt, and messages."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.languages.data import prompt_words
from custom_components.home_agent.prompt.history_text import HistoryMessage
from custom_components.home_agent.prompt.providers import detect_event_request
from custom_components.home_agent.prompt.template import PromptContextService, PromptTask
from tests.house import build_house, set_up
from tests.llm_server import LLMServer
from tests.transcript.conftest import restart, say_all

MOMENT = datetime(2026, 11, 21, 15, 30, tzinfo=ZoneInfo("Europe/Berlin"))
RU = prompt_words("ru")
KNOWN = PromptTask(
    agent_name="Anna",
    task_id="c",
    language="ru",
    user_id="u1",
    user_name="Ann",
    household_id="Home",
    timezone="Europe/Berlin",
    current_time=MOMENT,
)
THREE = "User: {{userId}}, Time: {{currentTime}}, History: {{messageHistory}}"
AGENTS = ("EventProcessor", "EventAnalyzer", "GeneralAssistant")
MANY = 7  # turns; with their answers more messages than a prompt holds


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A home with one agent, its log and its clock."""

    hass: HomeAssistant
    server: LLMServer
    log: pytest.LogCaptureFixture
    request: pytest.FixtureRequest
    admin: MockUser

    @property
    def freezer(self) -> FrozenDateTimeFactory:
        """Stop the clock, and return how to move it."""
        clock: FrozenDateTimeFactory = self.request.getfixturevalue("freezer")
        return clock

    @property
    def service(self) -> PromptContextService:
        """Return a service that remembers nothing."""
        return PromptContextService(self.hass)

    @property
    def system(self) -> str:
        """Return the newest system message."""
        return str(self.server.request.body["messages"][0]["content"])

    async def set_up(self, prompt: str = THREE, **profile: Any) -> MockConfigEntry:
        """Set up a house with one assistant and this prompt."""
        await build_house(self.hass)
        own = {"use_default_prompt": False, "custom_prompt": prompt}
        return await set_up(self.hass, self.server, profile=own | profile)

    async def after_a_restart(self, *said: str, prompt: str = THREE, **profile: Any) -> str:
        """Return the system message of a conversation that goes on after these messages."""
        entry = await self.set_up(prompt, **profile)
        ids = await say_all(self.hass, self.server, None, *said)
        await restart(self.hass, entry)
        await say_all(self.hass, self.server, ids[-1], "again")
        return self.system


def said(count: int) -> tuple[HistoryMessage, ...]:
    return tuple(
        HistoryMessage(id=f"m{n}", role="assistant" if n % 2 else "user", text=f"word {n}") for n in range(count)
    )


def period(words: str) -> tuple[str, str]:
    """Return the period that words ask for, on an afternoon in Berlin."""
    request = detect_event_request(words, MOMENT)
    assert request is not None
    return request.start.isoformat(), request.end.isoformat()


def turns(*texts: str, first: str = "user") -> tuple[HistoryMessage, ...]:
    roles = ("user", "assistant") if first == "user" else ("assistant", "user")
    return tuple(HistoryMessage(id=str(n), role=roles[n % 2], text=text) for n, text in enumerate(texts))
