"""Handler `service`: an action of Home Assistant (S1-51).

Which action it is stands in the owner's text; what a model passes becomes its data and its targets. Every entity in them
has to be exposed and one that the user may control (lesson: `automation.trigger`, scripts and scenes reach far).
"""

from collections.abc import Iterator, Mapping
from typing import Any, override

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import DOMAIN as HOMEASSISTANT_DOMAIN, HomeAssistant, SupportsResponse
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.util.json import JsonValueType
import probatio

from ..errors import CustomToolError
from ..safety.plan import ActionClass, Plan, ServiceCall
from ..safety.rules import DESTRUCTIVE
from ..safety.tool import ToolRefusal
from ..safety.write import Made
from ..tools.broad_ids import refuse_broad_ids
from ..tools.execute import async_execute
from ..tools.sensitive import sensitivities
from ..tools.sensitive_services import is_sensitive_service
from ..turn import Turn
from .definition import CustomTool, Definition, Handler, Kit, annotations_of
from .outcome import OUTCOME, Outcome, outcome_from
from .reply import readable
from .targets import KEYS, Reached, reached
from .templates import Tree, Values, as_json, compile_tree, render_tree

SCRIPT = "script"
PROGRAMS = frozenset({"shell_command", "python_script", "pyscript"})
"""Domains whose services run a program (S1-52)."""
_SCRIPT_SERVICES = frozenset({"turn_on", "turn_off", "toggle", "reload"})
"""Services of `script` that are not scripts."""

SCHEMA = probatio.Schema(
    {
        probatio.Required("type"): "service",
        probatio.Required("service"): str,
        probatio.Optional("data", default=dict): dict,
        probatio.Optional("target", default=dict): {probatio.In(KEYS): probatio.Any(str, [str])},
        probatio.Optional("return_response", default=False): bool,
        **OUTCOME,
    }
)


class ServiceTool(CustomTool):
    """Calls one service."""

    def __init__(
        self, definition: Definition, kit: Kit, data: Mapping[str, Tree], target: Mapping[str, Tree], outcome: Outcome
    ) -> None:
        """Take what it is called with."""
        self._domain, _, self._service = definition.handler["service"].partition(".")
        destroys = is_sensitive_service(self._domain, self._service)
        super().__init__(definition, annotations_of(definition, reads=False, destroys=destroys))
        self._spared = definition.destructive is False
        self._kit = kit
        self._data = data
        self._target = target
        self._outcome = outcome
        self._wants_response = bool(
            definition.handler["return_response"] or definition.handler.keys() & {"response", "response_path"}
        )

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the call on its final targets. Raises `ToolError` when there are none, or some that must not be."""
        self.check_current()
        returns_response = self._returns_response(hass)
        if self._domain == SCRIPT:
            refuse_broad_ids(hass, args)
        values = Values(args)
        data = _object(render_tree({**self._data}, values))
        target = _object(render_tree({**self._target}, values))
        wanted = {key: value for key, value in data.items() if key in KEYS} | target
        data = {key: value for key, value in data.items() if key not in KEYS}
        found = reached(hass, turn.user, self._domain, wanted, data)
        if not found.called and (self._target or self._data.keys() & KEYS):
            raise ToolRefusal("No target was named.")
        call = ServiceCall(
            domain=self._domain,
            service=self._service,
            entity_ids=found.called,
            data=data,
            returns_response=returns_response,
        )
        reasons = tuple(dict.fromkeys(self._reasons(hass, call, found)))
        return Plan(
            action=ActionClass.SENSITIVE if reasons else self.action,
            targets=tuple(
                dict.fromkeys((*found.called, *found.behind, *found.named, *self._itself(), *sorted(values.entities)))
            ),
            calls=(call,),
            reason=next(iter(reasons), None),
            reasons=reasons,
            version=self.version,
            outside=returns_response,
        )

    def _reasons(self, hass: HomeAssistant, call: ServiceCall, found: Reached) -> Iterator[str]:
        """Yield why the call needs the owner's yes. What unlocks or opens does, whatever the owner says of the tool."""
        # What an action does with entities in its data is not known (a scene may unlock): it counts as the most it can be.
        named = ServiceCall(domain=HOMEASSISTANT_DOMAIN, service="toggle", entity_ids=found.named)
        for reason in (*sensitivities(hass, call), *sensitivities(hass, named)):
            if reason != DESTRUCTIVE or not self._spared:
                yield reason
        if self.annotations.destructive:
            yield DESTRUCTIVE

    def _itself(self) -> tuple[str, ...]:
        """Return the script that is called by its own name."""
        is_script = self._domain == SCRIPT and self._service not in _SCRIPT_SERVICES
        return (f"script.{self._service}",) if is_script else ()

    def _returns_response(self, hass: HomeAssistant) -> bool:
        if not hass.services.has_service(self._domain, self._service):
            raise ToolRefusal(f"{self._domain}.{self._service} does not exist at the moment.")
        match hass.services.supports_response(self._domain, self._service):
            case SupportsResponse.ONLY:
                return True
            case SupportsResponse.OPTIONAL:
                return self._wants_response
        return False

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType | Made:
        """Make the call; return the new states, or the response."""
        [call] = plan.calls
        mask = self._kit.secrets.mask
        try:
            if call.entity_ids and not call.returns_response:
                made = await async_execute(hass, plan.calls, turn.context)
                return Made(tell=lambda effects: mask.json(made.tell(effects)), failed=made.failed)
            response = await hass.services.async_call(
                call.domain,
                call.service,
                dict(call.data),
                blocking=True,
                context=turn.context,
                target={ATTR_ENTITY_ID: list(call.entity_ids)} if call.entity_ids else None,
                return_response=call.returns_response,
            )
        except Unauthorized:
            raise
        except (HomeAssistantError, probatio.Invalid) as err:
            raise ToolRefusal(mask.text(str(err))) from None
        if not call.returns_response:
            return {"done": f"{call.domain}.{call.service}"}
        return self._outcome.of(hass, turn, args, readable(as_json(response)), 200, mask)


def _object(value: JsonValueType) -> dict[str, JsonValueType]:
    assert isinstance(value, dict)  # a mapping stays one
    return value


def build(definition: Definition, kit: Kit) -> ServiceTool:
    """Make the tool. Raises `CustomToolError`."""
    handler = definition.handler
    domain, _, service = handler["service"].partition(".")
    if domain in PROGRAMS:
        raise CustomToolError("custom_tool_script", ("handler", "service"), type=domain)
    if not domain.isidentifier() or not service.isidentifier():
        raise CustomToolError("custom_tool_service", ("handler", "service"), service=handler["service"])

    def compiled(key: str) -> dict[str, Tree]:
        tree = compile_tree(kit.templates, handler[key], definition.names, ("handler", key))
        assert isinstance(tree, dict)
        return tree

    return ServiceTool(
        definition, kit, compiled("data"), compiled("target"), outcome_from(handler, kit, definition.names)
    )


HANDLER = Handler(schema=SCHEMA, build=build)
