"""A model is tried in its form: what is shown of it, and what can be done then."""

import asyncio
from dataclasses import replace
from typing import Any

from homeassistant.config_entries import SOURCE_RECONFIGURE, SOURCE_USER
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import EVENT_DATA_ENTRY_FLOW_PROGRESSED, FlowResultType
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator, WebSocketGenerator

from custom_components.home_agent.client import trial
from custom_components.home_agent.support.const import DOMAIN
from tests.flows.forms import Result, shown
from tests.house import set_up
from tests.llm_server import LLMServer, Reply, server_error, silence, text, tool_call, unauthorized

SENTENCE = text("A lamp is a thing that gives light to a room.", pause=0.01)
CALL = tool_call("turn_on", {"name": "desk lamp"})


async def first_form(hass: HomeAssistant, server: LLMServer) -> Result:
    """Return the form of the model of a first set-up."""
    flows = hass.config_entries.flow
    form = await flows.async_init(DOMAIN, context={"source": SOURCE_USER})
    form = await flows.async_configure(form["flow_id"], {"preset": "custom"})
    return await flows.async_configure(form["flow_id"], {"base_url": server.base_url})


async def go_on(hass: HomeAssistant, flows: Any, result: Result) -> Result:
    """Return what follows the test that is being made; a quick one is over."""
    if result["type"] is FlowResultType.MENU:
        return result
    assert result["type"] is FlowResultType.SHOW_PROGRESS
    assert result["progress_action"] == "try_model"
    await hass.async_block_till_done(wait_background_tasks=True)
    found: Result = await flows.async_configure(result["flow_id"])
    return found


async def tried(hass: HomeAssistant, server: LLMServer, *replies: Reply, **values: Any) -> Result:
    """Return what a test of these replies comes to."""
    server.plan(*replies)
    flows = hass.config_entries.flow
    form = await first_form(hass, server)
    assert shown(form)["try_model"] is False  # a sentence follows the first set-up in any case
    sent = {"model": "scripted", "try_model": True, "advanced": {"keep_ready": False}} | values
    return await go_on(hass, flows, await flows.async_configure(form["flow_id"], sent))


async def test_what_a_good_model_did_is_shown_and_then_it_is_saved(hass: HomeAssistant, llm_server: LLMServer) -> None:
    result = await tried(hass, llm_server, SENTENCE, CALL)
    assert (result["type"], result["step_id"]) == (FlowResultType.MENU, "tried_well")
    numbers = result["description_placeholders"]
    assert numbers["tools"] == "✓"
    assert 0 <= float(numbers["first_word"]) < 3
    assert int(numbers["speed"]) > 8
    speak, call = llm_server.requests
    assert "tools" not in speak.body
    assert [tool["function"]["name"] for tool in call.body["tools"]] == ["turn_on"]
    result = await hass.config_entries.flow.async_configure(result["flow_id"], {"next_step_id": "save"})
    await hass.async_block_till_done()
    assert result["type"] is FlowResultType.CREATE_ENTRY
    data = next(iter(result["result"].subentries.values())).data
    assert data["model"] == "scripted"
    assert "try_model" not in data


@pytest.mark.parametrize("delay", [0.0, 0.3, 0.49, 0.5, 0.6, 1.0])
async def test_a_dialog_hears_of_the_end_however_soon_it_comes(
    hass: HomeAssistant,
    llm_server: LLMServer,
    hass_client: ClientSessionGenerator,
    hass_ws_client: WebSocketGenerator,
    delay: float,
) -> None:
    """As a browser does it: submit the form, and only then listen for the end of what is shown."""
    for domain in ("config", "websocket_api", "intent", "media_source", "conversation", "ai_task"):
        assert await async_setup_component(hass, domain, {})
    browser, path = await hass_client(), "/api/config/config_entries/flow"

    async def send(flow: str = "", **data: Any) -> dict[str, Any]:
        async with browser.post(f"{path}{flow}", json=data) as response:
            return dict(await response.json())

    form = await send(handler=DOMAIN)
    flow = f"/{form['flow_id']}"
    await send(flow, preset="custom")
    await send(flow, base_url=llm_server.base_url)
    llm_server.plan(replace(SENTENCE, delay=delay / 2), replace(CALL, delay=delay / 2))
    result = await send(flow, model="scripted", try_model=True, advanced={"keep_ready": False})
    if result["type"] == "progress":
        await asyncio.sleep(0.5)  # a browser that is far away
        socket = await hass_ws_client(hass)
        await socket.send_json_auto_id({"type": "subscribe_events", "event_type": EVENT_DATA_ENTRY_FLOW_PROGRESSED})
        assert (await socket.receive_json())["success"]
        async with asyncio.timeout(10):
            while (await socket.receive_json())["event"]["data"]["flow_id"] != form["flow_id"]:
                pass
        async with browser.get(f"{path}{flow}") as response:
            result = await response.json()
    assert (result["type"], result["step_id"]) == ("menu", "tried_well")


@pytest.mark.parametrize(("replies", "outcome", "tools"), [
    pytest.param((SENTENCE, text("I have turned it on.")), "no_tools", "✗", id="talks only"),
    pytest.param(
        (SENTENCE, text('{"name": "turn_on", "arguments": {"name": "desk lamp"}}')), "written", "✓", id="as text",
    ),
    pytest.param((SENTENCE, text('<tool_call>{"name": "turn_on", "arguments": {}}')), "no_tools", "✗", id="half a call"),
    pytest.param((SENTENCE, tool_call("fly", {})), "no_tools", "✗", id="invents a tool"),
    pytest.param((SENTENCE, tool_call("turn_on", "{broken")), "no_tools", "✗", id="broken arguments"),
    pytest.param(
        (text("A lamp is a thing.", pause=0.3, usage={"prompt_tokens": 20, "completion_tokens": 5}), CALL), "slow", "✓",
        id="slow to speak",
    ),
    pytest.param((text("A lamp is a thing.", delay=0.4), CALL), "slow", "✓", id="slow to begin"),
])  # fmt: skip
async def test_what_is_poor_is_told(
    hass: HomeAssistant,
    llm_server: LLMServer,
    monkeypatch: pytest.MonkeyPatch,
    replies: tuple[Reply, ...],
    outcome: str,
    tools: str,
) -> None:
    monkeypatch.setattr(trial, "SLOW_START", 0.39)  # the pauses of a test are short
    result = await tried(hass, llm_server, *replies)
    assert result["step_id"] == f"tried_{outcome}"
    assert result["description_placeholders"]["tools"] == tools


async def test_a_model_without_tool_calling_is_not_asked_for_them(hass: HomeAssistant, llm_server: LLMServer) -> None:
    result = await tried(hass, llm_server, SENTENCE, advanced={"tool_calling": False, "keep_ready": False})
    assert (result["step_id"], result["description_placeholders"]["tools"]) == ("tried_well", "–")


async def test_thinking_comes_before_the_first_word(hass: HomeAssistant, llm_server: LLMServer) -> None:
    answer = text("A lamp gives light.", thinking="Hm. " * 10, pause=0.05)
    result = await tried(hass, llm_server, answer, CALL)
    assert float(result["description_placeholders"]["first_word"]) >= 0.0
    assert result["step_id"] == "tried_well"


@pytest.mark.parametrize(("reply", "sentence"), [
    pytest.param(unauthorized(), "needs an API key", id="no key"),
    pytest.param(silence(), "took too long to answer", id="silence"),
    pytest.param(server_error(503), "can't reach", id="away"),
])  # fmt: skip
async def test_why_it_failed_is_told_and_it_can_be_tried_again(
    hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch, reply: Reply, sentence: str
) -> None:
    monkeypatch.setattr(trial, "PATIENCE", 2.0)
    result = await tried(hass, llm_server, *[reply] * (2 if reply.status == 503 else 1))
    assert result["step_id"] == "tried_failed"
    assert sentence in result["description_placeholders"]["detail"]
    flows = hass.config_entries.flow
    llm_server.plan(SENTENCE, CALL)
    again = await go_on(hass, flows, await flows.async_configure(result["flow_id"], {"next_step_id": "try_model"}))
    assert again["step_id"] == "tried_well"
    form = await flows.async_configure(again["flow_id"], {"next_step_id": "model"})
    assert (form["step_id"], shown(form)["model"]) == ("model", "scripted")


async def test_a_stored_model_can_be_tried_at_any_time(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    flows = hass.config_entries.subentries
    form = await flows.async_init(
        (entry.entry_id, "llm"), context={"source": SOURCE_RECONFIGURE, "subentry_id": "llm-1"}
    )
    form = await flows.async_configure(form["flow_id"], {"base_url": llm_server.base_url})
    assert shown(form)["try_model"] is False
    llm_server.plan(SENTENCE, CALL)
    result: Result = await flows.async_configure(
        form["flow_id"], {"name": "Lamp", "model": "scripted", "try_model": True, "advanced": {"keep_ready": False}}
    )
    result = await go_on(hass, flows, result)
    assert result["step_id"] == "tried_well"
    assert entry.subentries["llm-1"].title == "Scripted"  # nothing is stored yet
    result = await flows.async_configure(result["flow_id"], {"next_step_id": "save"})
    await hass.async_block_till_done()
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "reconfigure_successful")
    assert entry.subentries["llm-1"].title == "Lamp"
