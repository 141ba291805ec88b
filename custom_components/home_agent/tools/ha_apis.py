"""The tools of Home Assistant's LLM APIs. Intents, lists, scripts and actions are planned, others are annotated."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256
import re
from typing import Any, override

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.homeassistant import llm as inventory
from homeassistant.const import ENTITY_MATCH_ALL
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent, llm
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import is_template_string
from homeassistant.util import slugify
from homeassistant.util.json import JsonValueType
import probatio

from ..home.contents import SCRIPT
from ..home.domains import DOMAINS, UNKNOWN
from ..home.exposure import is_exposed, is_narrowed, may_know
from ..home.foreign import async_reader
from ..home.judgement import judge, judge_named
from ..home.targets import entity_ids_in, refuse_broad_ids, variables_name
from ..home.telling_names import is_sensitive_service
from ..policy.intents import CHANGES_NOTHING, COMMAND, TIMERS, Mismatch, Recognised, async_handle, pinned, plan_of
from ..policy.tool import HomeAgentTool
from ..settings.profile import Profile
from ..support import issues
from ..support.const import ASSISTANT, DOMAIN, LOGGER
from ..support.errors import ToolError, ToolPermissionError, ToolRefusal
from ..support.outages import Outages
from ..turn.plan import DESTRUCTIVE, ActionClass, Plan, ServiceCall
from ..turn.turn import Turn
from .sanitize import cleaned, free_name, means_more, plain_result, remote_name_from, texts_in, tool_name_from

MAX_GUIDE = 4000  # characters
TIMEOUT = 5.0  # seconds; an API that takes longer is left out
_INVENTORY = re.compile(r"^Static Context:.*\n(?:(?:- |  ).*\n?)*", re.MULTILINE)
"""The list of all exposed entities, which our home map has."""
_DEVICE = re.compile(
    r"^(?:You are in area |When a user asks to turn on all devices |This device is not able to start timers).*\n?",
    re.MULTILINE,
)
"""Text that depends on the asking device: its area is told with each question."""
_HOW_TO_READ: tuple[str, ...] = tuple(
    text for name in ("DYNAMIC_CONTEXT_PROMPT",) if isinstance(text := getattr(inventory, name, None), str)
)
"""Text that says to look up states: they are told with each question."""
MAX_DESCRIPTION = 2000  # characters
RESTART = "restart"
DELAYED = "delayed"
"""A delayed command: its effects are not known now, and a user cannot be asked later."""
NO_MATCH = "No exposed entity matches {what}. Nothing was done."
PARAMETERS = {"calendar__get_events": ("calendar", "calendar"), "todo__get_items": ("todo_list", "todo")}
"""By tool: the parameter with the name, and the domain of the entity."""
PREFIX = f"{SCRIPT}__"
CALL_ACTION = "homeassistant__call_action"
TEMPLATES = "Templates are not allowed here: render them first, and call the action with the values."
ALL = "Name the entities: 'all' is not allowed."
_TARGETS = ("entity_id", "device_id", "area_id", "floor_id", "label_id")

_RESTARTS = frozenset({"config__reload_config_entry"})
"""Tools that stop a part of the home for a moment, but are not annotated as destructive."""
_WHOLE_HOUSE = frozenset({"homeassistant__GetLiveContext"})
"""Tools that read all entities that Home Assistant exposes, also those hidden from the user and not shared with us."""
_NEVER_OFFERED = frozenset({"homeassistant__render_template", "search__search"})
"""Tools that read entities that are not exposed, and take no entity that could be checked."""
MCP = "mcp"
"""Home Assistant's client of MCP servers: names, descriptions and annotations of its tools are the server's."""
_OTHERS_WORDS = frozenset({"calendar", "hassio", "system_log", "todo"})
"""Integrations with texts of other people or programs."""


class ApiTool(HomeAgentTool):
    """A tool of another integration."""

    parameters = probatio.Schema({}, extra=probatio.ALLOW_EXTRA)
    """Any arguments: `plan` validates them with the tool's own schema."""

    def __init__(self, tool: llm.Tool, instance: llm.APIInstance, name: str, guide: str | None = None) -> None:
        """Wrap a tool of an API under a new name. `guide` is the API's own prompt."""
        self.name = name
        self.title = tool.title
        self.source = tool.title or ""
        self.description = cleaned(tool.description or "", MAX_DESCRIPTION) or None
        self.annotations = tool.annotations
        self.guide = guide
        self.wire_parameters = probatio.to_openapi(
            tool.parameters,
            custom_serializer=instance.custom_serializer or llm.selector_serializer,
            openapi_version="3.1.0",
        )
        self._tool = tool
        self._instance = instance
        made = type(getattr(tool, "tool", tool))  # inside of Home Assistant's namespace
        said = (tool.name, tool.title, tool.description, self.wire_parameters, tool.annotations)
        described = (made.__module__, made.__qualname__, *said)
        self._version = sha256(repr(described).encode(errors="replace")).hexdigest()[:16]

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan without calls, which only the tool knows. Entities in the arguments are its targets."""
        self.check(hass, args, turn)
        action, reasons = ActionClass.WRITE, tuple[str, ...]()
        if self.annotations.read_only:
            action = ActionClass.READ
        elif self.annotations.destructive or self._tool.name in _RESTARTS:
            reasons = (RESTART if self._tool.name in _RESTARTS else DESTRUCTIVE,)
            action = ActionClass.SENSITIVE
        return Plan(
            action=action,
            targets=tuple(dict.fromkeys(entity_ids_in(hass, args))),
            reasons=reasons,
            subject=self.title or self.name,
            outside=self.annotations.open_world or self._tool.integration in _OTHERS_WORDS,
            version=self._version,
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Call the tool for the turn's user. Raises `ToolRefusal` with the error that it reports."""
        if self._tool.name in _WHOLE_HOUSE:  # titles, or a state that is prose
            reader = await async_reader(hass, turn.user)
            for state in hass.states.async_all():
                if is_exposed(hass, state.entity_id):
                    others = DOMAINS.get(state.domain, UNKNOWN).others_attributes
                    turn.record.taints |= reader.taints_of(state, others)
        tool_input = llm.ToolInput(tool_name=self._tool.name, tool_args=deepcopy(args))
        context = self._instance.llm_context
        asks = replace(context, context=turn.context, language=turn.language, device_id=turn.device_id)
        return plain_result(await self._tool.async_call(hass, tool_input, asks))

    def check(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> None:
        """Raise if the user may not use the API or read all that the tool reads, or for invalid arguments."""
        if needs_admin(self._instance.api) and (turn.user is None or not turn.user.is_admin):
            raise ToolPermissionError(target=self.name)
        if self._tool.name in _WHOLE_HOUSE and (
            is_narrowed(hass) or (turn.user is not None and not turn.user.permissions.access_all_entities(POLICY_READ))
        ):
            raise ToolPermissionError(target=self.name)
        self._tool.parameters(deepcopy(args))


class ApiIntent(ApiTool):
    """A tool that handles an intent, planned entity by entity like a sentence."""

    _tool: llm.IntentTool

    @property
    @override
    def judges_calls(self) -> bool:  # type: ignore[override]
        """Return whether the intent is one of Home Assistant's; an owner's intent script has no annotations."""
        return not self.annotations.open_world

    @property
    @override
    def fails_in_own_words(self) -> bool:  # type: ignore[override]
        """Return whether its handler reaches no device: what a timer cannot do is said by Home Assistant."""
        return self._tool.intent_type in TIMERS | CHANGES_NOTHING

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities that the intent will find, and the calls. Raises `ToolRefusal` without a known entity."""
        slots = _filled(args)
        self.check(hass, slots, turn)
        try:
            plan = plan_of(hass, turn, Recognised(name=self._tool.intent_type, slots=slots))
        except ToolError as err:
            raise no_match(slots) if err.translation_key == "entity_not_found" else err from err
        if isinstance(plan, Mismatch) or not all(may_know(hass, turn.user, entity_id) for entity_id in plan.targets):
            raise no_match(slots)
        if self.annotations.read_only:
            return replace(plan, action=ActionClass.READ, reasons=())
        if not self.judges_calls:
            reasons = tuple(dict.fromkeys((*plan.reasons, DESTRUCTIVE)))
            return replace(plan, action=ActionClass.SENSITIVE, reasons=reasons, subject=self.title or self.name)
        if COMMAND in slots:
            return replace(plan, action=ActionClass.SENSITIVE, reasons=(DELAYED,), subject=str(slots[COMMAND]))
        return plan

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Let Home Assistant handle the intent, with the planned targets; a delayed command comes back to us."""
        slots = pinned(self._tool.intent_type, _filled(args), plan)
        if turn.area_id and "preferred_area_id" in (self._tool.extra_slots or ()):
            slots["preferred_area_id"] = turn.area_id
        try:
            values = {name: {"value": value} for name, value in slots.items()}
            response = await async_handle(hass, turn, self._tool.intent_type, values, text=None, platform=DOMAIN)
        except intent.MatchFailedError as err:  # its words name entities that are not exposed
            raise no_match(slots) from err
        return plain_result(llm.ToolResult(data=llm.IntentResponseDict(response)))


class ApiList(ApiTool):
    """Reads one calendar or list by name. Its schema lists what is not exposed as well: no model is shown that."""

    def __init__(self, tool: llm.Tool, instance: llm.APIInstance, name: str, guide: str | None = None) -> None:
        """Wrap a tool of `PARAMETERS`."""
        super().__init__(tool, instance, name, guide)
        self._parameter, self._domain = PARAMETERS[tool.name]
        properties: dict[str, dict[str, Any]] = self.wire_parameters["properties"]  # type: ignore[assignment]
        properties[self._parameter].pop("enum", None)

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entity with the name as the target. Raises `ToolRefusal` if it is unknown to the user."""
        asked = str(args.get(self._parameter, ""))
        wanted = intent.MatchTargetsConstraints(name=asked, domains=[self._domain], assistant=ASSISTANT)
        found = next(iter(intent.async_match_targets(hass, wanted).states), None)  # like the tool itself
        if found is None or not is_exposed(hass, found.entity_id) or not may_know(hass, turn.user, found.entity_id):
            raise no_match({self._parameter: asked})
        plan = await super().plan(hass, args, turn)
        return replace(plan, targets=(found.entity_id, *plan.targets), outside=self.annotations.open_world)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return what the tool reads; a list that only the home writes is no text from outside."""
        if (state := hass.states.get(plan.targets[0])) is not None:
            turn.record.taints |= (await async_reader(hass, turn.user)).taints_of(state)
        return await super().run(hass, args, plan, turn)


class ApiScript(ApiTool):
    """A tool that runs a script, which must be exposed and permitted itself."""

    entity_id: str

    def __init__(self, tool: llm.Tool, instance: llm.APIInstance, name: str, guide: str | None = None) -> None:
        """Take the script's id from the tool's name."""
        super().__init__(tool, instance, name, guide)
        self.entity_id = f"{SCRIPT}.{tool.name.removeprefix(PREFIX)}"

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the script and the entities in its arguments as targets, which must be exposed."""
        self.check(hass, args, turn)
        refuse_broad_ids(hass, args)
        targets = tuple(dict.fromkeys((self.entity_id, *variables_name(hass, args))))
        run = ServiceCall(domain=SCRIPT, service=self.entity_id.partition(".")[2], entity_ids=(), data=args)
        judged, named = judge(hass, run), judge_named(hass, targets[1:])
        destroys = self.annotations.destructive and not self.annotations.read_only
        reasons = tuple(dict.fromkeys((*judged.reasons, *named.reasons, *((DESTRUCTIVE,) if destroys else ()))))
        return Plan(
            action=ActionClass.SENSITIVE if reasons else ActionClass.WRITE,
            targets=targets,
            reasons=reasons,
            sensitive=(self.entity_id, *(targets[1:] if named.reasons else ())) if reasons else (),
            reach=judged.reach + named.reach,
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Run the script. A response counts as text from outside."""
        result = await super().run(hass, args, plan, turn)
        answer = result.get("result") if isinstance(result, dict) else result
        if answer:
            turn.record.taints.add(self.name)
        return result


class ApiAction(ApiTool):
    """The administration API's tool that calls any action, planned as that action."""

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the call on its final targets. Raises `ToolRefusal` for targets that are not known yet."""
        self.check(hass, args, turn)
        if any(is_template_string(text) for text in texts_in(args)):
            raise ToolRefusal(TEMPLATES)
        domain, _, service = str(args["action"]).partition(".")
        if domain == DOMAIN:  # a model must not confirm by itself, nor ask itself
            raise ToolPermissionError(target=self.name)
        data = dict(args.get("data") or {})
        target = {**{key: data.pop(key) for key in _TARGETS if key in data}, **dict(args.get("target") or {})}
        if any(text.strip().casefold() == ENTITY_MATCH_ALL for text in texts_in(target.get("entity_id"))):
            raise ToolRefusal(ALL)
        selected = async_extract_referenced_entity_ids(hass, TargetSelection(target))
        called = tuple(sorted({*selected.referenced, *selected.indirectly_referenced}))
        call = ServiceCall(domain=domain, service=service, entity_ids=called, data=data)
        passed = tuple(dict.fromkeys(entity_ids_in(hass, data)))
        judged, named = judge(hass, call), judge_named(hass, passed)
        reasons = tuple(dict.fromkeys((*judged.reasons, *named.reasons))) or (DESTRUCTIVE,)
        by_entities = not is_sensitive_service(domain, service) and bool(judged.reasons or named.reasons)
        return Plan(
            action=ActionClass.SENSITIVE,
            targets=tuple(dict.fromkeys((*call.entity_ids, *passed))),
            effects=(call,),
            reasons=reasons,
            sensitive=(*call.entity_ids, *(passed if named.reasons else ())) if by_entities else (),
            reach=judged.reach + named.reach,
            subject=f"{domain}.{service}",
            outside=self.annotations.open_world,
        )


class ApiRemoteTool(ApiTool):
    """A tool of Home Assistant's MCP integration: of its annotations only `read_only` is believed."""

    is_named_elsewhere = True

    def __init__(self, tool: llm.Tool, instance: llm.APIInstance, name: str, guide: str | None = None) -> None:
        """Keep `read_only` of the annotations."""
        super().__init__(tool, instance, name, guide)
        reads = tool.annotations.read_only
        self.annotations = llm.ToolAnnotations(
            read_only=reads, destructive=not reads, idempotent=False, open_world=True
        )


def needs_admin(api: llm.API) -> bool:
    """Return whether only administrators may use an API; releases before 2026.11 have no such API."""
    return bool(getattr(api, "requires_admin", False))


def _filled(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without empty ones, like Home Assistant."""
    is_blank: Callable[[Any], bool] = intent.is_blank_slot_value
    return {name: value for name, value in args.items() if not is_blank(value)}


def no_match(slots: Mapping[str, Any]) -> ToolRefusal:
    """Return the refusal for arguments that match no known entity."""
    return ToolRefusal(NO_MATCH.format(what=", ".join(f"{name} {value}" for name, value in slots.items()) or "this"))


class ApiTools:
    """Tools of Assist, of scripts, of Home Assistant's MCP client and of other integrations."""

    names = ()  # which there are depends on who asks
    revision = 0

    def __init__(self, hass: HomeAssistant) -> None:
        """Start without failures."""
        self._hass = hass
        self._outages = Outages()

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tools of the profile's APIs; an API that is missing or fails is left out."""
        if not profile.llm_apis:
            return ()
        known = self.known()
        gone = ", ".join(api_id for api_id in profile.llm_apis if api_id not in known)
        key = issues.LLM_API_MISSING
        issues.async_set(self._hass, key, profile.subentry_id, bool(gone), profile=profile.name, apis=gone)
        return await self.async_of(profile.llm_apis, llm_context)

    def known(self) -> dict[str, llm.API]:
        """Return the registered APIs by id, without our own."""
        return {api.id: api for api in llm.async_get_apis(self._hass) if not api.id.startswith(DOMAIN)}

    async def async_of(self, api_ids: Iterable[str], llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tools of these APIs, without those that the user may not use or that fail."""
        known = self.known()
        user_id = llm_context.context.user_id if llm_context.context else None
        user = await self._hass.auth.async_get_user(user_id) if user_id else None
        is_admin = user is not None and user.is_admin
        instances: list[llm.APIInstance] = []
        for api_id in api_ids:
            if (api := known.get(api_id)) is None or (needs_admin(api) and not is_admin):
                continue
            asked = llm.async_get_api(self._hass, api.id, llm_context)
            instance = await self._outages.async_answer(f"The tools of {api.name}", TIMEOUT, asked)
            if instance is not None:
                instances.append(instance)
        return wrapped(instances)


def stable_guide(instance: llm.APIInstance) -> str | None:
    """Return the part of an API's instructions that is the same in each turn; None if it is empty."""
    text = instance.api_prompt
    for part in _HOW_TO_READ:
        text = text.replace(part, "")
    text = _DEVICE.sub("", _INVENTORY.sub("", text)).strip()
    return cleaned(text, MAX_GUIDE) if text else None


def wrapped(instances: Iterable[llm.APIInstance]) -> list[HomeAgentTool]:
    """Return the tools of all instances in our form, with valid and unique names.

    As in Home Assistant, equal tools are one, and others of the same name get their API's name as a prefix. A tool of an MCP
    server never takes or changes another tool's name.
    """
    named: dict[tuple[bool, str], list[tuple[llm.APIInstance, str | None, llm.Tool]]] = {}
    for instance in instances:
        guide = stable_guide(instance)
        for tool in instance.tools:
            while isinstance(tool, llm.NamespacedTool):
                tool = tool.tool
            is_remote = tool.integration == MCP
            if not is_remote and tool.name in _NEVER_OFFERED:
                continue
            name = remote_name_from(tool.name) if is_remote else tool_name_from(tool.name)
            sharing = named.setdefault((is_remote, name), [])
            if all(other != tool for *_, other in sharing):
                sharing.append((instance, guide, tool))
    tools: dict[str, HomeAgentTool] = {}
    for (is_remote, name), sharing in sorted(named.items(), key=lambda item: item[0][0]):
        for instance, guide, tool in sharing:
            unique, api_id = name, slugify(instance.api.id)
            if is_remote and (len(sharing) > 1 or name in tools or means_more(name)):
                unique = remote_name_from(f"{api_id}_{tool.name}")
            elif len(sharing) > 1:
                unique = tool_name_from(f"{api_id}__{tool.name}")
            free = free_name(unique, tools)
            if free and (made := wrap(instance, guide, tool, free)) is not None:
                tools[free] = made
    return [*tools.values()]


def wrap(instance: llm.APIInstance, guide: str | None, tool: llm.Tool, name: str) -> HomeAgentTool | None:
    """Return a tool in our form; None if its schema cannot be converted."""
    kind = ApiTool
    if tool.integration == MCP:
        kind = ApiRemoteTool
    elif isinstance(tool, llm.IntentTool):
        kind = ApiIntent
    elif tool.name in PARAMETERS:
        kind = ApiList
    elif tool.integration == SCRIPT and tool.name.startswith(PREFIX):
        kind = ApiScript
    elif tool.name == CALL_ACTION:
        kind = ApiAction
    try:
        return kind(tool, instance, name, guide)
    except Exception:  # noqa: BLE001 - code of another integration: any error leaves out this tool only
        LOGGER.exception("The tool %s of %s is left out", tool.name, instance.api.name)
        return None
