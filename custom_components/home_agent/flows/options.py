"""The default settings: of all agents, memory, safety, confirmation, search, network access, debugging.

What a page was sent is stored at once, and the menu comes back until it is left.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
import re
from typing import Any, override

from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.config_entries import ConfigFlowResult
from homeassistant.const import CONF_AFTER, CONF_BEFORE
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.helpers.selector import (
    EntitySelector,
    EntitySelectorConfig,
    ObjectSelector,
    ObjectSelectorConfig,
    ObjectSelectorField,
    SelectSelector,
    TextSelector,
    TextSelectorConfig,
)
import probatio

from ..agent.registry import AGENT, AREAS, DAYS, DEVICES, USERS, WEEKDAYS
from ..policy.confirmation import TIMEOUT
from ..policy.policy import THROTTLE_TURNS
from ..policy.write import DEFAULT_SECONDS
from ..settings.memory import CONF_MEMORY, EXTRACT_WITH_EXTERNAL, EXTRACT_WITH_PROFILE, HOME, USER, MemorySettings
from ..settings.profile import LISTS, FormSection, SettingOrigin, default_settings, in_parts, origins
from ..settings.search import CONF_RETRIEVAL, RetrievalSettings, is_collection_name
from ..support.const import (
    CONF_AGENT_RULES,
    CONF_ALLOW_PRIVATE_HOSTS,
    CONF_ALLOWED_ENTITIES,
    CONF_ALLOWED_HOSTS,
    CONF_ALWAYS_CONFIRM,
    CONF_AUDIT_LOG,
    CONF_CHOOSE_IN_CONVERSATIONS,
    CONF_CONFIRM_TIMEOUT,
    CONF_DEBUG_LOGGING,
    CONF_DEFAULT_PROFILE,
    CONF_DEFAULT_PROFILE_SETTINGS,
    CONF_DELEGATION_AGENTS,
    CONF_DELEGATION_DEPTH,
    CONF_EMIT_EVENTS,
    CONF_EXTENSIONS_OFF,
    CONF_NEVER_CONFIRM,
    CONF_NEVER_OFFER,
    CONF_PINS,
    CONF_THROTTLE_TURNS,
    CONF_VERIFY_SECONDS,
    DOMAIN,
    SUBENTRY_LLM,
)
from ..tools.delegation import DEPTH
from ..turn.plan import DISARM, OPEN_DOOR, OPEN_VALVE, UNLOCK
from . import retrieval
from .check import CHECK, HomeCheck
from .forms import SECRET, STORED, SWITCH, TEXT, Fields, FormError, dropdown, is_empty, lifted, markers, number, shown
from .inheritance import FOLLOWS_BUILT_IN, FollowLists, followed, following
from .model_server import CONF_USE_ANYWAY
from .profile import (
    async_check_settings,
    async_default_instructions,
    check_lists,
    default_model,
    entity_choice,
    extension_choice,
    fields_of,
    inherited,
    known,
    layers_of,
    name_choice,
    patterns_of,
    section_fields,
    split,
    subentries_of,
    tidy,
)

DESTRUCTIVE = "destructive"
GUARDED = (UNLOCK, DISARM, OPEN_DOOR, OPEN_VALVE, DESTRUCTIVE)
"""What may have a PIN: the reasons for which a call needs a yes."""
PIN_FORMAT = "pin_format"

_PIN = re.compile(r"[0-9]{4,12}")


def confirmation_schema(options: Mapping[str, Any]) -> probatio.Schema:
    """Return the form; a stored PIN is never shown, but that there is one."""
    settings = {CONF_CONFIRM_TIMEOUT: TIMEOUT, **options}
    settings |= {field_of(reason): STORED for reason in GUARDED if reason in options.get(CONF_PINS, ())}
    schema: dict[probatio.Marker, Any] = {
        shown(probatio.Optional, CONF_CONFIRM_TIMEOUT, settings): number(10, 3600, unit="s"),
        **{shown(probatio.Optional, field_of(reason), settings): SECRET for reason in GUARDED},
    }
    return probatio.Schema(schema)


def confirmation_options(options: Mapping[str, Any], user_input: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Return what to store, and the fields that hold no PIN. A field that was emptied removes its PIN."""
    entered = {reason: pin.strip() for reason in GUARDED if (pin := user_input.get(field_of(reason), ""))}
    stored = options.get(CONF_PINS, {})
    pins = {reason: stored.get(reason, "") if pin == STORED else pin for reason, pin in entered.items()}
    wrong = {field_of(reason) for reason, pin in pins.items() if not _PIN.fullmatch(pin)}
    return {CONF_CONFIRM_TIMEOUT: int(user_input.get(CONF_CONFIRM_TIMEOUT, TIMEOUT)), CONF_PINS: pins}, wrong


def field_of(reason: str) -> str:
    """Return the field of a PIN."""
    return f"pin_{reason}"


PAGES = (
    "assistant",
    "agents",
    "prompt",
    "context",
    "history",
    "retrieval",
    "memory",
    "tools",
    "routing",
    "safety",
    "confirmation",
    "network",
    "debug",
)
DONE = "done"
SAFETY: dict[str, Any] = {
    CONF_ALLOWED_ENTITIES: [],
    CONF_ALWAYS_CONFIRM: [],
    CONF_NEVER_CONFIRM: [],
    CONF_NEVER_OFFER: [],
    CONF_THROTTLE_TURNS: THROTTLE_TURNS,
    CONF_VERIFY_SECONDS: DEFAULT_SECONDS,
    CONF_DELEGATION_AGENTS: [],
    CONF_DELEGATION_DEPTH: DEPTH,
}
"""What holds where nothing is stored."""
PATTERNS = "patterns"
"""The section for what stands in a list and is no entity."""


def other_agents(hass: HomeAssistant) -> EntitySelector:
    """Return a picker of conversation agents that are not ours."""
    ours = [item.entity_id for item in er.async_get(hass).entities.values() if item.platform == DOMAIN]
    return EntitySelector(
        EntitySelectorConfig(filter={"domain": CONVERSATION_DOMAIN}, multiple=True, exclude_entities=ours)
    )


SAFETY_FIELDS: dict[str, Fields] = {
    "": {
        **{key: entity_choice for key in SAFETY if key in LISTS},
        CONF_THROTTLE_TURNS: number(1, 600),
        CONF_VERIFY_SECONDS: number(0, 10, unit="s"),
        CONF_DELEGATION_AGENTS: other_agents,
        CONF_DELEGATION_DEPTH: number(1, 3),
    },
    PATTERNS: {patterns_of(key): name_choice for key in SAFETY if key in LISTS},
}
"""By section."""


def _agents(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of our agents by their ids."""
    registries = [entry.runtime_data.registry for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    return {key: profile.name for registry in registries for key, profile in registry.by_id.items()}


def _default_agent(hass: HomeAssistant) -> SelectSelector:
    return dropdown(_agents(hass))


async def _async_there(hass: HomeAssistant, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rules without users, devices and areas that were removed; one in which they were all there were never fits."""
    users = {user.id for user in await hass.auth.async_get_users()}
    devices, areas = dr.async_get(hass), ar.async_get(hass)
    left = list[dict[str, Any]]()
    for stored in rows:
        row = dict(stored)
        if USERS in row:
            row[USERS] = [user for user in row[USERS] if user in users]
        if DEVICES in row:
            row[DEVICES] = [device for device in row[DEVICES] if devices.async_get(device)]
        if AREAS in row:
            row[AREAS] = [area for area in row[AREAS] if areas.async_get_area(area)]
        for among in ((USERS,), (DEVICES, AREAS)):  # either of a device and an area counts
            if any(stored.get(key) for key in among) and not any(row.get(key) for key in among):
                break  # without the condition it would hold for everybody or everywhere
        else:
            left.append({key: value for key, value in row.items() if not is_empty(value)})
    return left


async def _async_rules(hass: HomeAssistant, rows: Iterable[Mapping[str, Any]]) -> ObjectSelector:
    """Return a table of rules: who answers, for whom, where and when; whom its `rows` name can be chosen."""
    named = {user for row in rows for user in row.get(USERS, ())}
    people = [
        user
        for user in await hass.auth.async_get_users()
        if user.id in named or (user.is_active and not user.system_generated)
    ]

    def choice(options: Iterable[tuple[str, str]], **config: Any) -> dict[str, Any]:
        listed = [{"value": value, "label": label} for value, label in options]
        return {"select": {"options": listed, "mode": "dropdown", **config}}

    users = [(user.id, user.name or user.id) for user in people]
    fields = {
        AGENT: ObjectSelectorField(required=True, selector=choice(_agents(hass).items(), custom_value=True)),
        USERS: ObjectSelectorField(selector=choice(users, multiple=True)),
        DEVICES: ObjectSelectorField(selector={"device": {"multiple": True}}),
        AREAS: ObjectSelectorField(selector={"area": {"multiple": True}}),
        WEEKDAYS: ObjectSelectorField(
            selector={"select": {"options": list(DAYS), "multiple": True, "translation_key": "weekday"}}
        ),
        CONF_AFTER: ObjectSelectorField(selector={"time": {}}),
        CONF_BEFORE: ObjectSelectorField(selector={"time": {}}),
    }
    return ObjectSelector(
        ObjectSelectorConfig(fields=fields, multiple=True, label_field=AGENT, translation_key=CONF_AGENT_RULES)
    )


AGENTS: Fields = {
    CONF_DEFAULT_PROFILE: _default_agent,
    CONF_AGENT_RULES: ObjectSelector(),
    CONF_CHOOSE_IN_CONVERSATIONS: SWITCH,
}

NETWORK: Fields = {
    CONF_ALLOWED_HOSTS: TextSelector(TextSelectorConfig(multiple=True)),
    CONF_ALLOW_PRIVATE_HOSTS: SWITCH,
}


def _extraction_model(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of who extracts: a model that the agent has anyway, or one by name."""
    own = {EXTRACT_WITH_PROFILE: EXTRACT_WITH_PROFILE, EXTRACT_WITH_EXTERNAL: EXTRACT_WITH_EXTERNAL}
    return dropdown(own | subentries_of(hass, SUBENTRY_LLM), "extraction_llm")


_SHARE = number(0, 1, step=0.05)
_DAYS = number(0, 3650, unit="d")
LIMITS = "limits"
EXTRACTING = "extracting"
LEARNING = "learning_phrases"
MEMORY_FIELDS: dict[str, Fields] = {
    "": {
        "enabled": SWITCH,
        "scope": dropdown((HOME, USER), "memory_scope"),
        "top_k": number(1, 20),
        "min_importance": _SHARE,
    },
    EXTRACTING: {
        "extraction": SWITCH,
        "extraction_llm": _extraction_model,
        "extraction_min_importance": _SHARE,
        "min_words": number(1, 20),
    },
    LEARNING: {"learning": SWITCH, "learning_after": number(1, 10)},
    LIMITS: {
        "max_memories": number(10, 20_000),
        "dedup_threshold": number(0.5, 1, step=0.05),
        "importance_decay": number(0, 0.5, step=0.01),
        "fact_ttl": _DAYS,
        "preference_ttl": _DAYS,
        "context_ttl": _DAYS,
        "event_ttl": _DAYS,
        "cleanup_interval": number(1, 168, unit="h"),
        "collection": TEXT,
    },
}
"""By section."""


def memory_options(stored: Mapping[str, Any], user_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to store: only what differs from the defaults. A section that was not sent stays as it is."""
    defaults = asdict(MemorySettings())
    sent = lifted(user_input, MEMORY_FIELDS)
    data = {key: value for key, value in stored.items() if key in defaults}
    for section_name, fields in MEMORY_FIELDS.items():
        for key in fields if not section_name or section_name in user_input else ():
            value = sent.get(key)
            value = value.strip() if isinstance(value, str) else value
            kind = type(defaults[key])
            data[key] = defaults[key] if is_empty(value) else kind(value)
    return {key: value for key, value in data.items() if value != defaults[key]}


_SWITCHES = {CONF_EMIT_EVENTS: True, CONF_AUDIT_LOG: False, CONF_DEBUG_LOGGING: False}
"""Switches and their defaults."""


def _check_rules(rows: Iterable[Mapping[str, Any]], agents: Collection[str]) -> FormError | None:
    """Return which rule can never hold, or always does."""
    for number_of_row, row in enumerate(rows, 1):
        if row.get(AGENT) not in agents:
            return "rule_agent", {"number": str(number_of_row)}
        if not row.keys() - {AGENT}:
            return "rule_empty", {"number": str(number_of_row)}
        if row.get(CONF_AFTER) is not None and row.get(CONF_AFTER) == row.get(CONF_BEFORE):
            return "rule_times", {"number": str(number_of_row)}
    return None


class HomeAgentOptionsFlow(HomeCheck):
    """Change the default settings, one form per topic."""

    _instructions = ""
    """The default ones as the form shows them: sent back, they are nobody's own."""
    _wrong: dict[str, Any] | None = None
    """The defaults as a page that was wrong shows them again."""
    _retrieval: dict[str, Any] | None = None
    """What was entered about looking things up and did not work: token and key need not be entered again."""

    @override
    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a topic; what set-up begins shows the check alone."""
        if self.follows_setup():
            return await self.async_step_check()
        return self.async_show_menu(step_id="init", menu_options=[CHECK, *PAGES, DONE])

    async def async_step_done(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Leave; everything is stored."""
        return self.async_create_entry(data=self.config_entry.options)

    async def async_step_assistant(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask who answers and how it is spoken."""
        return await self._async_defaults_form(
            "assistant",
            fields_of("llm", "llm_model", "language", "local_first", "max_answer_tokens", "speech"),
            user_input,
        )

    async def async_step_agents(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask who answers where nobody names an agent."""
        options, errors, placeholders = self.config_entry.options, dict[str, str](), dict[str, str]()
        agents = _agents(self.hass)
        settings = {CONF_DEFAULT_PROFILE: next(iter(agents), ""), CONF_CHOOSE_IN_CONVERSATIONS: False}
        settings |= {key: options[key] for key in AGENTS if key in options}
        if settings[CONF_DEFAULT_PROFILE] not in agents:  # it was removed: the first one answers
            settings[CONF_DEFAULT_PROFILE] = next(iter(agents), "")
        settings[CONF_AGENT_RULES] = stored = await _async_there(self.hass, options.get(CONF_AGENT_RULES, ()))
        if user_input is not None:
            rows = user_input.get(CONF_AGENT_RULES) or []
            rows = [{key: value for key, value in row.items() if not is_empty(value)} for row in rows]
            was_shown, settings = settings, {**user_input, CONF_AGENT_RULES: rows}
            if not (finding := _check_rules(rows, agents)):
                kept = {key: value for key, value in options.items() if key not in AGENTS}
                chosen = {
                    key: value
                    for key, value in settings.items()
                    if not is_empty(value) and (key in options or value != was_shown.get(key))
                }
                return await self._async_store(kept | chosen)
            errors["base"], placeholders = finding
        return self.async_show_form(
            step_id="agents",
            data_schema=probatio.Schema(
                markers(self.hass, AGENTS | {CONF_AGENT_RULES: await _async_rules(self.hass, stored)}, settings)
            ),
            errors=errors,
            description_placeholders=placeholders,
        )

    async def async_step_prompt(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the prompt."""
        return await self._async_defaults_form(
            "prompt", section_fields(FormSection.PROMPT) | fields_of("prompt_additions"), user_input
        )

    async def async_step_context(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what is sent to the model."""
        fields = section_fields(FormSection.CONTEXT) | section_fields(FormSection.EXPOSURE)
        return await self._async_defaults_form("context", fields, user_input)

    async def async_step_history(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask how much of a conversation is remembered."""
        return await self._async_defaults_form("history", section_fields(FormSection.HISTORY), user_input)

    async def async_step_retrieval(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask where documents are kept and who makes vectors, and try it."""
        stored = self._retrieval if self._retrieval is not None else self.config_entry.options.get(CONF_RETRIEVAL, {})
        key, placeholders = "", dict[str, str]()
        if user_input is not None:
            stored = self._retrieval = retrieval.taken(stored, user_input)
            connect = not user_input.get(CONF_USE_ANYWAY)
            memories = MemorySettings.from_options(self.config_entry.options).collection
            if not (finding := await retrieval.async_check(self.hass, stored, memories=memories, connect=connect)):
                others = {name: value for name, value in self.config_entry.options.items() if name != CONF_RETRIEVAL}
                self._retrieval = None
                return await self._async_store(others | ({CONF_RETRIEVAL: stored} if stored else {}))
            key, placeholders = finding
        return self.async_show_form(
            step_id="retrieval",
            data_schema=retrieval.retrieval_schema(self.hass, stored, may_skip_check=key == retrieval.FAILED),
            errors={"base": key} if key else {},
            description_placeholders=placeholders,
        )

    async def async_step_memory(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what is remembered, whose it is, and for how long."""
        options = self.config_entry.options
        stored = options.get(CONF_MEMORY, {})
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            stored = memory_options(stored, user_input)
            name, used = (
                MemorySettings.from_options({CONF_MEMORY: stored}).collection,
                RetrievalSettings.from_options(options),
            )
            if not is_collection_name(name):
                errors, placeholders = {"base": "collection_name"}, {"name": name[:80]}
            elif name in (used.collection, *used.additional_collections):
                errors, placeholders = {"base": "collection_taken"}, {"name": name[:80]}
            else:
                others = {key: value for key, value in options.items() if key != CONF_MEMORY}
                return await self._async_store(others | ({CONF_MEMORY: stored} if stored else {}))
        values = asdict(MemorySettings.from_options({CONF_MEMORY: stored}))
        schema = markers(self.hass, MEMORY_FIELDS[""], values)
        for name in (EXTRACTING, LEARNING, LIMITS):
            within = probatio.Schema(markers(self.hass, MEMORY_FIELDS[name], values))
            schema[probatio.Optional(name)] = section(within, {"collapsed": True})
        return self.async_show_form(
            step_id="memory",
            data_schema=probatio.Schema(schema),
            errors=errors,
            description_placeholders=placeholders,
        )

    async def async_step_tools(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask which tools there are, and whom agents may delegate to."""
        fields = fields_of("native_tools") | section_fields(FormSection.TOOLS)
        return await self._async_defaults_form(
            "tools", fields | fields_of("delegate_to", "delegation_level"), user_input
        )

    async def async_step_routing(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what a message goes through before the model."""
        off: Fields = {CONF_EXTENSIONS_OFF: extension_choice}
        return await self._async_defaults_form("routing", section_fields(FormSection.ROUTING), user_input, off)

    async def async_step_safety(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what is shared, what needs a yes, what does not, and what never happens."""
        settings = SAFETY | self.config_entry.options
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            sent = lifted(user_input, (PATTERNS,))
            if PATTERNS not in user_input:  # a section that was not sent stays as it is
                stored = split(self.hass, settings)
                sent |= {key: stored[key] for key in SAFETY_FIELDS[PATTERNS]}
            settings |= SAFETY | tidy(sent)
            if not (finding := check_lists(settings)):
                return await self._async_store({**self.config_entry.options, **{key: settings[key] for key in SAFETY}})
            errors["base"], placeholders = finding
        values = split(self.hass, settings)
        schema = markers(self.hass, SAFETY_FIELDS[""], values)
        others = probatio.Schema(markers(self.hass, SAFETY_FIELDS[PATTERNS], values))
        schema[probatio.Optional(PATTERNS)] = section(others, {"collapsed": True})
        return self.async_show_form(
            step_id="safety",
            data_schema=probatio.Schema(schema),
            errors=errors,
            description_placeholders=placeholders,
        )

    async def async_step_confirmation(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask how long a question stands, and for PINs."""
        options = self.config_entry.options
        errors: dict[str, str] = {}
        if user_input is not None:
            changes, wrong = confirmation_options(options, user_input)
            if not wrong:
                return await self._async_store({**options, **changes})
            errors = dict.fromkeys(wrong, PIN_FORMAT)
        return self.async_show_form(
            step_id="confirmation",
            data_schema=confirmation_schema(options),
            errors=errors,
        )

    async def async_step_network(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask which computers custom tools may reach."""
        if user_input is not None:
            hosts = sorted({host.strip().casefold() for host in user_input.get(CONF_ALLOWED_HOSTS, [])} - {""})
            private = user_input.get(CONF_ALLOW_PRIVATE_HOSTS, False)
            return await self._async_store(
                {**self.config_entry.options, CONF_ALLOWED_HOSTS: hosts, CONF_ALLOW_PRIVATE_HOSTS: private}
            )
        settings = {CONF_ALLOW_PRIVATE_HOSTS: False} | self.config_entry.options
        schema = probatio.Schema(markers(self.hass, NETWORK, settings))
        return self.async_show_form(step_id="network", data_schema=schema)

    async def async_step_debug(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for streaming, events and logs."""
        if user_input is not None:
            switches = {key: user_input.get(key, default) for key, default in _SWITCHES.items()}
            defaults = self._defaults_after(self._defaults(), fields_of("streaming"), user_input)
            options = {**self.config_entry.options, **switches}
            return await self._async_store(options | {CONF_DEFAULT_PROFILE_SETTINGS: in_parts(defaults)})
        fields, values = await self._async_fields("debug", fields_of("streaming"), self._defaults())
        fields |= dict.fromkeys(_SWITCHES, SWITCH)
        values |= _SWITCHES | {key: value for key, value in self.config_entry.options.items() if key in _SWITCHES}
        return self.async_show_form(step_id="debug", data_schema=probatio.Schema(markers(self.hass, fields, values)))

    def _defaults(self) -> dict[str, Any]:
        """Return what is set of the built-in defaults."""
        return known(self.config_entry, default_settings(self.config_entry.options))

    def _defaults_after(self, before: Mapping[str, Any], fields: Fields, user_input: dict[str, Any]) -> dict[str, Any]:
        """Return the defaults after a form with these fields was sent that was filled in with those `before`."""
        sent, follows = tidy(user_input), followed(user_input, before, {FOLLOWS_BUILT_IN: fields})
        return layers_of(self.hass, {}, before, self._instructions).overrides(sent, fields, follows)

    async def _async_fields(
        self, step_id: str, fields: Fields, defaults: Mapping[str, Any]
    ) -> tuple[Fields, dict[str, Any]]:
        """Return the fields of a page of defaults with the list of those that are as they were built in, and their values."""
        layers = layers_of(self.hass, {}, defaults, self._instructions)
        lists = await FollowLists.async_load(self.hass, "options", step_id)
        choice = lists.choice("", fields, layers, origins({}, {}), SettingOrigin.DEFAULTS)
        values = split(self.hass, layers.shown) | {FOLLOWS_BUILT_IN: sorted(following(defaults, fields))}
        return fields | {FOLLOWS_BUILT_IN: choice}, values

    async def _async_defaults_form(
        self, step_id: str, fields: Fields, user_input: dict[str, Any] | None, of_home: Fields | None = None
    ) -> ConfigFlowResult:
        """Show a form of defaults, or store what it sent; what is `of_home` are lists, stored beside the defaults."""
        own = {key: self.config_entry.options.get(key, []) for key in of_home or ()}
        defaults = self._defaults()
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            defaults = self._defaults_after(defaults if self._wrong is None else self._wrong, fields, user_input)
            own = {key: user_input.get(key, []) for key in own}
            if not (finding := await async_check_settings(self.hass, inherited(defaults))):
                self._wrong = None
                rest = {key: value for key, value in self.config_entry.options.items() if key not in own}
                stored = {key: value for key, value in own.items() if value}
                return await self._async_store({**rest, **stored, CONF_DEFAULT_PROFILE_SETTINGS: in_parts(defaults)})
            errors["base"], placeholders = finding
        self._wrong = defaults if errors else None
        self._instructions = await async_default_instructions(self.config_entry, inherited(defaults))
        shown_fields, values = await self._async_fields(step_id, fields, defaults)
        return self.async_show_form(
            step_id=step_id,
            data_schema=probatio.Schema(markers(self.hass, shown_fields | (of_home or {}), values | own)),
            errors=errors,
            description_placeholders=placeholders | {"default_model": default_model(self.config_entry)},
        )

    async def _async_store(self, options: Mapping[str, Any]) -> ConfigFlowResult:
        """Store the options, which reloads the entry where they changed, and show the menu again."""
        self.hass.config_entries.async_update_entry(self.config_entry, options=options)
        return await self.async_step_init()
