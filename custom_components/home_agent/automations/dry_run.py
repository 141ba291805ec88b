"""Actions without calling: what would be called, with which data, on which entities."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from homeassistant.core import HomeAssistant, State
from homeassistant.exceptions import TemplateError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.script_variables import ScriptVariables
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, json_loads_object
import probatio

from ..home.states import Knows
from ..support.encoding import dump, plain_text
from ..support.masking import CODE, MASK
from .draft import AutomationDraft
from .past import NotReplayable, past_home, quiet
from .past_conditions import async_past_condition
from .recorded import copied
from .rendering import NotRendered, Rendering
from .switched import is_switched_on
from .timeline import Timeline

MAX_CALLS = 100
MAX_ENTITIES = 50  # of one call that are told
MAX_DATA = 2_000  # characters of JSON
_MAX_REPEATS = 3  # of a `repeat` that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class DryCall:
    """One action."""

    path: str
    """Where it is written: `actions[0].then[1]`."""
    action: str = ""
    """The service that would be called; empty for an action that calls none."""
    entity_ids: tuple[str, ...] = ()
    data: JsonObjectType = field(default_factory=dict)
    note: str = ""
    """What else a model is told of it."""
    acts: bool = False
    """Whether something is done there, or may be: what is not known here counts."""


async def async_dry_run(
    hass: HomeAssistant,
    what: AutomationDraft | Sequence[Any],
    variables: Mapping[str, Any],
    *,
    knows: Knows,
    states: Timeline | None = None,
) -> list[DryCall]:
    """Return what actions, normalized by Home Assistant, would do now, or at the end of a timeline. Nothing is called."""
    with past_home(hass) as home, quiet():
        if states is None:
            live = {state.entity_id: state for state in hass.states.async_all() if knows(state.entity_id)}
            home.states.current = {entity_id: copied(state, live) for entity_id, state in live.items()}
            home.clock.set(dt_util.utcnow())
        else:
            home.states.current = states.states_at(states.until)
            home.clock.set(states.until)
        home.states.known = frozenset(home.states.current)
        home.loop = hass.loop  # what takes too long is stopped in a thread of its own
        run = _DryRun(hass, Rendering(hass, home), home, knows)
        known = {"context": {"id": "", "parent_id": None, "user_id": None}, **variables}
        if "trigger" not in variables:
            run.rendering.unknown["trigger"] = "it depends on the trigger: give one"
        if isinstance(what, AutomationDraft):
            for key in ("trigger_variables", "variables"):
                if isinstance(found := what.normalized.get(key), ScriptVariables):
                    known |= await run.rendering.async_variables(found, known)
        actions = what.actions if isinstance(what, AutomationDraft) else what
        await run.async_sequence(actions, "actions", known)
        return run.calls[:MAX_CALLS]


class _DryRun:
    """One walk through actions."""

    def __init__(self, hass: HomeAssistant, rendering: Rendering, home: Any, knows: Knows) -> None:
        """Take what renders."""
        self._hass = hass
        self._home = home
        self._knows = knows
        self.rendering = rendering
        self.calls: list[DryCall] = []

    def _tell(self, path: str, note: str, **more: Any) -> None:
        if len(self.calls) <= MAX_CALLS:
            self.calls.append(DryCall(path=path, note=note, **more))

    async def async_sequence(self, actions: Sequence[Any], path: str, variables: dict[str, Any]) -> bool:
        """Walk through actions; return whether the run goes on after them."""
        for number, action in enumerate(actions):
            if len(self.calls) >= MAX_CALLS:
                return False
            if not await self._async_action(action, f"{path}[{number}]", variables):
                return False
        return True

    async def _async_action(self, action: Any, path: str, variables: dict[str, Any]) -> bool:
        if (is_on := is_switched_on(action)) is False:
            self._tell(path, "It is switched off.")
            return True
        if is_on is None:
            self._tell(path, "A template decides whether it is switched on; it is shown as if it were.")
        kind = "condition" if isinstance(action, Template) else cv.determine_script_action(action)
        walk = getattr(self, f"_async_{kind}", None)
        try:
            if walk is None:
                self._tell(path, f"What '{kind}' comes to is not known here.", acts=True)
                return True
            return await walk(action, path, variables) is not False
        except NotRendered as err:
            self._tell(path, f"Not rendered: {err}.", acts=True)
        except (probatio.Invalid, TemplateError, ValueError, TypeError, NotReplayable) as err:
            self._tell(path, f"It fails: {plain_text(str(err))[:200]}", acts=True)
        return True

    async def _async_call_service(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        name = str(await self.rendering.async_value(action["action"], variables))
        notes: list[str] = []
        data: dict[str, Any] = {}
        for key in ("data", "service_data", "data_template"):
            for field_name, value in (action.get(key) or {}).items():
                try:
                    data[field_name] = await self.rendering.async_value(value, variables)
                except NotRendered as err:
                    notes.append(f"'{field_name}' is not rendered: {err}")
        target = await self.rendering.async_value(action.get("target") or {}, variables)
        if isinstance(target, Mapping):
            data_target = {
                key: data.pop(key)
                for key in ("entity_id", "device_id", "area_id", "floor_id", "label_id")
                if key in data
            }
            target = {**data_target, **target}
        entity_ids, unknown = self._entities(target)
        notes += [f"{one} is not known" for one in unknown]
        domain, _, service = name.partition(".")
        if not self._hass.services.has_service(domain, service):
            notes.append(f"the action {name} does not exist now")
        if (response := action.get("response_variable")) is not None:
            self.rendering.unknown[response] = (
                f"it depends on '{response}', the response of {name}, which only a call gives"
            )
            notes.append(f"its response '{response}' is unknown")
        self._tell(path, "; ".join(notes), action=name, entity_ids=entity_ids, data=shown_data(data), acts=True)

    def _entities(self, target: Any) -> tuple[tuple[str, ...], list[str]]:
        """Return the entities of a target that may be known, and the names of others that it has itself."""
        if not isinstance(target, Mapping) or not target:
            return (), []
        listed = {key: [value] if isinstance(value, str) else list(value or ()) for key, value in target.items()}
        named = [one.strip() for text in listed.get("entity_id", ()) for one in str(text).split(",")]
        if named == ["all"]:
            return ("all",), []
        unknown = [one for one in named if one not in self._home.states.current and one != "none"]
        found = async_extract_referenced_entity_ids(self._hass, TargetSelection({**listed, "entity_id": named}))
        reached = sorted(found.referenced | found.indirectly_referenced)
        return tuple(one for one in reached if one in self._home.states.current)[:MAX_ENTITIES], unknown

    async def _async_condition(self, action: Any, path: str, variables: dict[str, Any]) -> bool:
        result, because = await self._async_check([action], variables)
        if result is None:
            self._tell(
                path, f"Whether this condition is true is not known: {because}. What follows is shown as if it were."
            )
            return True
        self._tell(path, f"The condition is {'true' if result else 'false: it stops here'} ({because}).")
        return result

    async def _async_check(self, conditions: Sequence[Any], variables: Mapping[str, Any]) -> tuple[bool | None, str]:
        """Return whether conditions are true, None if that is not known, and what is so."""
        told: list[str] = []
        for condition in conditions:
            try:
                await self.rendering.async_check_time(condition, variables)
                checked = await async_past_condition(self._home, condition, "")
                checked.begin()
                answer = await self._hass.async_add_executor_job(partial(checked.check, variables))
            except (NotRendered, NotReplayable, TemplateError) as err:
                return None, str(err)
            told.append(answer.because)
            if answer.result is False:
                return False, answer.because
        return True, " and ".join(filter(None, told))

    async def _async_choose(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> bool:
        for number, choice in enumerate(action["choose"]):
            here = f"{path}.choose[{number}]"
            result, because = await self._async_check(choice["conditions"], variables)
            if result is None:
                self._tell(here, f"Whether this branch is taken is not known: {because}.", acts=True)
                return True
            if result:
                self._tell(here, f"This branch is taken ({because}).")
                return await self.async_sequence(choice["sequence"], f"{here}.sequence", variables)
        self._tell(path, "No branch is taken" + (", but the default." if action.get("default") else "."))
        return await self.async_sequence(action.get("default") or (), f"{path}.default", variables)

    async def _async_if(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> bool:
        result, because = await self._async_check(action["if"], variables)
        if result is None:
            self._tell(path, f"Whether 'then' or 'else' is done is not known: {because}.", acts=True)
            return True
        branch = "then" if result else "else"
        self._tell(path, f"'{branch}' is done ({because}).")
        return await self.async_sequence(action.get(branch) or (), f"{path}.{branch}", variables)

    async def _async_repeat(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        repeat = action["repeat"]
        items: Sequence[Any] = range(1)
        if "count" in repeat:
            items = range(int(float(await self.rendering.async_value(repeat["count"], variables))))
            self._tell(path, f"It is repeated {len(items)} times.")
        elif "for_each" in repeat:
            found = await self.rendering.async_value(repeat["for_each"], variables)
            items = found if isinstance(found, list) else []
            self._tell(path, f"It is repeated for {len(items)} items.")
        elif "while" in repeat:
            result, because = await self._async_check(repeat["while"], variables)
            self._tell(path, f"It is repeated while a condition is true; now it is {result} ({because}).")
            items = range(1 if result is not False else 0)
        else:
            self._tell(path, "It is repeated until a condition is true.")
        for index, item in enumerate(items[:_MAX_REPEATS]):
            inner = {
                **variables,
                "repeat": {"index": index + 1, "first": index == 0, "last": index + 1 == len(items), "item": item},
            }
            if not await self.async_sequence(repeat["sequence"], f"{path}.repeat.sequence", inner):
                return

    async def _async_parallel(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        for number, branch in enumerate(action["parallel"]):
            if await self.rendering.async_value(branch.get("enabled", True), {}):
                await self.async_sequence(branch["sequence"], f"{path}.parallel[{number}]", dict(variables))

    async def _async_sequence(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> bool:
        return await self.async_sequence(action["sequence"], f"{path}.sequence", variables)

    async def _async_delay(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        wait = cv.positive_time_period(await self.rendering.async_value(action["delay"], variables))
        self._tell(path, f"It waits {wait}; what follows is shown as if it were now.")

    async def _async_wait_template(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        self.rendering.unknown["wait"] = "it depends on what it waited for"
        self._tell(path, "It waits until a template is true; what follows is shown as if it were now.")

    async def _async_wait_for_trigger(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        self.rendering.unknown["wait"] = "it depends on the trigger that it waited for"
        self._tell(path, "It waits for a trigger; what follows is shown as if it were now.")

    async def _async_variables(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        variables |= await self.rendering.async_variables(action["variables"], variables)

    async def _async_event(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        data = await self.rendering.async_value(
            {**action.get("event_data", {}), **action.get("event_data_template", {})}, variables
        )
        self._tell(path, f"It fires the event {action['event']}.", data=shown_data(data), acts=True)

    async def _async_scene(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        self._tell(
            path, "", action="scene.turn_on", entity_ids=tuple(filter(self._knows, [str(action["scene"])])), acts=True
        )

    async def _async_device(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> None:
        entity_id = str(action.get("entity_id") or "")
        self._tell(
            path,
            f"The device does '{action.get('type', 'its action')}'.",
            action=f"{action.get('domain', 'device')}.{action.get('type', 'action')}",
            entity_ids=(entity_id,) if entity_id in self._home.states.current else (),
            acts=True,
        )

    async def _async_stop(self, action: Mapping[str, Any], path: str, variables: dict[str, Any]) -> bool:
        self._tell(path, "It stops here.")
        return False

    async def _async_set_conversation_response(
        self, action: Mapping[str, Any], path: str, variables: dict[str, Any]
    ) -> None:
        self._tell(path, "It sets what is answered.", acts=True)


def shown_data(data: object, most: int = MAX_DATA) -> JsonObjectType:
    """Return data of a call as bounded JSON, without what a secret may stand in."""
    with suppress(ValueError):
        text = dump(_masked(data))
        if len(text) <= most:
            return json_loads_object(text)
    return {"note": "It is too long to be shown."}


def _masked(value: Any) -> Any:
    match value:
        case Mapping():
            return {
                str(key): MASK if _is_secret(str(key)) and not isinstance(item, (Mapping, bool)) else _masked(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_masked(item) for item in value]
        case State():
            return {"entity_id": value.entity_id, "state": value.state}
    return value


def _is_secret(key: str) -> bool:
    return CODE.fullmatch(key) is not None or any(
        part in key.casefold() for part in ("password", "token", "secret", "api_key")
    )
