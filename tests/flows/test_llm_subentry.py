"""More endpoints, and changing them."""

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType

from tests.flows.forms import add, change, fields, options, send, shown
from tests.house import set_up
from tests.llm_server import LLMServer, unauthorized


async def test_endpoint_is_added(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass)
    form = await add(hass, entry, "llm")
    assert "no_model" not in options(form, "preset")
    form = await send(hass, form, preset="ollama")
    assert shown(form)["base_url"] == "http://localhost:11434/v1"
    form = await send(hass, form, base_url=llm_server.base_url)
    assert shown(form)["try_model"] is True
    result = await send(hass, form, name="Kitchen computer", model="scripted")
    assert (result["type"], result["title"]) == (FlowResultType.CREATE_ENTRY, "Kitchen computer")
    endpoint = entry.runtime_data.endpoints[list(entry.subentries)[-1]]
    assert (endpoint.config.title, endpoint.config.keep_alive) == ("Kitchen computer", "5m")


async def test_names_are_unique(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    form = await send(hass, await add(hass, entry, "llm"), preset="custom")
    form = await send(hass, form, base_url=llm_server.base_url)
    form = await send(hass, form, name="scripted ", model="scripted")
    assert (form["step_id"], form["errors"]) == ("model", {"name": "name_taken"})
    result = await send(hass, form, model="scripted")
    assert result["title"] == "scripted (127.0.0.1)"
    await hass.async_block_till_done()


async def test_change_keeps_what_was_not_touched(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"preset": "ollama", "top_p": 0.9})
    before = dict(entry.subentries["llm-1"].data)
    form = await change(hass, entry, "llm", "llm-1")
    assert form["step_id"] == "endpoint"
    assert "api_key" not in shown(form)
    assert not fields(form)["api_key"].get("required")
    form = await send(hass, form, **shown(form))
    assert shown(form) | {"name": None} == {
        "name": None, "model": "scripted", "top_p": 0.9, "context_window": 16384, "tool_calling": True, "remote": False,
        "keep_ready": False, "try_model": False,
    }  # fmt: skip
    advanced = {"tool_calling": True, "context_window": 16384}
    result = await send(hass, form, name="Scripted", model="scripted", top_p=0.9, advanced=advanced)
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "reconfigure_successful")
    assert dict(entry.subentries["llm-1"].data) == before | {"verify_ssl": True, "tool_calling": True, "remote": False}
    assert llm_server.model_requests[-1].headers["Authorization"] == "Bearer sk-house-key"


async def test_emptied_fields_are_unset(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"preset": "ollama", "temperature": 0.2, "keep_alive": "1h"})
    form = await change(hass, entry, "llm", "llm-1")
    form = await send(hass, form, base_url=llm_server.base_url)
    await send(hass, form, name="Renamed", model="scripted", advanced={"remote": True})
    subentry = entry.subentries["llm-1"]
    assert subentry.title == "Renamed"
    assert subentry.data["remote"] is True
    assert not {"temperature", "keep_alive"} & subentry.data.keys()


async def test_key_is_changed(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    form = await send(hass, await change(hass, entry, "llm", "llm-1"), base_url=llm_server.base_url, api_key="sk-new")
    await send(hass, form, model="scripted")
    assert entry.subentries["llm-1"].data["api_key"] == "sk-new"


async def test_key_is_forgotten(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    form = await change(hass, entry, "llm", "llm-1")
    assert "remove_key" in fields(form)
    form = await send(hass, form, base_url=llm_server.base_url, remove_key=True)
    assert "Authorization" not in llm_server.model_requests[-1].headers
    await send(hass, form, model="scripted")
    assert "api_key" not in entry.subentries["llm-1"].data
    assert "remove_key" not in fields(await change(hass, entry, "llm", "llm-1"))


async def test_key_that_is_needed_cannot_be_forgotten(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"preset": "openai"})
    assert "remove_key" not in fields(await change(hass, entry, "llm", "llm-1"))


async def test_key_is_not_sent_to_another_server(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    other = LLMServer()
    await other.start()
    form = await send(hass, await change(hass, entry, "llm", "llm-1"), base_url=other.base_url)
    assert "sk-house-key" not in other.model_requests[0].headers.get("Authorization", "")
    await send(hass, form, model="scripted")
    assert "api_key" not in entry.subentries["llm-1"].data
    await other.stop()


async def test_a_required_key_is_asked_again_with_another_address(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"preset": "openai"})
    form = await change(hass, entry, "llm", "llm-1")
    assert not fields(form)["api_key"].get("required")  # the stored one does
    form = await send(hass, form, base_url="http://127.0.0.1:9/v1")
    assert (form["step_id"], form["errors"]) == ("cloud", {"api_key": "key_needed"})
    form = await send(hass, form, base_url=llm_server.base_url)
    assert form["step_id"] == "model"
    assert llm_server.model_requests[-1].headers["Authorization"] == "Bearer sk-house-key"


async def test_failed_check_shows_and_stores_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    before = dict(entry.subentries["llm-1"].data)
    llm_server.models = unauthorized()
    form = await send(hass, await change(hass, entry, "llm", "llm-1"), base_url=llm_server.base_url, api_key="sk-wrong")
    assert (form["step_id"], form["errors"]) == ("endpoint", {"base": "invalid_auth"})
    assert dict(entry.subentries["llm-1"].data) == before


async def test_a_refused_key_stays_and_an_empty_field_keeps_the_key(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    form = await change(hass, entry, "llm", "llm-1")
    assert "api_key" not in shown(form)
    llm_server.models = unauthorized()
    form = await send(hass, form, base_url=llm_server.base_url, api_key="sk-wrong")
    assert shown(form)["api_key"] == "sk-wrong"
    llm_server.models = ["scripted"]
    form = await send(hass, form, base_url=llm_server.base_url)
    assert llm_server.model_requests[-1].headers["Authorization"] == "Bearer sk-house-key"
    await send(hass, form, model="scripted")
    assert entry.subentries["llm-1"].data["api_key"] == "sk-house-key"


async def test_address_with_a_path_of_its_own_stays(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"base_url": llm_server.url})
    form = await change(hass, entry, "llm", "llm-1")
    form = await send(hass, form, **shown(form))
    await send(hass, form, model="scripted")
    assert entry.subentries["llm-1"].data["base_url"] == llm_server.url


async def test_a_stored_file_keeps_its_id_behind_its_name(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"preset": "llama_cpp", "model": "/models/foo-Q4.gguf"})
    llm_server.models = ["/models/other.gguf"]
    form = await send(hass, await change(hass, entry, "llm", "llm-1"), base_url=llm_server.base_url)
    assert (shown(form)["model"], options(form, "model")) == ("foo Q4", ["other"])
    await send(hass, form, model="foo Q4")
    assert entry.subentries["llm-1"].data["model"] == "/models/foo-Q4.gguf"
