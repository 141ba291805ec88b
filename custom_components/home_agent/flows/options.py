"""The default settings of all agents, and the settings of the home. Each page is stored when it is sent."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from functools import partialmethod
import re
from typing import Any, override

from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.config_entries import ConfigFlowResult
from homeassistant.const import CONF_AFTER, CONF_BEFORE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.helpers.selector import EntitySelector, ObjectSelector, ObjectSelectorField, TextSelector
import probatio

from ..agent.registry import AGENT, AREAS, DAYS, DEVICES, USERS, WEEKDAYS
from ..policy.confirmation import TIMEOUT
from ..policy.policy import THROTTLE_TURNS
from ..policy.write import DEFAULT_SECONDS
from ..settings.memory import CONF_MEMORY, EXTRACT_WITH_EXTERNAL, EXTRACT_WITH_PROFILE, HOME, USER, MemorySettings
from ..settings.profile import LISTS, default_settings, in_parts, settings_of
from ..settings.search import CONF_RETRIEVAL, RetrievalSettings, is_collection_name
from ..support import const
from ..tools.delegation import DEPTH
from ..turn.plan import DISARM, OPEN_DOOR, OPEN_VALVE, UNLOCK
from . import retrieval
from .check import CHECK, HomeCheck
from .fields import (
    ENTITIES,
    FIRST,
    TOPICS as AGENT_TOPICS,
    async_check_settings,
    async_default_instructions,
    async_users,
    async_with_exposed,
    check_lists,
    default_model,
    entered,
    extension_choice,
    inherited,
    known,
    layers_of,
    name_choice,
    patterns_of,
    split,
    subentries_of,
    tidy,
    values_of,
)
from .forms import SECRET, STORED, SWITCH, TEXT, Fields, FormError, changed, is_empty, markers, number, select
from .inheritance import async_told
from .model_server import CONF_USE_ANYWAY

GUARDED = (UNLOCK, DISARM, OPEN_DOOR, OPEN_VALVE, "destructive")
"""Reasons for a confirmation that may have a PIN."""
_PIN = re.compile(r"[0-9]{4,12}")


def field_of(reason: str) -> str:
    """Return the field of a PIN."""
    return f"pin_{reason}"


CONFIRMATION: Fields = {
    const.CONF_CONFIRM_TIMEOUT: number(10, 3600, unit="s"),
    **{field_of(reason): SECRET for reason in GUARDED},
}


def confirmation_options(options: Mapping[str, Any], user_input: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Return what to store, and the fields with an invalid PIN. An emptied field removes its PIN; PINs without a field stay."""
    entered = {reason: pin.strip() for reason in GUARDED if (pin := user_input.get(field_of(reason), ""))}
    stored = options.get(const.CONF_PINS, {})
    pins = {reason: stored.get(reason, "") if pin == STORED else pin for reason, pin in entered.items()}
    wrong = {field_of(reason) for reason, pin in pins.items() if not _PIN.fullmatch(pin)}
    pins |= {reason: pin for reason, pin in stored.items() if reason not in GUARDED}
    return {
        const.CONF_CONFIRM_TIMEOUT: int(user_input.get(const.CONF_CONFIRM_TIMEOUT, TIMEOUT)),
        const.CONF_PINS: pins,
    }, wrong


TOPICS = ("assistant", "agents", "history", "memory", "tools", "privacy", "safety", "confirmation")
ADVANCED = "advanced"
ADVANCED_TOPICS = (
    *(
        "prompt",
        "context",
        "retrieval",
        "memory_limits",
        "tool_limits",
        "routing",
        "wishes",
        "limits",
        "network",
        "debug",
    ),
)
SAFETY: dict[str, Any] = {
    const.CONF_ALLOWED_ENTITIES: [],
    const.CONF_ALWAYS_CONFIRM: [],
    const.CONF_NEVER_CONFIRM: [],
    const.CONF_NEVER_OFFER: [],
    const.CONF_THROTTLE_TURNS: THROTTLE_TURNS,
    const.CONF_VERIFY_SECONDS: DEFAULT_SECONDS,
    const.CONF_DELEGATION_AGENTS: [],
    const.CONF_DELEGATION_DEPTH: DEPTH,
}
"""Defaults of the pages in `SAFETY_FIELDS`."""


def _list_fields(key: str) -> Fields:
    return {key: ENTITIES, patterns_of(key): name_choice}


def _other_agents(hass: HomeAssistant) -> EntitySelector:
    ours = [item.entity_id for item in er.async_get(hass).entities.values() if item.platform == const.DOMAIN]
    return EntitySelector({"filter": {"domain": CONVERSATION_DOMAIN}, "multiple": True, "exclude_entities": ours})


SAFETY_FIELDS: dict[str, Fields] = {
    "safety": {name: field for key in SAFETY if key in LISTS for name, field in _list_fields(key).items()},
    "limits": {
        const.CONF_THROTTLE_TURNS: number(1, 600),
        const.CONF_VERIFY_SECONDS: number(0, 10, unit="s"),
        const.CONF_DELEGATION_AGENTS: _other_agents,
        const.CONF_DELEGATION_DEPTH: number(1, 3),
    },
}
"""By page."""


def _agents(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of our agents by their ids."""
    registries = [entry.runtime_data.registry for entry in hass.config_entries.async_loaded_entries(const.DOMAIN)]
    return {key: profile.name for registry in registries for key, profile in registry.by_id.items()}


async def _async_there(hass: HomeAssistant, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rules without users, devices and areas that were removed, and without rules that then have no condition."""
    users = {user.id for user in await hass.auth.async_get_users()}
    devices, areas = dr.async_get(hass).async_get, ar.async_get(hass).async_get_area
    there: dict[str, Callable[[str], object]] = {USERS: users.__contains__, DEVICES: devices, AREAS: areas}
    left = list[dict[str, Any]]()
    for stored in rows:
        row = {
            key: [item for item in value if there[key](item)] if key in there else value
            for key, value in stored.items()
        }
        for among in ((USERS,), (DEVICES, AREAS)):  # either of a device and an area counts
            if any(stored.get(key) for key in among) and not any(row.get(key) for key in among):
                break  # without the condition it would apply to all
        else:
            left.append({key: value for key, value in row.items() if not is_empty(value)})
    return left


async def _async_rules(hass: HomeAssistant, rows: Iterable[Mapping[str, Any]]) -> ObjectSelector:
    """Return a table of rules: which agent answers for whom, where and when. Users that `rows` name stay selectable."""
    named = {user for row in rows for user in row.get(USERS, ())}
    users = await async_users(hass, named)
    fields: dict[str, ObjectSelectorField] = {
        AGENT: {"required": True, "selector": {"select": select(_agents(hass), typed=True).config}},
        USERS: {"selector": {"select": select(users, multiple=True).config}},
        DEVICES: {"selector": {"device": {"multiple": True}}},
        AREAS: {"selector": {"area": {"multiple": True}}},
        WEEKDAYS: {"selector": {"select": {"options": list(DAYS), "multiple": True, "translation_key": "weekday"}}},
        CONF_AFTER: {"selector": {"time": {}}},
        CONF_BEFORE: {"selector": {"time": {}}},
    }
    return ObjectSelector(
        {"fields": fields, "multiple": True, "label_field": AGENT, "translation_key": const.CONF_AGENT_RULES}
    )


AGENTS: Fields = {
    const.CONF_DEFAULT_PROFILE: lambda hass: select(_agents(hass)),
    const.CONF_AGENT_RULES: ObjectSelector(),
    const.CONF_CHOOSE_IN_CONVERSATIONS: SWITCH,
}

NETWORK: Fields = {const.CONF_ALLOWED_HOSTS: TextSelector({"multiple": True}), const.CONF_ALLOW_PRIVATE_HOSTS: SWITCH}


_SHARE = number(0, 1, step=0.05)
_DAYS = number(0, 3650, unit="d")
MEMORY_FIELDS: dict[str, Fields] = {
    "memory": {
        "enabled": SWITCH,
        "scope": select((HOME, USER), "memory_scope"),
        "extraction": SWITCH,
        "extraction_llm": lambda hass: select(
            {name: name for name in (EXTRACT_WITH_PROFILE, EXTRACT_WITH_EXTERNAL)}
            | subentries_of(hass, const.SUBENTRY_LLM),
            "extraction_llm",
        ),
        "learning": SWITCH,
        "learning_after": number(1, 10),
        "fact_ttl": _DAYS,
        "preference_ttl": _DAYS,
        "context_ttl": _DAYS,
        "event_ttl": _DAYS,
    },
    "memory_limits": {
        "top_k": number(1, 20),
        "min_importance": _SHARE,
        "extraction_min_importance": _SHARE,
        "min_words": number(1, 20),
        "max_memories": number(10, 20_000),
        "dedup_threshold": number(0.5, 1, step=0.05),
        "importance_decay": number(0, 0.5, step=0.01),
        "cleanup_interval": number(1, 168, unit="h"),
        "collection": TEXT,
    },
}
"""By page."""


_SWITCHES = {const.CONF_EMIT_EVENTS: True, const.CONF_AUDIT_LOG: False, const.CONF_DEBUG_LOGGING: False}
"""Switches and their defaults."""


def _check_rules(rows: Iterable[Mapping[str, Any]], agents: Collection[str]) -> FormError | None:
    """Return an error for a rule that never or always applies."""
    for number_of_row, row in enumerate(rows, 1):
        if row.get(AGENT) not in agents:
            return "rule_agent", {"number": str(number_of_row)}
        if not row.keys() - {AGENT}:
            return "rule_empty", {"number": str(number_of_row)}
        if row.get(CONF_AFTER) is not None and row.get(CONF_AFTER) == row.get(CONF_BEFORE):
            return "rule_times", {"number": str(number_of_row)}
    return None


_OF_ALL_AGENTS = {
    "assistant": (
        *(
            "llm",
            "llm_model",
            "language",
            "prompt_additions",
            "speech",
            "local_first",
            "max_answer_tokens",
            "spoken_wait",
        ),
    ),
    "history": AGENT_TOPICS["history"],
    "tools": (
        *("native_tools", "custom_tools", "llm_apis", "mcp_servers", "documentation_tool", "automation_tools"),
        *("external_llm", "external_llm_description", "delegate_to", "delegation_level"),
    ),
    "privacy": ("memory", "documents_for", "tell_events", "mask_personal_data", *AGENT_TOPICS["exposure"]),
    "prompt": AGENT_TOPICS["prompt"],
    "context": (
        *("context_mode", "context_format", "context_entities", "context_entities_patterns"),
        *("context_max_entities", "context_update_interval"),
    ),
    "tool_limits": ("allowed_tools", "max_calls_per_turn", "max_iterations", "tool_timeout", "offer_tools"),
    "routing": AGENT_TOPICS["routing"],
    "wishes": AGENT_TOPICS["wishes"],
    "debug": ("streaming",),
}
_ALL_FIELDS = FIRST | {name: field for fields in AGENT_TOPICS.values() for name, field in fields.items()}
DEFAULTS_PAGES: dict[str, Fields] = {
    page: {name: _ALL_FIELDS[name] for name in names} for page, names in _OF_ALL_AGENTS.items()
}
"""Fields of settings that an agent can override, by page."""
OF_HOME: dict[str, tuple[Fields, dict[str, Any]]] = {
    "routing": ({const.CONF_EXTENSIONS_OFF: extension_choice}, {const.CONF_EXTENSIONS_OFF: []}),
    "debug": (dict.fromkeys(_SWITCHES, SWITCH), _SWITCHES),
}
"""Fields on these pages that hold for all agents, and their defaults; stored beside the defaults of agents."""


class HomeAgentOptionsFlow(HomeCheck):
    """Change the default settings, one form per topic."""

    _instructions = ""  # the default instructions as shown: sent back, they are not stored
    _wrong: dict[str, Any] | None = None
    """The defaults that a page was sent with an error, to be shown again."""
    _retrieval: dict[str, Any] | None = None
    """Search settings that were sent with an error: token and key need not be entered again."""

    @override
    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the menu; only the check, if set-up leads here."""
        if self.follows_setup():
            return await self.async_step_check()
        return self.async_show_menu(step_id="init", menu_options=[CHECK, *TOPICS, ADVANCED, "done"])

    async def async_step_advanced(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the menu of what is rarely changed."""
        return self.async_show_menu(step_id=ADVANCED, menu_options=[*ADVANCED_TOPICS, "init"])

    async def async_step_done(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Leave; everything is stored."""
        return self.async_create_entry(data=self.config_entry.options)

    async def _async_defaults(self, page: str, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show a page of defaults, or store what it sent."""
        fields, options = DEFAULTS_PAGES[page], self.config_entry.options
        home_fields, usual = OF_HOME.get(page, ({}, {}))
        of_home = {key: options.get(key, value) for key, value in usual.items()}
        defaults, finding = self._defaults(), None
        if user_input is not None:
            layers = layers_of(self.hass, {}, defaults if self._wrong is None else self._wrong, self._instructions)
            stored = settings_of(options.get(const.CONF_DEFAULT_PROFILE_SETTINGS) or {})
            others = {key: value for key, value in stored.items() if key not in fields}
            defaults = layers.overrides(entered(self.hass, fields, layers, user_input)) | others
            of_home = {key: user_input.get(key, value) for key, value in usual.items()}
            finding = await async_check_settings(self.hass, inherited(defaults))
            if finding is None:
                self._wrong = None
                rest = {key: value for key, value in options.items() if key not in of_home}
                chosen = {key: value for key, value in of_home.items() if key in _SWITCHES or value}
                parts = {const.CONF_DEFAULT_PROFILE_SETTINGS: in_parts(defaults)}
                return await self._async_store(page, {**rest, **chosen, **parts})
        self._wrong = defaults if finding else None
        self._instructions = await async_default_instructions(self.config_entry, inherited(defaults))
        layers = layers_of(self.hass, {}, defaults, self._instructions)
        shown_fields = await async_with_exposed(self.hass, fields | home_fields)
        schema = markers(self.hass, shown_fields, values_of(self.hass, layers) | of_home)
        told = await async_told(self.hass, fields, layers)
        return self._form(page, schema, finding, **told, default_model=default_model(self.config_entry))

    async_step_assistant = partialmethod(_async_defaults, "assistant")
    async_step_history = partialmethod(_async_defaults, "history")
    async_step_tools = partialmethod(_async_defaults, "tools")
    async_step_privacy = partialmethod(_async_defaults, "privacy")
    async_step_prompt = partialmethod(_async_defaults, "prompt")
    async_step_context = partialmethod(_async_defaults, "context")
    async_step_tool_limits = partialmethod(_async_defaults, "tool_limits")
    async_step_routing = partialmethod(_async_defaults, "routing")
    async_step_wishes = partialmethod(_async_defaults, "wishes")
    async_step_debug = partialmethod(_async_defaults, "debug")

    async def async_step_agents(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask which agent answers if none is named."""
        options, agents, finding = self.config_entry.options, _agents(self.hass), None
        settings = {const.CONF_CHOOSE_IN_CONVERSATIONS: False} | {key: options[key] for key in AGENTS if key in options}
        if settings.get(const.CONF_DEFAULT_PROFILE) not in agents:  # not chosen, or removed: the first one answers
            settings[const.CONF_DEFAULT_PROFILE] = next(iter(agents), "")
        stored = await _async_there(self.hass, options.get(const.CONF_AGENT_RULES, ()))
        rules = await _async_rules(self.hass, stored)
        shown_rows = [{key: row[key] for key in rules.config["fields"] if key in row} for row in stored]
        settings[const.CONF_AGENT_RULES] = shown_rows
        if user_input is not None:
            rows = user_input.get(const.CONF_AGENT_RULES) or []
            rows = [{key: value for key, value in row.items() if not is_empty(value)} for row in rows]
            rows = [stored[shown_rows.index(row)] if row in shown_rows else row for row in rows]
            was_shown, settings = settings, {**user_input, const.CONF_AGENT_RULES: rows}
            if not (finding := _check_rules(rows, agents)):
                kept = {key: value for key, value in options.items() if key not in AGENTS}
                chosen = {
                    key: value
                    for key, value in settings.items()
                    if not is_empty(value) and (key in options or value != was_shown.get(key))
                }
                return await self._async_store("agents", kept | chosen)
        return self._form("agents", markers(self.hass, AGENTS | {const.CONF_AGENT_RULES: rules}, settings), finding)

    async def _async_search(self, step: str, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask how things are found, then for the server or model of the chosen way, each of which is tried."""
        options, finding = self.config_entry.options, None
        stored = self._retrieval if self._retrieval is not None else options.get(CONF_RETRIEVAL, {})
        if user_input is not None:
            stored = self._retrieval = retrieval.taken(step, stored, user_input)
            connect = not user_input.get(CONF_USE_ANYWAY)
            memories = MemorySettings.from_options(options).collection
            finding = await retrieval.async_check(self.hass, step, stored, memories=memories, connect=connect)
            if finding is None and (following := retrieval.step_after(step, stored)):
                return await self._async_search(following)
            if finding is None:
                self._retrieval = None
                return await self._async_store_part("retrieval", CONF_RETRIEVAL, stored)
        may_skip = finding is not None and finding[0] == retrieval.FAILED
        schema = retrieval.retrieval_schema(self.hass, step, stored, may_skip_check=may_skip)
        return self._form(step, schema.schema, finding)

    async_step_retrieval = partialmethod(_async_search, "retrieval")
    async_step_chroma = partialmethod(_async_search, "chroma")
    async_step_embedding = partialmethod(_async_search, "embedding")

    async def _async_memory(self, page: str, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what is remembered, for whom, and for how long."""
        options, finding = self.config_entry.options, None
        stored = options.get(CONF_MEMORY, {})
        if user_input is not None:
            stored = changed(stored, user_input, MEMORY_FIELDS[page], asdict(MemorySettings()))
            used = RetrievalSettings.from_options(options)
            name = MemorySettings.from_options({CONF_MEMORY: stored}).collection
            if not is_collection_name(name):
                finding = "collection_name", {"name": name[:80]}
            elif name in (used.collection, *used.additional_collections):
                finding = "collection_taken", {"name": name[:80]}
            else:
                return await self._async_store_part(page, CONF_MEMORY, stored)
        values = asdict(MemorySettings.from_options({CONF_MEMORY: stored}))
        return self._form(page, markers(self.hass, MEMORY_FIELDS[page], values), finding)

    async_step_memory = partialmethod(_async_memory, "memory")
    async_step_memory_limits = partialmethod(_async_memory, "memory_limits")

    async def _async_safety(self, page: str, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what is shared, what needs a confirmation and what is never allowed, or for limits."""
        settings, finding = SAFETY | self.config_entry.options, None
        fields = SAFETY_FIELDS[page]
        if user_input is not None:
            settings |= {key: SAFETY[key] for key in SAFETY.keys() & fields.keys()} | tidy(user_input)
            if not (finding := check_lists(settings)):
                kept = {
                    key: settings[key] for key in SAFETY.keys() & (fields.keys() | self.config_entry.options.keys())
                }
                return await self._async_store(page, {**self.config_entry.options, **kept})
        shown_fields = await async_with_exposed(self.hass, fields)
        return self._form(page, markers(self.hass, shown_fields, split(self.hass, settings)), finding)

    async_step_safety = partialmethod(_async_safety, "safety")
    async_step_limits = partialmethod(_async_safety, "limits")

    async def async_step_confirmation(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the time to confirm, and for PINs."""
        options = self.config_entry.options
        errors: dict[str, str] = {}
        if user_input is not None:
            changes, wrong = confirmation_options(options, user_input)
            if not wrong:
                return await self._async_store("confirmation", {**options, **changes})
            errors = dict.fromkeys(wrong, "pin_format")
        shown = {
            const.CONF_CONFIRM_TIMEOUT: TIMEOUT,
            **options,
            **{field_of(key): STORED for key in options.get(const.CONF_PINS, ())},
        }
        schema = probatio.Schema(markers(self.hass, CONFIRMATION, shown))
        return self.async_show_form(step_id="confirmation", data_schema=schema, errors=errors)

    async def async_step_network(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask which hosts custom tools may access."""
        options = self.config_entry.options
        if user_input is not None:
            hosts = sorted({host.strip().casefold() for host in user_input.get(const.CONF_ALLOWED_HOSTS, [])} - {""})
            private = user_input.get(const.CONF_ALLOW_PRIVATE_HOSTS, False)
            chosen = {const.CONF_ALLOWED_HOSTS: hosts, const.CONF_ALLOW_PRIVATE_HOSTS: private}
            return await self._async_store("network", {**options, **chosen})
        return self._form("network", markers(self.hass, NETWORK, {const.CONF_ALLOW_PRIVATE_HOSTS: False} | options))

    def _form(
        self, step_id: str, schema: Mapping[Any, Any], finding: FormError | None = None, **placeholders: str
    ) -> ConfigFlowResult:
        """Show a form, and what is wrong with its input."""
        error, named = finding or ("", {})
        return self.async_show_form(
            step_id=step_id,
            data_schema=probatio.Schema(dict(schema)),
            errors={"base": error} if error else {},
            description_placeholders=placeholders | named,
        )

    def _defaults(self) -> dict[str, Any]:
        """Return the stored defaults of all agents."""
        return known(self.config_entry, default_settings(self.config_entry.options))

    async def _async_store_part(self, page: str, part: str, stored: Mapping[str, Any]) -> ConfigFlowResult:
        """Store one part of the options, without it if it is empty."""
        others = {key: value for key, value in self.config_entry.options.items() if key != part}
        return await self._async_store(page, others | ({part: stored} if stored else {}))

    async def _async_store(self, page: str, options: Mapping[str, Any]) -> ConfigFlowResult:
        """Store the options, which are taken up if they changed, and show the menu of the page again."""
        self.hass.config_entries.async_update_entry(self.config_entry, options=options)
        return await (self.async_step_advanced() if page in ADVANCED_TOPICS else self.async_step_init())
