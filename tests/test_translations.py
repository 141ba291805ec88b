"""What Home Assistant's own checker asks of texts: nothing missing, nothing left over, the same in every language.

The checker (hassfest) is not installed anywhere, so its rules that concern us are here.
"""

import ast
from collections.abc import Iterator
import json
from pathlib import Path
import re
from string import Formatter
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.translation import async_get_translations
from homeassistant.loader import async_get_integration
from homeassistant.util.yaml import load_yaml_dict
import probatio
import pytest

from custom_components.home_agent import sensor, services
from custom_components.home_agent.agent.assembly import KEPT
from custom_components.home_agent.flows import mcp_server, model_server, retrieval
from custom_components.home_agent.flows.check import CHECK
from custom_components.home_agent.flows.custom_tool import BASICS, FORMS
from custom_components.home_agent.flows.fields import FIRST, TOPICS
from custom_components.home_agent.flows.model_server import NO_MODEL, EndpointForm
from custom_components.home_agent.flows.options import (
    ADVANCED_TOPICS,
    AGENTS,
    CONFIRMATION,
    DEFAULTS_PAGES,
    MEMORY_FIELDS,
    NETWORK,
    OF_HOME,
    SAFETY_FIELDS,
    TOPICS as GEAR_TOPICS,
)
from custom_components.home_agent.services import agents
from custom_components.home_agent.settings.endpoint import PRESETS
from custom_components.home_agent.settings.memory import EXTRACT_WITH_EXTERNAL, EXTRACT_WITH_PROFILE
from custom_components.home_agent.settings.profile import SETTINGS, Part
from custom_components.home_agent.support import errors, issues
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.storage import Trouble

PACKAGE = Path(errors.__file__).parents[1]
COMPLETE = ("en", "de")
LANGUAGES = tuple(sorted(path.stem for path in (PACKAGE / "translations").glob("*.json")))
TEXTS: dict[str, dict[str, Any]] = {
    language: json.loads((PACKAGE / "translations" / f"{language}.json").read_text(encoding="utf-8"))
    for language in LANGUAGES
}
EN = TEXTS["en"]
SOURCES = {path.relative_to(PACKAGE): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
CONNECTION_ERRORS = {key for _, key in model_server.ERRORS} | {"invalid_url", "key_needed", "no_models"}
MODEL_ERRORS = {"model_missing", "keep_alive_format"}
RETRIEVAL_ERRORS = {"collection_name", "collection_taken", "invalid_url", "keep_alive_format", "retrieval_failed"}
SETTINGS_ERRORS = {
    "prompt_name", "prompt_unknown", "list_item", "document_name", "entity_pattern", "timezone_invalid",
    "custom_prompt_empty", "custom_prompt_invalid", "custom_prompt_slow", "prompt_additions_invalid",
    "prompt_additions_slow",
}  # fmt: skip
ERRORS = (
    "HomeAgentError", "ToolError", "RetrievalError", "StoreError", "EmbeddingError", "PromptTemplateError",
    "ConversationBusy", "CustomToolError", "KnowledgeError",
)  # fmt: skip


def flat(texts: dict[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in texts.items():
        path = f"{prefix}{key}"
        found |= flat(value, f"{path}.") if isinstance(value, dict) else {path: value}
    return found


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def calls() -> Iterator[ast.Call]:
    for source in SOURCES.values():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call):
                yield node


def called_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def strings_of_code() -> set[str]:
    """Return every string constant in our code."""
    return {
        node.value
        for source in SOURCES.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_have_the_same_texts_and_placeholders(language: str) -> None:
    english, other = flat(EN), flat(TEXTS[language])
    assert other.keys() <= english.keys()
    assert other.keys() == english.keys() or language not in COMPLETE
    assert {path: placeholders(english[path]) for path in other} == {
        path: placeholders(text) for path, text in other.items()
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_keep_to_the_rules(language: str) -> None:
    texts = flat(TEXTS[language])
    assert not [path for path, text in texts.items() if text != text.strip() or not text]
    assert not [path for path, text in texts.items() if re.search(r"https?://|<\w+[^>]*>|</", text)]
    assert not [path for path, text in texts.items() if re.search(r"""['"„“]\{\w+\}['"“”]""", text)]
    assert not [path for path in texts if not re.fullmatch(r"[a-z0-9_.]+", path)]
    assert not [path for path, text in texts.items() if "[%key" in text]


def test_german_is_not_english() -> None:
    german = flat(TEXTS["de"])
    same_in_both = {path for path, text in flat(EN).items() if german[path] == text}
    allowed = re.compile(
        r"\.(name|top_p|prompt_additions|text|context_format|parameters|json|flow_title)$|^selector\.preset|\.name\.name$|confirm_(question|service)|planned_left_item|entry_type|import_problem|template|\.pin$|\.agent$"
    )
    assert not [path for path in same_in_both if not allowed.search(path)]


def test_sentences_fill_in_what_the_code_gives() -> None:
    """Look at each place that makes an error with a key of its own."""
    wrong = []
    for call in calls():
        name = called_name(call)
        if not (name in ERRORS or name.startswith("LLM")) or not (call.args and isinstance(call.args[0], ast.Constant)):
            continue
        key, given = call.args[0].value, {keyword.arg for keyword in call.keywords}
        sentence = EN["exceptions"].get(key)
        if sentence is None or placeholders(sentence["message"]) - given:
            wrong.append((key, given))
    assert not wrong


def test_every_class_of_error_has_a_sentence() -> None:
    keys = {item.key for item in vars(errors).values() if isinstance(item, type) and hasattr(item, "key")}
    assert keys <= EN["exceptions"].keys()


def test_every_sentence_is_used() -> None:
    kept = {f"kept_{kind.file}" for kind in KEPT}
    assert not EN["exceptions"].keys() - strings_of_code() - kept


def test_keys_of_notices_have_a_sentence() -> None:
    used = {
        key.value
        for call in calls()
        for name, index in (("_notice", 0), ("_invalid", 0), ("async_text", 2))
        if called_name(call) == name and isinstance(key := call.args[index], ast.Constant)
    }
    assert used
    assert used <= EN["exceptions"].keys()


def test_issues() -> None:
    keys = {
        value
        for name, value in vars(issues).items()
        if name.isupper() and not name.startswith("_") and name not in ("DOMAIN", "OF_ENDPOINT")
    }
    assert EN["issues"].keys() == keys | {trouble.value for trouble in Trouble}
    answered = (
        issues.CONFIRMATION, issues.NAMES_PROPOSED, issues.PHRASES_PROPOSED, issues.PHRASES_DOUBTED,
        issues.PIPELINE_PREFERS_LOCAL, issues.AUTOMATIONS_PROPOSED, issues.AUTOMATIONS_CHANGED, issues.AUTOMATIONS_TRIED,
    )  # fmt: skip
    forms = {key: {"title", "fix_flow"} for key in answered}
    assert all(set(issue) == forms.get(key, {"title", "description"}) for key, issue in EN["issues"].items())


def test_the_flow_of_a_confirmation() -> None:
    source = SOURCES[Path("repairs.py")]
    flow = EN["issues"][issues.CONFIRMATION]["fix_flow"]
    assert flow["step"].keys() == {"init", "confirm"}
    assert flow["step"]["init"]["menu_options"].keys() == {"confirm", "reject"}
    assert all(f'reason="{reason}"' in source for reason in flow["abort"])
    assert all(f'"{error}"' in source for error in flow["error"])


@pytest.mark.parametrize("key", [issues.NAMES_PROPOSED, issues.PHRASES_PROPOSED, issues.PHRASES_DOUBTED])
def test_the_flow_of_proposals(key: str) -> None:
    source, flow = SOURCES[Path("repairs.py")], EN["issues"][key]["fix_flow"]
    assert flow["step"].keys() == {"init", "choose"}
    assert flow["step"]["init"]["menu_options"].keys() == {"approve_all", "choose", "reject_all"}
    assert flow["step"]["choose"]["data"].keys() == {"approve", "reject"}
    assert all(f'reason="{reason}"' in source for reason in flow["abort"])
    assert all(f'"{error}"' in source for error in flow["error"])


def test_sensors() -> None:
    keys = {str(description.translation_key) for description in sensor.SENSORS}
    keys |= {each.key for each in sensor.HomeSensor.__subclasses__()}
    icons = json.loads((PACKAGE / "icons.json").read_text(encoding="utf-8"))
    assert EN["entity"]["sensor"].keys() == keys == icons["entity"]["sensor"].keys()


async def test_actions(hass: HomeAssistant) -> None:
    services.async_register_services(hass)
    described = load_yaml_dict(PACKAGE / "services.yaml")
    icons = json.loads((PACKAGE / "icons.json").read_text(encoding="utf-8"))
    registered = hass.services.async_services_for_domain(DOMAIN)
    assert registered.keys() == described.keys() == EN["services"].keys() == icons["services"].keys()
    wrapped = {"process": agents.PROCESS_SCHEMA, "confirm": agents.CONFIRM_SCHEMA}  # a PIN is taken out of these
    for name, action in registered.items():
        schema = action.schema if isinstance(action.schema, probatio.Schema) else wrapped[name]
        taken = {str(marker) for marker in schema.schema}
        listed = ((described[name] or {}).get("fields") or {}).keys()
        assert taken == listed == EN["services"][name].get("fields", {}).keys()
        required = {str(key) for key in schema.schema if isinstance(key, probatio.Required)}
        assert required == {key for key in listed if described[name]["fields"][key].get("required")}


def names_of(schema: probatio.Schema) -> set[str]:
    return {str(marker) for marker, value in schema.schema.items() if not hasattr(value, "options")}


def check_step(step: dict[str, Any], asked: set[str]) -> None:
    """Check that a form's texts are those of its fields."""
    assert step["data"].keys() == asked
    assert step["data_description"].keys() <= asked


@pytest.mark.parametrize("flow", ["config", "llm"])
async def test_forms_of_an_endpoint(hass: HomeAssistant, flow: str) -> None:
    texts = EN["config"] if flow == "config" else EN["config_subentries"]["llm"]
    connection: dict[str, set[str]] = {"endpoint": {"remove_key"}, "cloud": set()}
    parameters, advanced = set[str](), set[str]()
    for preset in PRESETS:
        form = EndpointForm(hass, {"preset": preset})
        connection["cloud" if form.preset.needs_key else "endpoint"] |= names_of(form.connection_schema())
        parameters |= names_of(form.model_schema(name="" if flow == "llm" else None, is_first=flow == "config"))
        advanced |= names_of(form.model_schema().schema["advanced"].schema)
    for step, asked in connection.items():
        check_step(texts["step"][step], asked | {"use_anyway"})
        named = {name for text in flat(texts["step"][step]).values() for name in placeholders(text)}
        assert named <= {"example", "service", "keys_at"}
    check_step(texts["step"]["model"], parameters)
    check_step(texts["step"]["model"]["sections"]["advanced"], advanced)
    check_step(texts["step"]["user"], {"preset"} | ({"name"} if flow == "config" else set()))


@pytest.mark.parametrize("texts", [EN["config"], EN["config_subentries"]["llm"]], ids=["config", "llm"])
def test_steps_in_which_a_model_is_tried(texts: dict[str, Any]) -> None:
    given = {"first_word", "speed", "tools", "detail"}
    assert texts["progress"].keys() == {"try_model"}
    outcomes = {step: item for step, item in texts["step"].items() if step.startswith("tried_")}
    assert outcomes.keys() == {"tried_well", "tried_slow", "tried_no_tools", "tried_written", "tried_failed"}
    for step, item in outcomes.items():
        assert hasattr(model_server.ModelSteps, f"async_step_{step}")
        assert item["menu_options"].keys() == {"save", "model", "try_model"}
        assert placeholders(item["description"]) <= given


def check_origins(step: dict[str, Any]) -> None:
    """Check that each setting with a default says where its value comes from."""
    described = {key: placeholders(text) for key, text in step["data_description"].items()}
    for key in SETTINGS.keys() & step["data"].keys():
        assert (f"{key}_from" in described.get(key, ())) is (SETTINGS[key].part is not Part.OWN), key


@pytest.mark.parametrize("step", ["user", "reconfigure", *TOPICS])
def test_forms_of_an_agent(step: str) -> None:
    texts = EN["config_subentries"]["profile"]["step"][step]
    check_step(texts, set(TOPICS[step]) if step in TOPICS else {*FIRST, "name", "more"})
    check_origins(texts)
    assert texts["description"]


def test_menu_of_an_agent() -> None:
    menu = EN["config_subentries"]["profile"]["step"]["more"]
    assert list(menu["menu_options"]) == list(menu["menu_option_descriptions"]) == [*TOPICS, "yaml", "save"]


MAY_BE_A_PAGE = {"rest", "body", "bearer", "basic", "oauth2"}
"""The forms after which a request is tried."""


@pytest.mark.parametrize("kind", FORMS)
def test_forms_of_a_tool(kind: str) -> None:
    steps = EN["config_subentries"]["custom_tool"]["step"]
    check_step(steps["user"], set(BASICS))
    assert steps["reconfigure"]["data"] == steps["user"]["data"]
    check_step(steps[kind], {*FORMS[kind][""], *({"use_anyway"} if kind in MAY_BE_A_PAGE else ())})
    assert steps[kind].get("sections", {}).keys() == FORMS[kind].keys() - {""}
    for name, section in steps[kind].get("sections", {}).items():
        check_step(section, set(FORMS[kind][name]))


def test_forms_of_a_server() -> None:
    steps = EN["config_subentries"]["mcp_server"]["step"]
    check_step(steps["user"], {*mcp_server.CONNECTION, "use_anyway"})
    assert steps["user"]["sections"].keys() == {"advanced"}
    check_step(steps["user"]["sections"]["advanced"], set(mcp_server.DETAILS))
    for auth, fields in mcp_server.CREDENTIALS.items():
        check_step(steps[auth], {*fields, "use_anyway"})
    assert steps["reconfigure"]["data"] == steps["user"]["data"]
    check_step(steps["tools"], {"allowed_tools"})


def test_forms_of_the_default_settings() -> None:
    steps = EN["options"]["step"]
    pages = {*GEAR_TOPICS, *ADVANCED_TOPICS}
    assert steps.keys() == {"init", "advanced", *pages, "chroma", "embedding", CHECK, "answer"}
    for menu, listed in (
        ("init", [CHECK, *GEAR_TOPICS, "advanced", "done"]), ("advanced", [*ADVANCED_TOPICS, "init"]),
    ):  # fmt: skip
        assert list(steps[menu]["menu_options"]) == list(steps[menu]["menu_option_descriptions"]) == listed
    asked: dict[str, set[str]] = {name: set(fields) for name, fields in (MEMORY_FIELDS | SAFETY_FIELDS).items()}
    asked |= {
        name: {*fields, *(OF_HOME[name][0] if name in OF_HOME else ())} for name, fields in DEFAULTS_PAGES.items()
    }
    asked |= {"agents": set(AGENTS), "confirmation": set(CONFIRMATION), "network": set(NETWORK)}
    for name, fields in retrieval.STEPS.items():
        asked[name] = {*fields, *(retrieval.REMOVE[key] for key in retrieval.REMOVE.keys() & fields.keys())}
        asked[name] |= {"use_anyway"} if name != "retrieval" else set()
    assert asked.keys() == pages | {"chroma", "embedding"}
    for name, keys in asked.items():
        check_step(steps[name], keys)
    for name in DEFAULTS_PAGES:
        check_origins(steps[name])
        assert steps[name]["data"].keys() == steps[name]["data_description"].keys()


@pytest.mark.parametrize(("section", "shown"), [
    pytest.param(EN["config"], CONNECTION_ERRORS | MODEL_ERRORS, id="set-up"),
    pytest.param(EN["config_subentries"]["llm"], CONNECTION_ERRORS | MODEL_ERRORS | {"name_taken"}, id="endpoint"),
    pytest.param(
        EN["config_subentries"]["profile"],
        SETTINGS_ERRORS | {
            "name_taken", "name_missing", "custom_prompt_unused", "profile_id_invalid", "profile_id_taken",
        } | {"command_invalid", "command_taken", "yaml_problems"},
        id="agent",
    ),
    pytest.param(EN["config_subentries"]["custom_tool"], {"name_taken", "tool_refused", "missing", "web_page"}, id="tool"),
    pytest.param(
        EN["config_subentries"]["mcp_server"],
        {*mcp_server.ERRORS.values(), "invalid_url", "key_needed", "missing", "name_taken"}, id="MCP server",
    ),
    pytest.param(
        EN["options"],
        SETTINGS_ERRORS | {"pin_format", "nothing_exposed", "rule_agent", "rule_empty", "rule_times"} | RETRIEVAL_ERRORS,
        id="default settings",
    ),
])  # fmt: skip
def test_errors_of_forms(section: dict[str, Any], shown: set[str]) -> None:
    assert section["error"].keys() == shown
    assert {key for key in shown if not key.endswith(("_invalid", "_slow"))} <= strings_of_code()


def test_reasons_to_end_a_form() -> None:
    given = {
        keyword.value.value
        for call in calls()
        if called_name(call) == "async_abort"
        for keyword in call.keywords
        if keyword.arg == "reason" and isinstance(keyword.value, ast.Constant)
    }
    repairs = (issues.CONFIRMATION, issues.PHRASES_PROPOSED)
    in_repairs = {reason for key in repairs for reason in EN["issues"][key]["fix_flow"]["abort"]}
    assert EN["config"]["abort"].keys() | EN["options"]["abort"].keys() | in_repairs == given


def test_choices() -> None:
    texts = EN["selector"]
    assert texts["preset"]["options"].keys() == {*PRESETS, NO_MODEL}
    assert texts["llm"]["options"].keys() == {"default", "none"}
    assert texts["extraction_llm"]["options"].keys() == {EXTRACT_WITH_PROFILE, EXTRACT_WITH_EXTERNAL}
    assert texts["listed"]["options"].keys() == {"all", "none"}
    for group in (
        FIRST,
        *TOPICS.values(),
        retrieval.STEPS["retrieval"],
        *MEMORY_FIELDS.values(),
        BASICS,
        FORMS["rest"][""],
        FORMS["oauth2"][""],
        mcp_server.CONNECTION,
        mcp_server.DETAILS,
    ):
        for selector in group.values():
            config = getattr(selector, "config", {})
            if "translation_key" in config and "options" in config:
                assert texts[config["translation_key"]]["options"].keys() == set(config["options"])
            elif "fields" in config:
                assert texts[config["translation_key"]]["fields"].keys() == config["fields"].keys()


def test_system_health() -> None:
    written = re.findall(r'info\["(\w+)"\]|info: dict\[str, Any\] = \{"(\w+)"', SOURCES[Path("system_health.py")])
    assert EN["system_health"]["info"].keys() == {key for pair in written for key in pair if key}


@pytest.mark.parametrize("kind", ["entry_type", "initiate_flow"])
def test_subentries_are_named(kind: str) -> None:
    assert all(kind in subentry for subentry in EN["config_subentries"].values())
    assert all(
        subentry["initiate_flow"].keys() == {"user", "reconfigure"} for subentry in EN["config_subentries"].values()
    )


@pytest.mark.parametrize("language", LANGUAGES)
async def test_home_assistant_loads_them(hass: HomeAssistant, language: str) -> None:
    await async_get_integration(hass, DOMAIN)
    loaded = await async_get_translations(hass, language, "exceptions", [DOMAIN])
    message = flat(TEXTS[language]).get("exceptions.llm_auth.message", EN["exceptions"]["llm_auth"]["message"])
    assert loaded[f"component.{DOMAIN}.exceptions.llm_auth.message"] == message


def test_manifest() -> None:
    manifest = json.loads((PACKAGE / "manifest.json").read_text(encoding="utf-8"))
    assert list(manifest) == ["domain", "name", *sorted(manifest.keys() - {"domain", "name"})]
    assert manifest["domain"] == DOMAIN == PACKAGE.name
    assert manifest["integration_type"] == "service"
    assert manifest["documentation"].startswith("https://")
