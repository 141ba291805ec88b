"""The first set-up: from nothing to a hub with an agent."""

from typing import Any

from homeassistant.config_entries import SOURCE_USER, ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType, InvalidData
from homeassistant.helpers import device_registry as dr, entity_registry as er, issue_registry as ir
import pytest

from custom_components.home_agent.flows import model_server
from custom_components.home_agent.support.const import DOMAIN
from tests.flows.forms import Result, fields, options, shown
from tests.house import say, set_up, speech
from tests.llm_server import (
    LLMServer,
    Reply,
    error,
    html,
    loading,
    model_not_found,
    rate_limited,
    server_error,
    silence,
    text,
    tool_call,
    unauthorized,
)


async def to_endpoint(hass: HomeAssistant, preset: str = "custom") -> Result:
    result = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    return await send(hass, result, name="Jarvis", preset=preset)


async def send(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    result = await hass.config_entries.flow.async_configure(form["flow_id"], data)
    await hass.async_block_till_done()
    return result


async def test_endpoint_and_model_become_a_hub(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = ["nomic-embed", "qwen3:8b"]
    form = await to_endpoint(hass)
    assert (form["step_id"], form["errors"]) == ("endpoint", {})
    form = await send(hass, form, base_url=f" {llm_server.url}/ ", api_key="sk-mine")
    assert form["step_id"] == "model"
    assert options(form, "model") == ["qwen3:8b"]
    assert shown(form)["model"] == "qwen3:8b"
    result = await send(
        hass, form, model="qwen3:8b", temperature=0.7, max_tokens=500.0, advanced={"context_window": 8192.0}
    )
    assert result["type"] is FlowResultType.CREATE_ENTRY
    entry = result["result"]
    assert (entry.title, dict(entry.data), dict(entry.options)) == (f"Home Agent ({hass.config.location_name})", {}, {})
    assert entry.state is ConfigEntryState.LOADED
    llm, profile = entry.subentries.values()
    assert (profile.subentry_type, profile.title, dict(profile.data)) == ("profile", "Jarvis", {})
    assert (llm.subentry_type, llm.title) == ("llm", "qwen3:8b (127.0.0.1)")
    assert dict(llm.data) == {
        "preset": "custom", "base_url": llm_server.base_url, "api_key": "sk-mine", "verify_ssl": True,
        "model": "qwen3:8b", "temperature": 0.7, "max_tokens": 500, "context_window": 8192, "tool_calling": True,
        "remote": False, "keep_ready": True,
    }  # fmt: skip
    assert isinstance(llm.data["max_tokens"], int)
    assert llm_server.model_requests[0].headers["Authorization"] == "Bearer sk-mine"
    assert hass.states.get("conversation.jarvis")


async def test_an_agent_for_automations_is_suggested_and_the_first_agent_reaches_it(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
    llm_server.models = ["qwen3:8b"]
    form = await send(hass, await to_endpoint(hass), base_url=llm_server.base_url)
    assert shown(form)["automations"] is True
    result = await send(hass, form, model="qwen3:8b", automations=True)
    _, first, maker = result["result"].subentries.values()
    assert (first.title, dict(first.data)) == ("Jarvis", {"delegate_to": [maker.subentry_id]})
    assert (maker.title, maker.data["slash_commands"]) == ("Automations", ["automate", "create-automation"])
    assert hass.states.get("conversation.automations")
    llm_server.plan(
        tool_call("delegate_to_service", {"target_service_id": "automations", "user_request": "Garage at night"}),
        text("Which door?"),
        text("Which door?"),
    )
    await say(hass, "tell me when the garage opens at night", agent_id="conversation.jarvis")
    assert any(request.last_user.endswith("Garage at night") for request in llm_server.requests)


@pytest.mark.parametrize("wanted", [{"automations": False}, {}])
async def test_without_an_agent_for_automations(
    hass: HomeAssistant, llm_server: LLMServer, wanted: dict[str, bool]
) -> None:
    llm_server.models = ["qwen3:8b"]
    form = await send(hass, await to_endpoint(hass), base_url=llm_server.base_url)
    result = await send(hass, form, model="qwen3:8b", **wanted)
    _, only = result["result"].subentries.values()
    assert (only.title, dict(only.data)) == ("Jarvis", {})


async def test_the_agent_for_automations_has_a_name_of_its_own(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = ["qwen3:8b"]
    form = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    form = await send(hass, form, name="automations", preset="custom")
    form = await send(hass, form, base_url=llm_server.base_url)
    result = await send(hass, form, model="qwen3:8b", automations=True)
    assert [subentry.title for subentry in result["result"].subentries.values()][1:] == ["automations", "Automations 2"]


async def test_no_model_yet_is_a_choice(hass: HomeAssistant) -> None:
    form = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    assert shown(form) == {"name": "Home Agent"}
    result = await send(hass, form, preset="no_model")
    assert result["type"] is FlowResultType.CREATE_ENTRY
    [agent] = result["result"].subentries.values()
    assert (agent.subentry_type, agent.title) == ("profile", "Home Agent")


async def test_only_one_hub(hass: HomeAssistant) -> None:
    await set_up(hass)
    result = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "single_instance_allowed")


CLOUD = ("openai", "anthropic", "gemini", "mistral", "groq", "deepseek", "azure", "openrouter")


@pytest.mark.parametrize("preset", [*CLOUD, "ollama", "lm_studio", "localai", "llama_cpp", "vllm", "custom"])
async def test_presets_fill_in_what_is_usual(hass: HomeAssistant, llm_server: LLMServer, preset: str) -> None:
    needs_key = preset in CLOUD
    expected = {"remote": needs_key, "context_window": None} | ({"keep_alive": "5m"} if preset == "ollama" else {})
    form = await to_endpoint(hass, preset)
    assert form["step_id"] == ("cloud" if needs_key else "endpoint")
    assert fields(form)["api_key"].get("required", False) is needs_key
    assert ("api_version" in fields(form)) is (preset == "azure")
    assert "suggested_value" not in (fields(form)["api_key"].get("description") or {})
    versions = {"api_version": "2024-10-21"} if preset == "azure" else {}
    form = await send(hass, form, base_url=llm_server.base_url, api_key="sk-mine", **versions)
    assert form["step_id"] == "model"
    values = shown(form)
    assert {key: values.get(key) for key in expected} == expected
    assert ("keep_alive" in fields(form)) is (preset in {"ollama", "custom"})


@pytest.mark.parametrize(("models", "expected"), [
    pytest.param(unauthorized(), "invalid_auth", id="wrong key"),
    pytest.param(html(), "not_openai", id="a web page"),
    pytest.param(error(404, "Not Found"), "not_openai", id="no list of models"),
    pytest.param(Reply(body=b"{}", content_type="application/json"), "not_openai", id="some other JSON"),
    pytest.param(server_error(), "server_error", id="server error"),
    pytest.param(rate_limited(), "rate_limited", id="too many requests"),
    pytest.param(loading(), "model_loading", id="loading"),
    pytest.param(silence(), "timeout_connect", id="silence"),
])  # fmt: skip
async def test_failures_are_told_apart_and_can_be_skipped(
    hass: HomeAssistant, llm_server: LLMServer, impatient: None, models: Reply, expected: str
) -> None:
    llm_server.models = models
    form = await to_endpoint(hass)
    assert "use_anyway" not in fields(form)
    form = await send(hass, form, base_url=llm_server.base_url, api_key="sk-mine")
    assert (form["step_id"], form["errors"]) == ("endpoint", {"base": expected})
    assert shown(form)["base_url"] == llm_server.base_url
    assert "remove_key" not in fields(form)  # nothing is stored yet
    form = await send(hass, form, **shown(form), use_anyway=True)
    assert form["step_id"] == "model"
    assert options(form, "model") == []
    result = await send(hass, form, model=" typed ")
    data = next(iter(result["result"].subentries.values())).data
    assert (data["model"], data["api_key"]) == ("typed", "sk-mine")


async def test_nothing_is_preselected_among_several_models(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = ["babbage-002", "gpt-4.1", "gpt-4.1-mini", "text-embedding-3-small"]
    form = await send(hass, await to_endpoint(hass), base_url=llm_server.base_url)
    assert options(form, "model") == ["gpt-4.1", "gpt-4.1-mini"]
    assert "model" not in shown(form)
    assert not fields(form)["model"].get("required")  # the browser fills in the first choice of a required field
    form = await send(hass, form)
    assert form["errors"] == {"model": "model_missing"}
    result = await send(hass, form, model="one that is not listed")
    assert next(iter(result["result"].subentries.values())).data["model"] == "one that is not listed"


async def test_a_file_is_shown_by_a_name_that_can_be_read(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = ["/models/foo-Q4.gguf"]
    form = await send(hass, await to_endpoint(hass, "llama_cpp"), base_url=llm_server.base_url)
    assert options(form, "model") == ["foo Q4"]
    assert shown(form)["model"] == "foo Q4"
    result = await send(hass, form, model="foo Q4", advanced={"keep_ready": False})
    llm = next(iter(result["result"].subentries.values()))
    assert (llm.title, llm.data["model"]) == ("foo Q4 (127.0.0.1)", "/models/foo-Q4.gguf")
    devices = dr.async_entries_for_config_entry(dr.async_get(hass), result["result"].entry_id)
    assert ("foo Q4 (127.0.0.1)", "foo Q4") in {(device.name, device.model) for device in devices}
    assert hass.states.get("ai_task.foo_q4_127_0_0_1")
    llm_server.plan(text("Good morning."), model_not_found())
    assert speech(await say(hass, "hello", agent_id="conversation.jarvis")) == "Good morning."
    assert llm_server.request.body["model"] == "/models/foo-Q4.gguf"
    assert "models/foo" not in speech(await say(hass, "hello", agent_id="conversation.jarvis"))
    issue = ir.async_get(hass).async_get_issue(DOMAIN, f"model_missing_{llm.subentry_id}")
    assert issue is not None
    assert issue.translation_placeholders == {"endpoint": "foo Q4 (127.0.0.1)", "model": "foo Q4"}


async def test_files_of_one_name_are_numbered_or_have_typed_ids(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = ["/a/foo-Q4.gguf", "/b/foo-Q4.gguf", "/b/bar.gguf"]
    form = await send(hass, await to_endpoint(hass, "llama_cpp"), base_url=llm_server.base_url)
    assert options(form, "model") == ["/a/foo-Q4.gguf", "bar", "/b/foo-Q4.gguf"]
    result = await send(hass, form, model="/b/bar.gguf", advanced={"keep_ready": False})
    assert next(iter(result["result"].subentries.values())).data["model"] == "/b/bar.gguf"


@pytest.mark.parametrize("models", [[], ["nomic-embed-text", "whisper-1"]], ids=["none", "none that can chat"])
async def test_a_server_without_models_says_so(hass: HomeAssistant, llm_server: LLMServer, models: list[str]) -> None:
    llm_server.models = models
    form = await send(hass, await to_endpoint(hass, "ollama"), base_url=llm_server.base_url)
    assert (form["step_id"], form["errors"]) == ("endpoint", {"base": "no_models"})
    form = await send(hass, form, **shown(form), use_anyway=True)
    assert form["step_id"] == "model"


async def test_a_missing_key_and_a_wrong_one_are_told_apart(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = unauthorized()
    form = await send(hass, await to_endpoint(hass), base_url=llm_server.base_url)
    assert form["errors"] == {"base": "key_needed"}
    form = await send(hass, form, base_url=llm_server.base_url, api_key="sk-wrong")
    assert form["errors"] == {"base": "invalid_auth"}
    assert shown(form)["api_key"] == "sk-wrong"  # to be looked at, and mended
    form = await send(hass, form, base_url=llm_server.base_url)
    assert form["errors"] == {"base": "key_needed"}  # the refused one is not kept behind the field


@pytest.mark.parametrize("key", ["", "   "])
async def test_a_required_key_is_asked_for_first(hass: HomeAssistant, llm_server: LLMServer, key: str) -> None:
    form = await to_endpoint(hass, "anthropic")
    assert form["description_placeholders"]["service"] == "Anthropic"
    assert form["description_placeholders"]["keys_at"].startswith("https://")
    form = await send(hass, form, base_url=llm_server.base_url, api_key=key)
    assert (form["step_id"], form["errors"]) == ("cloud", {"api_key": "key_needed"})
    assert not llm_server.model_requests


async def test_azure_shows_what_its_address_looks_like(hass: HomeAssistant) -> None:
    form = await to_endpoint(hass, "azure")
    assert form["description_placeholders"]["example"] == "https://my-home.openai.azure.com"
    assert "base_url" not in shown(form)


async def test_a_model_that_is_being_loaded_is_waited_for_a_little(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.loading = 1
    form = await send(hass, await to_endpoint(hass, "llama_cpp"), base_url=llm_server.base_url)
    assert (form["step_id"], options(form, "model")) == ("model", ["scripted"])


async def test_second_try_with_another_key_goes_on(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = unauthorized()
    form = await send(hass, await to_endpoint(hass, "openai"), base_url=llm_server.base_url, api_key="sk-wrong")
    assert form["errors"] == {"base": "invalid_auth"}
    llm_server.models = ["scripted"]
    form = await send(hass, form, base_url=llm_server.base_url, api_key="sk-right")
    assert form["step_id"] == "model"
    assert llm_server.model_requests[-1].headers["Authorization"] == "Bearer sk-right"


async def test_nobody_listens(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await llm_server.stop()
    form = await send(hass, await to_endpoint(hass), base_url=llm_server.base_url)
    assert form["errors"] == {"base": "cannot_connect"}


async def test_certificate_nobody_vouches_for(hass: HomeAssistant, tls_server: LLMServer) -> None:
    form = await send(hass, await to_endpoint(hass), base_url=tls_server.base_url)
    assert form["errors"] == {"base": "certificate"}
    form = await send(hass, form, base_url=tls_server.base_url, verify_ssl=False)
    assert form["step_id"] == "model"


@pytest.mark.parametrize("address", [
    pytest.param("ftp://host/v1", id="another scheme"),
    pytest.param("http://", id="no host"),
    pytest.param("http://host:port/v1", id="port in words"),
    pytest.param("http://[::1/v1", id="broken"),
    pytest.param("http://my server/v1", id="blank"),
    pytest.param("http://server/my models", id="blank in the path"),
    pytest.param("http://ser\u200bver/v1", id="invisible"),
    pytest.param("http://me:secret@host/v1", id="user and password"),
    pytest.param("http://me@host/v1", id="user"),
])  # fmt: skip
async def test_addresses_that_cannot_be_used(hass: HomeAssistant, address: str) -> None:
    form = await send(hass, await to_endpoint(hass), base_url=address)
    assert (form["step_id"], form["errors"]) == ("endpoint", {"base_url": "invalid_url"})


@pytest.mark.parametrize(("address", "remote"), [
    pytest.param("https://api.example.com/v1", True, id="a name on the internet"),
    pytest.param("http://8.8.8.8/v1", True, id="a number on the internet"),
    pytest.param("http://192.168.1.5:8000/v1", False, id="a number at home"),
    pytest.param("http://ollama:11434/v1", False, id="a name without a domain"),
    pytest.param("http://box.local/v1", False, id="a name at home"),
])  # fmt: skip
async def test_other_servers_are_guessed_remote_by_address(
    hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch, address: str, remote: bool
) -> None:
    async def models(*args: object, **options: object) -> list[str]:
        return ["m"]

    monkeypatch.setattr(model_server, "async_list_models", models)  # nobody outside may be asked
    form = await send(hass, await to_endpoint(hass), base_url=address)
    assert shown(form)["remote"] is remote


@pytest.mark.parametrize(("sent", "errors"), [
    pytest.param({"model": "  "}, {"model": "model_missing"}, id="no model"),
    pytest.param({"model": "m", "advanced": {"keep_alive": "a while"}}, {"base": "keep_alive_format"}, id="words"),
    pytest.param({"model": "m", "advanced": {"keep_alive": "5 m"}}, {"base": "keep_alive_format"}, id="a blank"),
])  # fmt: skip
async def test_model_form_keeps_what_was_entered_when_something_is_wrong(
    hass: HomeAssistant, llm_server: LLMServer, sent: dict[str, Any], errors: dict[str, str]
) -> None:
    form = await send(hass, await to_endpoint(hass), base_url=llm_server.base_url)
    form = await send(hass, form, **sent, temperature=0.3)
    assert (form["step_id"], form["errors"]) == ("model", errors)
    assert shown(form)["temperature"] == 0.3


@pytest.mark.parametrize("value", ["-1", "5m", "1h30m", "1.5h", "300"])
async def test_times_that_ollama_takes(hass: HomeAssistant, llm_server: LLMServer, value: str) -> None:
    form = await send(hass, await to_endpoint(hass, "ollama"), base_url=llm_server.base_url)
    result = await send(hass, form, model="m", advanced={"keep_alive": value})
    assert next(iter(result["result"].subentries.values())).data["keep_alive"] == value


@pytest.mark.parametrize("sent", [
    pytest.param({"temperature": 2.5}, id="temperature"),
    pytest.param({"top_p": 1.5}, id="top P"),
    pytest.param({"max_tokens": 0}, id="max tokens"),
])  # fmt: skip
async def test_out_of_range_numbers(hass: HomeAssistant, llm_server: LLMServer, sent: dict[str, float]) -> None:
    form = await send(hass, await to_endpoint(hass), base_url=llm_server.base_url)
    with pytest.raises(InvalidData):
        await send(hass, form, model="m", **sent)


async def test_what_home_assistant_does_by_itself_has_no_form(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    assert not entry.supports_reconfigure  # it would only rename; the menu of every entry does


async def test_entry_devices_and_agent_are_called_differently(hass: HomeAssistant) -> None:
    form = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    entry = (await send(hass, form, preset="no_model"))["result"]
    await hass.async_block_till_done()
    devices = [str(device.name) for device in dr.async_entries_for_config_entry(dr.async_get(hass), entry.entry_id)]
    assert sorted(devices) == ["Home Agent", "Home Agent (test home)"]
    entities = {item.entity_id for item in er.async_entries_for_config_entry(er.async_get(hass), entry.entry_id)}
    assert {"conversation.home_agent", "sensor.home_agent_last_action", "sensor.home_agent_open_questions"} <= entities


async def test_repairs_says_that_home_agent_needs_a_key(hass: HomeAssistant, llm_server: LLMServer) -> None:
    result = await send(hass, await send(hass, await to_endpoint(hass), base_url=llm_server.base_url), model="scripted")
    entry = result["result"]
    [llm] = entry.get_subentries_of_type("llm")
    entry.async_start_reauth(hass, data={"subentry_id": llm.subentry_id})
    await hass.async_block_till_done()
    issues = ir.async_get(hass).issues.values()
    names = [issue.translation_placeholders for issue in issues if issue.translation_key == "config_entry_reauth"]
    assert names == [{"name": "Home Agent (test home)"}]


async def test_an_entry_of_an_earlier_release_keeps_its_names(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    hass.config_entries.async_update_entry(entry, title="Demo House")
    await hass.config_entries.async_reload(entry.entry_id)
    devices = dr.async_entries_for_config_entry(dr.async_get(hass), entry.entry_id)
    assert {device.name for device in devices} == {"Home Agent"}
    assert entry.title == "Demo House"
