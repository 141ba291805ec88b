"""AI tasks: text, structured data, images, and errors that are raised instead of said."""

import json
from pathlib import Path
from typing import Any

from homeassistant.components import ai_task, conversation
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm, selector
from homeassistant.setup import async_setup_component
import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.house import build_house, set_up
from tests.llm_server import LLMServer, cut, error, server_error, text, tool_call

ENTITY = "ai_task.scripted"
STRUCTURE = probatio.Schema(
    {
        probatio.Required("name", description="Of the dog"): selector.TextSelector(),
        probatio.Required("age"): selector.NumberSelector({"min": 0, "max": 30}),
    }
)


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    await build_house(hass)
    assert await async_setup_component(hass, "ai_task", {})


async def generate(hass: HomeAssistant, **fields: Any) -> Any:
    result = await ai_task.async_generate_data(
        hass, **{"task_name": "Test task", "entity_id": ENTITY, "instructions": "Invent a dog"} | fields
    )
    return result.data


async def test_text(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Rex, 4"))
    assert await generate(hass) == "Rex, 4"
    assert llm_server.request.last_user == "Invent a dog"


@pytest.mark.parametrize("answer", ['{"name": "Rex", "age": 4}', '```json\n{"name": "Rex", "age": 4}\n```'])
async def test_structure(hass: HomeAssistant, llm_server: LLMServer, answer: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer))
    assert await generate(hass, structure=STRUCTURE) == {"name": "Rex", "age": 4}
    wanted = llm_server.request.body["response_format"]["json_schema"]
    assert (wanted["name"], wanted["strict"]) == ("test_task", True)
    assert wanted["schema"]["properties"]["name"]["description"] == "Of the dog"


@pytest.mark.parametrize("answer", ["A dog.", '{"name": "Rex"}', "[1]"], ids=["words", "missing", "wrong"])
async def test_an_unstructured_answer_is_an_error(hass: HomeAssistant, llm_server: LLMServer, answer: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer))
    with pytest.raises(HomeAssistantError) as error:
        await generate(hass, structure=STRUCTURE)
    assert error.value.translation_key == "task_not_structured"


@pytest.mark.parametrize("replies", [
    pytest.param((server_error(), server_error()), id="refused"),
    pytest.param((cut(text("Rex")),), id="cut"),
    pytest.param((text("Re", finish_reason="length"),), id="too long"),
    pytest.param((text(""),), id="empty"),
])  # fmt: skip
async def test_half_an_answer_is_an_error(hass: HomeAssistant, llm_server: LLMServer, replies: Any) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(*replies)
    with pytest.raises(HomeAssistantError):
        await generate(hass)


@pytest.mark.parametrize(
    "answer",
    ['Here is the dog: {"name": "Rex", "age": 4}. Anything else?', 'Sure!\n```json\n{"name": "Rex", "age": 4}\n```'],
)
async def test_the_structure_is_found_among_words(hass: HomeAssistant, llm_server: LLMServer, answer: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer))
    assert await generate(hass, structure=STRUCTURE) == {"name": "Rex", "age": 4}


async def test_a_server_that_takes_no_schema_is_told_it_in_words(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    refusal = error(400, "response_format of type json_schema is not supported", param="response_format")
    llm_server.plan(refusal, text('{"name": "Rex", "age": 4}'), text('{"name": "Rex"}'))
    assert await generate(hass, structure=STRUCTURE) == {"name": "Rex", "age": 4}
    first, second = llm_server.requests
    schema = first.body["response_format"]["json_schema"]["schema"]
    assert "response_format" not in second.body
    instructions = second.body["messages"][0]
    assert instructions["role"] == "system"
    assert instructions["content"].startswith(first.body["messages"][0]["content"])
    assert json.loads(instructions["content"].rpartition("\n")[2]) == schema
    with pytest.raises(HomeAssistantError) as not_valid:
        await generate(hass, structure=STRUCTURE)
    assert not_valid.value.translation_key == "task_not_structured"
    assert len(llm_server.requests) == 3


async def test_what_is_too_long_is_made_shorter(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    refusal = error(400, "This model's maximum context length is 4096 tokens.")
    llm_server.plan(refusal, text("A dog."), text("A cat."))
    task = f"Sum up: {'the dog barks. ' * 3000} It ends here."
    assert await generate(hass, instructions=task) == "A dog."
    whole, shorter = (request.last_user for request in llm_server.requests)
    assert whole == task
    assert shorter.startswith("Sum up: the dog")
    assert shorter.endswith("It ends here.")
    assert "characters left out" in shorter
    assert len(shorter) < len(task) / 2
    assert await generate(hass) == "A cat."
    assert llm_server.request.last_user == "Invent a dog"


async def test_what_cannot_be_shorter_is_sent_once(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(error(400, "This model's maximum context length is 16 tokens."))
    with pytest.raises(HomeAssistantError):
        await generate(hass)
    assert len(llm_server.requests) == 1


async def test_image(hass: HomeAssistant, llm_server: LLMServer, tmp_path: Path, monkeypatch: Any) -> None:
    await set_up(hass, llm_server)
    picture = tmp_path / "dog.png"
    picture.write_bytes(b"\x89PNG")

    async def attachments(*_: Any) -> list[conversation.Attachment]:
        return [conversation.Attachment(media_content_id="media-source://x", mime_type="image/png", path=picture)]

    monkeypatch.setattr("homeassistant.components.ai_task.task._resolve_attachments", attachments)
    llm_server.plan(text("A dog."))
    assert await generate(hass, attachments=[{"media_content_id": "media-source://x"}]) == "A dog."
    parts = llm_server.request.body["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url"]
    assert parts[1]["image_url"]["url"].startswith("data:image/png;base64,")


class Weather(llm.Tool):
    """A tool of another integration."""

    name = "weather"
    integration = "test"

    def __init__(self, *, read_only: bool) -> None:
        self.annotations = llm.ToolAnnotations(read_only=read_only)
        self.calls = 0

    async def async_call(self, *_: Any) -> llm.ToolResult:
        self.calls += 1
        return llm.ToolResult(data={"temperature": 3})


@pytest.mark.parametrize("read_only", [True, False], ids=["reads", "may harm"])
async def test_tools_of_another_api_obey_policy(hass: HomeAssistant, llm_server: LLMServer, read_only: bool) -> None:
    weather = Weather(read_only=read_only)

    class Api(llm.API):
        async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
            return llm.APIInstance(api=self, api_prompt="", llm_context=llm_context, tools=[weather])

    await set_up(hass, llm_server)
    llm_server.plan(tool_call("weather", {}), text("Cold."))
    assert await generate(hass, llm_api=Api(hass=hass, id="test", name="Test")) == "Cold."
    result = llm_server.request.body["messages"][-1]["content"]
    if read_only:
        assert result == '{"success":true,"result":{"temperature":3},"error":null}'
    else:  # nobody can be asked
        assert (json.loads(result)["success"], weather.calls) == (False, 0)


async def test_the_starters_rights(hass: HomeAssistant, llm_server: LLMServer, hass_read_only_user: MockUser) -> None:
    await set_up(hass, llm_server)
    before = hass.states.get("light.bed_light")
    llm_server.plan(tool_call("intent__HassTurnOn", {"name": "Bed Light"}), text("No."))
    api = next(api for api in llm.async_get_apis(hass) if api.id == "assist")
    context = llm.LLMContext("ai_task", Context(user_id=hass_read_only_user.id), "en", "conversation", None)
    instance = await api.async_get_api_instance(context)

    class Started(llm.API):
        async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
            return instance

    await generate(hass, llm_api=Started(hass=hass, id="test", name="Test"))
    assert json.loads(llm_server.request.body["messages"][-1]["content"])["success"] is False
    assert hass.states.get("light.bed_light") == before
