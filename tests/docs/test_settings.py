"""The pages about settings name every field of every form, with its label and its default."""

from collections.abc import Mapping
from dataclasses import asdict
import re

from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_translations
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows import model_server, retrieval
from custom_components.home_agent.flows.fields import check_template, inherited
from custom_components.home_agent.settings.endpoint import DEFAULT_API_VERSION, PRESETS
from custom_components.home_agent.settings.memory import MemorySettings
from custom_components.home_agent.settings.portable import from_yaml, to_yaml
from custom_components.home_agent.settings.profile import SETTINGS
from custom_components.home_agent.support.const import CONF_API_KEY, DOMAIN

from .pages import CODE, DOCS, names, read, rows, section


def settings(heading: str) -> dict[str, tuple[str, str]]:
    """Return label and default by key of the settings below a heading."""
    found = rows(section("CONFIGURATION.md", heading), columns=4)
    return {CODE.findall(key)[0]: (label, default.strip("`")) for label, key, default, _ in found}


def shown(value: object) -> str:
    """Return a default as the page writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list) and value:
        return ", ".join(map(str, value))
    return "empty" if value in (None, "", [], (), {}) else str(value)


def form_labels(labels: Mapping[str, str], *steps_of_form: str) -> dict[str, str]:
    """Return the labels of a form's fields by key, those of its sections included."""
    found: dict[str, str] = {}
    for path, label in labels.items():
        if any(step in path for step in steps_of_form) and (match := re.search(r"\.data\.(\w+)$", path)):
            found[match[1]] = label
    return {
        key: label for key, label in found.items() if not key.endswith(("_patterns", "_defaults", "_yaml"))
    }  # about others


async def test_settings_of_an_agent(hass: HomeAssistant) -> None:
    documented = settings("An agent")
    assert set(documented) == SETTINGS.keys() | {"name"}
    defaults = {key: shown(value) for key, value in inherited().items()} | {"name": "none"}
    assert {key: default for key, (_, default) in documented.items()} == defaults
    labels = form_labels(await async_get_translations(hass, "en", "config_subentries", [DOMAIN]), ".profile.step.user.")
    assert {key: label for key, (label, _) in documented.items()} == labels


def test_an_agent_as_yaml() -> None:
    home = MockConfigEntry(
        domain=DOMAIN,
        subentries_data=[
            ConfigSubentryDataWithId(subentry_id=kind, subentry_type=kind, title=title, data={}, unique_id=None)
            for kind, title in (("llm", "Large model"), ("mcp_server", "Library"))
        ],
    )
    text = re.findall(r"```yaml\n(.*?)```", section("PROFILES.md", "As YAML"), re.DOTALL)[0]
    name, own, problems = from_yaml(home, text)
    assert (name, problems) == ("Technician", [])
    assert to_yaml(home, name, own) == text


async def test_settings_of_a_model(hass: HomeAssistant) -> None:
    documented = settings("A model")
    labels = form_labels(
        await async_get_translations(hass, "en", "config_subentries", [DOMAIN]),
        ".llm.step.endpoint.",
        ".llm.step.cloud.",
        ".llm.step.model.",
    )
    assert {key: label for key, (label, _) in documented.items()} == labels
    known = {"preset": "custom", CONF_API_KEY: "sk", "base_url": "http://127.0.0.1", "model": "m"}
    form = {
        **model_server.EndpointForm(hass, {"preset": "azure"}).connection_schema().schema,
        **model_server.EndpointForm(hass, known).connection_schema().schema,
    }
    model = model_server.EndpointForm(hass, {"preset": "ollama"}).model_schema(name="").schema
    advanced = model[model_server.ADVANCED].schema.schema
    asked = {str(key) for key in (*form, *model, *advanced)} - {model_server.ADVANCED}
    assert set(documented) == asked | {model_server.CONF_USE_ANYWAY}
    assert documented["api_version"][1] == DEFAULT_API_VERSION
    assert documented["context_window"][1] == "empty"


async def test_default_settings(hass: HomeAssistant) -> None:
    documented = settings("Default settings")
    options = await async_get_translations(hass, "en", "options", [DOMAIN])
    labels: dict[str, str] = {}
    for step in ("agents", "safety", "confirmation", "network", "debug"):
        title = options[f"component.{DOMAIN}.options.step.{step}.title"]
        labels |= {key: f"{title}: {label}" for key, label in form_labels(options, f".step.{step}.").items()}
    tools = form_labels(options, ".step.tools.")
    labels["extensions_off"] = f"Tools: {tools['extensions_off']}"
    assert {key: label for key, (label, _) in documented.items()} == {
        key: label for key, label in labels.items() if key != "streaming"
    }
    assert [documented[key][1] for key in ("emit_events", "audit_log", "debug_logging")] == ["on", "off", "off"]


async def test_settings_of_search(hass: HomeAssistant) -> None:
    documented = settings("Search and documents")
    labels = form_labels(await async_get_translations(hass, "en", "options", [DOMAIN]), ".step.retrieval.")
    assert {key: label for key, (label, _) in documented.items()} == {
        key: label for key, label in labels.items() if key != "use_anyway"
    }
    switches = dict.fromkeys(retrieval.REMOVE.values(), False)
    defaults = {key: shown(value) for key, value in (retrieval.DEFAULTS | switches).items()}
    assert {key: default for key, (_, default) in documented.items()} == defaults


async def test_settings_of_the_memory(hass: HomeAssistant) -> None:
    documented = settings("Memory")
    labels = form_labels(await async_get_translations(hass, "en", "options", [DOMAIN]), ".step.memory.")
    assert {key: label for key, (label, _) in documented.items()} == labels
    defaults = {key: shown(value) for key, value in asdict(MemorySettings()).items() if key in labels}
    assert {key: default for key, (_, default) in documented.items()} == defaults


def test_variables_of_a_template(hass: HomeAssistant) -> None:
    for name in names(section("CONFIGURATION.md", "Custom instructions")):
        assert check_template(hass, "{{ " + name + ".missing.on_purpose }}"), name
    assert len(names(section("CONFIGURATION.md", "Custom instructions"))) == 6


def test_every_preset_has_its_guide() -> None:
    presets = list(rows(read(DOCS / "PROVIDERS.md"), columns=4))
    assert len(presets) == len(PRESETS)
    for (title, address, key, window), preset in zip(presets, PRESETS.values(), strict=True):
        assert address.strip("`") == (preset.base_url or "none"), title
        assert (key == "required") == preset.needs_key, title
        assert window == str(preset.context_window), title
