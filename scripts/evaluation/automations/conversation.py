"""Somebody asks for an automation, in words, and a scripted model that calls what it is told to."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

from homeassistant.auth.const import GROUP_ID_ADMIN, GROUP_ID_USER
from homeassistant.components import conversation
from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import Context

from custom_components.home_agent.settings import portable
from tests.llm_replies import JSON
from tests.llm_server import LLMServer, Reply, text, tool_call

from ..local import YES, House
from .week import Row

CREATE = "create_automation"
_AGENT = "conversation.automations"
_PRESET = "automation_creation"
_AGAIN: Mapping[str, str] = {"de": "Versuch es noch einmal."}
_NO: Mapping[str, str] = {"de": "nein"}


class Model:
    """Calls what it is told to, one after another, then speaks; it remembers what the tools told it."""

    def __init__(self, server: LLMServer) -> None:
        """Answer what the server is asked."""
        self.server = server
        self.results: list[str] = []
        self._calls: list[Mapping[str, Any]] = []
        server.respond(self._respond)

    def tell(self, *automations: Row) -> None:
        """Let it create these automations next."""
        self.results, self._calls = [], [arguments_of(automation) for automation in automations]

    def _respond(self, body: JSON) -> Reply:
        last = body["messages"][-1]
        if last["role"] == "tool":
            self.results.append(_text(last["content"]))
        return tool_call(CREATE, self._calls.pop(0)) if self._calls else text("Good.")


def _text(content: Any) -> str:
    if not isinstance(content, str):
        return "".join(str(part.get("text", "")) for part in content)
    try:
        found = json.loads(content)
    except ValueError:
        return content
    return "\n".join(str(value) for value in found.values()) if isinstance(found, dict) else content


def arguments_of(automation: Row) -> dict[str, Any]:
    """Return how a model would ask for an automation."""
    return {("name" if key == "alias" else key): value for key, value in automation.items()}


@asynccontextmanager
async def async_model() -> AsyncIterator[Model]:
    """Return a model on loopback."""
    server = LLMServer()
    await server.start()
    try:
        yield Model(server)
    finally:
        await server.stop()


def preset(language: str) -> Mapping[str, Any]:
    """Return the settings of the agent that makes automations."""
    path = Path(portable.__file__).with_name("presets.json")
    found = json.loads(path.read_text(encoding="utf-8"))[_PRESET]
    said = {key: value for key, value in found["texts"].get(language, found["texts"]["en"]).items() if key != "name"}
    return {**found["settings"], **said}


def profiles(language: str, model: Model) -> list[ConfigSubentryDataWithId]:
    """Return the agent that makes automations, and its model."""
    endpoint = {
        "preset": "custom",
        "base_url": model.server.base_url,
        "api_key": "sk-evaluation",
        "model": "scripted",
        "context_window": 65536,
        "keep_ready": False,
    }
    return [
        ConfigSubentryDataWithId(
            subentry_type=kind, data=dict(data), title=title, unique_id=None, subentry_id=title.casefold()
        )
        for kind, title, data in (("profile", "Automations", preset(language)), ("llm", "Scripted", endpoint))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered to one message."""

    said: str
    results: tuple[str, ...]
    """What the tools told the model."""
    asks: bool
    """Whether a yes would do something now."""


class Talk:
    """A conversation of one person with the agent that makes automations."""

    def __init__(self, house: House, model: Model, language: str, user_id: str) -> None:
        """Begin."""
        self._house, self._model, self._language, self._user_id = house, model, language, user_id
        self._conversation_id: str | None = None

    async def async_ask(self, utterance: str, *automations: Row) -> Answer:
        """Ask for an automation; the model creates these."""
        return await self._async_say(f"/automate {utterance}", automations)

    async def async_again(self, *automations: Row) -> Answer:
        """Ask once more; the model creates these."""
        return await self._async_say(_AGAIN.get(self._language, "Try again."), automations)

    async def async_yes(self) -> Answer:
        """Say yes."""
        return await self._async_say(YES.get(self._language, "yes"))

    async def async_no(self) -> Answer:
        """Say no."""
        return await self._async_say(_NO.get(self._language, "no"))

    async def _async_say(self, message: str, automations: Sequence[Row] = ()) -> Answer:
        hass = self._house.hass
        self._model.tell(*automations)
        result = await conversation.async_converse(
            hass,
            message,
            self._conversation_id,
            Context(user_id=self._user_id),
            language=self._language,
            agent_id=_AGENT,
        )
        self._conversation_id = result.conversation_id
        await hass.async_block_till_done()
        return Answer(
            said=str(result.response.speech.get("plain", {}).get("speech") or ""),
            results=tuple(self._model.results),
            asks=bool(self._house.open_questions),
        )


async def async_talk(house: House, model: Model, language: str, *, is_admin: bool = True) -> Talk:
    """Return a conversation of a new person. The first user of a Home Assistant owns it, whatever their group: that is somebody else."""
    await house.hass.auth.async_create_user("Owner", group_ids=[GROUP_ID_ADMIN])
    group = GROUP_ID_ADMIN if is_admin else GROUP_ID_USER
    user = await house.hass.auth.async_create_user("Somebody", group_ids=[group])
    return Talk(house, model, language, user.id)
