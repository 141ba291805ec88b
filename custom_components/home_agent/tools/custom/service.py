"""Handler `service`: an action of Home Assistant, whose data and targets a model's arguments become.

All entities in them must be exposed, and the user must be allowed to control them: `automation.trigger`, scripts and scenes reach far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, override

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.const import ENTITY_MATCH_ALL, ENTITY_MATCH_NONE
from homeassistant.core import HomeAssistant, SupportsResponse, split_entity_id, valid_entity_id
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.util.json import JsonValueType
import probatio

from ...home.actions import TARGET_KEYS, is_open, reached_members
from ...home.contents import SCRIPT, SCRIPT_SERVICES
from ...home.exposure import is_exposed
from ...home.judgement import judge, judge_named
from ...home.targets import entity_ids_in, refuse_broad_ids, variables_name
from ...home.telling_names import is_sensitive_service
from ...policy.tool import PendingResult
from ...policy.write import async_execute
from ...support.errors import CustomToolError, DidNotRun, ToolError, ToolRefusal
from ...turn.plan import DESTRUCTIVE, ActionClass, Plan, ServiceCall
from ...turn.turn import Turn
from ..sanitize import cleaned_json
from .definition import OUTCOME, CustomTool, Definition, ToolContext, outcome_from
from .templates import Values, as_json, compile_tree, render_tree

PLACES = ("area_id", "device_id", "floor_id", "label_id")
KEYS = frozenset({"entity_id", *PLACES})
"""Keys of targets, in `target` and at the top level of `data`."""

PROGRAMS = frozenset({"shell_command", "python_script", "pyscript"})
"""Domains whose services run a program."""
_EVERYTHING = frozenset({ENTITY_MATCH_ALL, ENTITY_MATCH_NONE, "*"})
_ANY_DOMAIN = frozenset({"homeassistant"})  # domains whose services take entities of all domains
ONE_BY_ONE = "Name the targets one by one."


def reached(
    hass: HomeAssistant, user: User | None, domain: str, wanted: Mapping[str, Any], data: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the targets of a call, the members of groups among them, and the entities elsewhere in its data.

    `wanted` are the target keys, `data` is the rest. Areas, floors, devices and labels are resolved now, so that the checked
    entities are the called ones. Raises `ToolError` for unknown ids and for places without exposed entities; the policy checks
    single entities, with the same answer.
    """
    _check_inside(data)
    if domain == "script" and ENTITY_MATCH_ALL in variables_name(hass, data):
        raise ToolRefusal(ONE_BY_ONE)
    called: dict[str, None] = {}
    for text in _texts(wanted.get("entity_id")):
        if not valid_entity_id(entity_id := text.casefold()):
            raise ToolError("entity_not_found", target=text)
        called[entity_id] = None
    places = {key: _texts(wanted[key]) for key in PLACES if wanted.get(key) is not None}
    if places:
        called |= dict.fromkeys(_inside(hass, user, domain, places))
    behind = tuple(member for entity_id in called for member in reached_members(hass, entity_id))
    named = variables_name(hass, data) if domain == SCRIPT else entity_ids_in(hass, data)
    return tuple(called), behind, tuple(dict.fromkeys(named))


def _texts(value: object) -> list[str]:
    """Return the ids in a text with commas or a list. Raises `ToolRefusal` for `all`."""
    parts = value.split(",") if isinstance(value, str) else [] if value is None else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ToolRefusal("A target is not text.")
    found = [part.strip() for part in parts if part.strip()]
    if any(text.casefold() in _EVERYTHING for text in found):
        raise ToolRefusal(ONE_BY_ONE)
    return found


def _inside(hass: HomeAssistant, user: User | None, domain: str, places: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the exposed entities in areas, floors, devices and labels that the service can control."""
    selected = async_extract_referenced_entity_ids(hass, TargetSelection(dict(places)), expand_group=False)
    found = [
        entity_id
        for entity_id in sorted(selected.indirectly_referenced)
        if domain in (*_ANY_DOMAIN, split_entity_id(entity_id)[0])
        and is_exposed(hass, entity_id)
        and is_open(hass, entity_id)
        and (user is None or user.permissions.check_entity(entity_id, POLICY_CONTROL))
    ]
    if not found:
        raise ToolError("entity_not_found", target=", ".join(text for texts in places.values() for text in texts))
    return found


def _check_inside(value: object, key: str = "") -> None:
    """Raise `ToolRefusal` if data has other targets inside than single entities."""
    match value:
        case str() if key in TARGET_KEYS and value.strip().casefold() in _EVERYTHING:
            raise ToolRefusal(ONE_BY_ONE)
        case Mapping():
            for name, item in value.items():
                if str(name).casefold() in PLACES:
                    raise ToolRefusal(f"{name} is not allowed inside of data.")
                _check_inside(item, str(name).casefold())
        case list():
            for item in value:
                _check_inside(item, key)


class ServiceTool(CustomTool):
    """Calls one service."""

    schema = probatio.Schema(
        {
            probatio.Required("type"): "service",
            probatio.Required("service"): str,
            probatio.Optional("data", default=dict): dict,
            probatio.Optional("target", default=dict): {probatio.In(KEYS): probatio.Any(str, [str])},
            probatio.Optional("return_response", default=False): bool,
            **OUTCOME,
        }
    )

    def __init__(self, definition: Definition, tool_context: ToolContext) -> None:
        """Compile data, target and result."""
        handler = definition.handler
        self._domain, _, self._service = handler["service"].partition(".")
        if self._domain in PROGRAMS:
            raise CustomToolError("custom_tool_script", ("handler", "service"), type=self._domain)
        if not self._domain.isidentifier() or not self._service.isidentifier():
            raise CustomToolError("custom_tool_service", ("handler", "service"), service=handler["service"])
        super().__init__(definition, tool_context, destroys=is_sensitive_service(self._domain, self._service))
        self._spared = definition.destructive is False
        self._names_targets = bool(handler["target"] or handler["data"].keys() & KEYS)
        self._data, self._target = (
            compile_tree(tool_context.templates, handler[key], definition.names, ("handler", key))
            for key in ("data", "target")
        )
        self._outcome = outcome_from(handler, tool_context, definition.names)
        self._wants_response = bool(handler["return_response"] or handler.keys() & {"response", "response_path"})

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the call on its final targets. Raises `ToolError` for missing or forbidden targets."""
        self.check_current()
        returns_response = self._returns_response(hass)
        if self._domain == SCRIPT:
            refuse_broad_ids(hass, args)
        values = Values(args)
        data, target = render_tree(self._data, values), render_tree(self._target, values)
        assert isinstance(data, dict)  # mappings stay such
        assert isinstance(target, dict)
        wanted = {key: value for key, value in data.items() if key in KEYS} | target
        data = {key: value for key, value in data.items() if key not in KEYS}
        called, behind, named = reached(hass, turn.user, self._domain, wanted, data)
        if self._names_targets and not called:
            raise ToolRefusal("No target is named.")
        call = ServiceCall(
            domain=self._domain, service=self._service, entity_ids=called, data=data, returns_response=returns_response
        )
        judged, besides = judge(hass, call), judge_named(hass, named)
        # What unlocks or opens always needs a yes, even if the owner says that the tool is harmless.
        by_entities = [why for why in (*judged.reasons, *besides.reasons) if why != DESTRUCTIVE or not self._spared]
        is_sensitive = is_sensitive_service(call.domain, call.service) and not self._spared
        by_name = (DESTRUCTIVE,) if self.annotations.destructive or is_sensitive else ()
        reasons = tuple(dict.fromkeys((*by_entities, *by_name)))
        is_script = self._domain == SCRIPT and self._service not in SCRIPT_SERVICES
        script = (f"{SCRIPT}.{self._service}",) if is_script else ()  # called by its own name
        return Plan(
            action=ActionClass.SENSITIVE if reasons else self.action,
            targets=tuple(dict.fromkeys((*called, *behind, *named, *script, *sorted(values.entities)))),
            effects=(call,),
            reasons=reasons,
            sensitive=() if by_name else (*(called or script), *(named if besides.reasons else ())),
            reach=judged.reach + besides.reach,
            version=self.version,
            outside=returns_response,
        )

    def _returns_response(self, hass: HomeAssistant) -> bool:
        if not hass.services.has_service(self._domain, self._service):
            raise ToolRefusal(f"{self._domain}.{self._service} does not exist now.")
        match hass.services.supports_response(self._domain, self._service):
            case SupportsResponse.ONLY:
                return True
            case SupportsResponse.OPTIONAL:
                return self._wants_response
        return False

    @override
    async def run(
        self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn
    ) -> JsonValueType | PendingResult:
        """Call the action; return the new states, or the response."""
        [call] = cast(Sequence[ServiceCall], plan.effects)
        mask = self._tool_context.secrets.mask
        try:
            if call.entity_ids and not call.returns_response:
                pending = await async_execute(hass, plan.effects, turn.context)
                return replace(pending, render=lambda outcomes: mask.json(pending.render(outcomes)))
            response = await hass.services.async_call(
                call.domain,
                call.service,
                dict(call.data),
                blocking=True,
                context=turn.context,
                target={"entity_id": list(call.entity_ids)} if call.entity_ids else None,
                return_response=call.returns_response,
            )
        except Unauthorized, DidNotRun:
            raise
        except (HomeAssistantError, probatio.Invalid) as err:
            raise ToolRefusal(mask.text(str(err))) from None
        if not call.returns_response:
            return {"done": f"{call.domain}.{call.service}"}
        return self._outcome.of(hass, turn, args, cleaned_json(as_json(response)), 200, mask)
