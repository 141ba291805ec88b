"""Everything that a draft does and names, each with its path: its triggers, conditions and actions at every depth, and what they refer to.

What is walked is the automation as Home Assistant normalizes it, so blueprints are expanded and short forms written out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from homeassistant.core import split_entity_id, valid_entity_id
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.script_variables import ScriptVariables
from homeassistant.helpers.template import Template

from .loop_ends import may_end
from .switched import is_switched_on

if TYPE_CHECKING:
    from .draft import AutomationDraft

MAX_DEPTH = 40
"""Levels of values in values that are looked into; Home Assistant's own recursion ends far above."""

ACTION_KINDS = frozenset(
    {
        cv.SCRIPT_ACTION_ACTIVATE_SCENE, cv.SCRIPT_ACTION_CALL_SERVICE, cv.SCRIPT_ACTION_CHECK_CONDITION, cv.SCRIPT_ACTION_CHOOSE,
        cv.SCRIPT_ACTION_DELAY, cv.SCRIPT_ACTION_DEVICE_AUTOMATION, cv.SCRIPT_ACTION_FIRE_EVENT, cv.SCRIPT_ACTION_IF,
        cv.SCRIPT_ACTION_PARALLEL, cv.SCRIPT_ACTION_REPEAT, cv.SCRIPT_ACTION_SEQUENCE,
        cv.SCRIPT_ACTION_SET_CONVERSATION_RESPONSE, cv.SCRIPT_ACTION_STOP, cv.SCRIPT_ACTION_VARIABLES,
        cv.SCRIPT_ACTION_WAIT_FOR_TRIGGER, cv.SCRIPT_ACTION_WAIT_TEMPLATE,
    }
)  # fmt: skip
"""The kinds of actions of which it is known what they do; any other is refused."""
TRIGGER_KINDS = frozenset(
    {
        "calendar", "conversation", "device", "event", "geo_location", "homeassistant", "mqtt", "numeric_state",
        "persistent_notification", "state", "sun", "tag", "template", "time", "time_pattern", "webhook", "zone",
    }
)  # fmt: skip
"""The triggers without a description of which it is known what they look at."""
CONDITION_KINDS = frozenset(
    {"and", "device", "not", "numeric_state", "or", "state", "sun", "template", "time", "trigger", "zone"}
)
"""The conditions without a description of which it is known what they look at."""
COMPOUND = frozenset({"and", "or", "not"})

_TARGET_KEYS = ("device_id", "area_id", "floor_id", "label_id")
_ENTITY_KEYS = frozenset(
    {"above", "after", "at", "before", "below", "entity", "entity_id", "source_entity", "state_entity", "value_max", "value_min", "zone"}
)  # fmt: skip
"""Keys of triggers and conditions whose values are, or may be, entity ids."""
_IDS_OF_REGISTRY = 32  # hexadecimal digits


class StepPart(StrEnum):
    """Which part of an automation a step is of."""

    TRIGGER = "trigger"
    CONDITION = "condition"
    ACTION = "action"


class Kind(StrEnum):
    """What is named."""

    ENTITY = "entity"
    DEVICE = "device"
    AREA = "area"
    FLOOR = "floor"
    LABEL = "label"


@dataclass(frozen=True, slots=True)
class DraftStep:
    """One trigger, condition or action."""

    part: StepPart
    kind: str
    """Its trigger platform, its condition, or the kind of its action; empty for an action of a kind that is not known."""
    path: str
    config: Mapping[str, Any]
    """Normalized; what Home Assistant keeps in `options` stands beside the rest."""
    is_sure: bool = True
    """An action that is done on every run to its end; of a trigger, one of the automation itself."""

    def does(self, kind: str) -> bool:
        """Return whether it is an action of a kind; triggers and conditions have kinds of the same names."""
        return self.part is StepPart.ACTION and self.kind == kind

    @property
    def is_enabled(self) -> bool:
        """Whether it takes part; one that a template decides on by more than it says itself may."""
        return is_switched_on(self.config) is not False


@dataclass(frozen=True, slots=True)
class NamedThing:
    """Something that an automation names."""

    kind: Kind
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class WrittenTemplate:
    """A template where it stands."""

    text: str
    path: str


def steps_of(draft: AutomationDraft) -> Iterator[DraftStep]:
    """Yield all triggers, conditions and actions of a draft, outer ones before those inside them."""
    yield from _triggers(draft.triggers, "triggers", is_sure=True)
    yield from _conditions(draft.conditions, "conditions")
    yield from actions_in(draft.actions, "actions")


def _triggers(triggers: object, path: str, *, is_sure: bool) -> Iterator[DraftStep]:
    for place, trigger in enumerate(triggers if isinstance(triggers, Sequence) else ()):
        kind = str(trigger.get("platform", trigger.get("trigger", "")))
        yield DraftStep(StepPart.TRIGGER, kind, f"{path}[{place}]", _flat(trigger), is_sure)


def _flat(config: Mapping[str, Any]) -> Mapping[str, Any]:
    options = config.get("options")
    return {**config, **options} if isinstance(options, Mapping) else config


def _conditions(conditions: object, path: str) -> Iterator[DraftStep]:
    for place, condition in enumerate(conditions if isinstance(conditions, list | tuple) else ()):
        yield from condition_steps(condition, f"{path}[{place}]")


def condition_steps(condition: object, path: str) -> Iterator[DraftStep]:
    """Yield a condition and those inside it; a template alone is one, too."""
    if isinstance(condition, Template | str):
        condition = {"condition": "template", "value_template": condition}
    if not isinstance(condition, Mapping):
        return
    kind = str(condition.get("condition", ""))
    yield DraftStep(StepPart.CONDITION, kind, path, _flat(condition))
    if kind in COMPOUND:
        yield from _conditions(condition.get("conditions"), f"{path}.conditions")


def actions_in(actions: object, path: str, *, is_sure: bool = True) -> Iterator[DraftStep]:
    """Yield the actions of a sequence and what is inside them."""
    for place, action in enumerate(actions if isinstance(actions, list | tuple) else ()):
        here = f"{path}[{place}]"
        try:
            kind = cv.determine_script_action(dict(action))
        except ValueError:
            kind = ""
        is_on = is_switched_on(action)
        is_done = is_sure and is_on is True
        yield DraftStep(StepPart.ACTION, kind, here, action, is_done)
        yield from _inside(action, kind, here, is_done)
        if is_on is not False and _may_stop(action, kind):
            is_sure = False  # what follows may not be reached


def _may_stop(action: Mapping[str, Any], kind: str) -> bool:
    """Return whether what follows an action may not be reached."""
    match kind:
        case cv.SCRIPT_ACTION_CHECK_CONDITION:
            return may_end(action)
        case cv.SCRIPT_ACTION_WAIT_FOR_TRIGGER | cv.SCRIPT_ACTION_WAIT_TEMPLATE:
            return action.get("timeout") is None or action.get("continue_on_timeout") is False
        case cv.SCRIPT_ACTION_IF | cv.SCRIPT_ACTION_CHOOSE:
            return any(step.kind == cv.SCRIPT_ACTION_STOP for step in _inside(action, kind, "", False))
    return kind == cv.SCRIPT_ACTION_STOP


def _inside(action: Mapping[str, Any], kind: str, path: str, is_sure: bool) -> Iterator[DraftStep]:
    match kind:
        case cv.SCRIPT_ACTION_CHECK_CONDITION:
            yield from condition_steps(action, path)
        case cv.SCRIPT_ACTION_CHOOSE:
            yield from _inside_choose(action, path, is_sure)
        case cv.SCRIPT_ACTION_IF:
            yield from _conditions(action["if"], f"{path}.if")
            is_taken = is_sure and not may_end(action["if"])
            yield from actions_in(action["then"], f"{path}.then", is_sure=is_taken)
            yield from actions_in(action.get("else"), f"{path}.else", is_sure=False)
        case cv.SCRIPT_ACTION_REPEAT:
            repeat = action["repeat"]
            for key in ("while", "until"):
                yield from _conditions(repeat.get(key), f"{path}.repeat.{key}")
            is_done = is_sure and ("until" in repeat or _is_some(repeat))
            yield from actions_in(repeat["sequence"], f"{path}.repeat.sequence", is_sure=is_done)
        case cv.SCRIPT_ACTION_PARALLEL:
            for place, branch in enumerate(action["parallel"]):
                yield from actions_in(branch["sequence"], f"{path}.parallel[{place}]", is_sure=is_sure)
        case cv.SCRIPT_ACTION_SEQUENCE:
            yield from actions_in(action["sequence"], f"{path}.sequence", is_sure=is_sure)
        case cv.SCRIPT_ACTION_WAIT_FOR_TRIGGER:
            yield from _triggers(action["wait_for_trigger"], f"{path}.wait_for_trigger", is_sure=False)


def _inside_choose(action: Mapping[str, Any], path: str, is_sure: bool) -> Iterator[DraftStep]:
    for place, choice in enumerate(action["choose"]):
        yield from _conditions(choice["conditions"], f"{path}.choose[{place}].conditions")
        is_taken = is_sure and place == 0 and not may_end(choice["conditions"])
        yield from actions_in(choice["sequence"], f"{path}.choose[{place}].sequence", is_sure=is_taken)
    yield from actions_in(action.get("default"), f"{path}.default", is_sure=is_sure and not action["choose"])


def _is_some(repeat: Mapping[str, Any]) -> bool:
    """Return whether a repeat is certainly done at least once."""
    count, each = repeat.get("count"), repeat.get("for_each")
    return (isinstance(count, int) and count > 0) or (isinstance(each, list | tuple) and bool(each))


NESTED = frozenset(
    {"choose", "conditions", "default", "else", "if", "parallel", "repeat", "sequence", "then", "wait_for_trigger"}
)
"""Keys of steps whose values are steps."""


def own(step: DraftStep) -> Mapping[str, Any]:
    """Return what a step says itself, without the steps inside it."""
    if step.part is StepPart.TRIGGER:
        return {key: value for key, value in step.config.items() if key != "options"}
    if step.part is StepPart.CONDITION:
        hidden = {"options", "conditions"} if step.kind in COMPOUND else {"options"}
        return {key: value for key, value in step.config.items() if key not in hidden}
    if step.kind == cv.SCRIPT_ACTION_CHECK_CONDITION:
        return {}  # its condition is a step of its own
    found = {key: value for key, value in step.config.items() if key not in NESTED}
    if step.kind == cv.SCRIPT_ACTION_REPEAT:
        found["repeat"] = {
            key: step.config["repeat"][key] for key in ("count", "for_each") if key in step.config["repeat"]
        }
    return found


def references_of(step: DraftStep) -> Iterator[NamedThing]:
    """Yield the entities and places that a step names; what templates read is not among them."""
    if step.part is StepPart.ACTION:
        yield from _of_action(step)
        return
    for path, key, value in _leaves(own(step), step.path):
        if key in _ENTITY_KEYS and valid_entity_id(value.lower()):
            yield NamedThing(Kind.ENTITY, value.lower(), path)
        elif key in _ENTITY_KEYS and is_registry_id(value):
            yield NamedThing(Kind.ENTITY, value, path)
        elif key in _TARGET_KEYS:
            yield NamedThing(Kind(key.removesuffix("_id")), value, path)


def _of_action(step: DraftStep) -> Iterator[NamedThing]:
    config = step.config
    if step.kind == cv.SCRIPT_ACTION_ACTIVATE_SCENE:
        yield NamedThing(Kind.ENTITY, str(config["scene"]), f"{step.path}.scene")
    elif step.kind == cv.SCRIPT_ACTION_DEVICE_AUTOMATION:
        yield NamedThing(Kind.DEVICE, str(config["device_id"]), f"{step.path}.device_id")
        if isinstance(named := config.get("entity_id"), str):
            yield NamedThing(Kind.ENTITY, named, f"{step.path}.entity_id")
    elif step.kind == cv.SCRIPT_ACTION_CALL_SERVICE:
        for path, key, value in _leaves(own(step), step.path):
            if key in ("entity_id", *_TARGET_KEYS):
                for name in filter(None, (part.strip() for part in value.split(","))):
                    kind = Kind(key.removesuffix("_id"))
                    yield NamedThing(kind, name.lower() if kind is Kind.ENTITY and "." in name else name, path)
            elif key != "action" and ".data" in path and "." in value and valid_entity_id(value) and _names_entity(key):
                yield NamedThing(Kind.ENTITY, value, path)
        yield from _scene_entities(step)


def given_to_actions(step: DraftStep) -> Iterator[NamedThing]:
    """Yield what may be an entity id and stands anywhere in an action that is called: a script by its name, its variables."""
    if step.does(cv.SCRIPT_ACTION_CALL_SERVICE):
        for path, _, value in _leaves(own(step), step.path):
            if valid_entity_id(name := value.strip().lower()):
                yield NamedThing(Kind.ENTITY, name, path)


def _names_entity(key: str) -> bool:
    return key in (
        "entities",
        "snapshot_entities",
        "group_members",
        "add_entities",
        "remove_entities",
        "media_player_entity_id",
    )


def _scene_entities(step: DraftStep) -> Iterator[NamedThing]:
    """Yield the entities of a scene that is written into an action, by whose ids its data has keys."""
    data = step.config.get("data")
    entities = data.get("entities") if isinstance(data, Mapping) else None
    if str(step.config.get("action")) in ("scene.apply", "scene.create") and isinstance(entities, Mapping):
        for name in entities:
            yield NamedThing(Kind.ENTITY, str(name), f"{step.path}.data.entities")


def scenes_made(steps: Sequence[DraftStep]) -> set[str]:
    """Return the scenes that the actions of a draft make themselves."""
    found = set()
    for step in steps:
        data = step.config.get("data")
        name = data.get("scene_id") if isinstance(data, Mapping) else None
        if str(step.config.get("action")) == "scene.create" and isinstance(name, str):
            found.add(f"scene.{name}")
    return found


def is_registry_id(text: str) -> bool:
    """Return whether a text looks like the id of an entry of a registry."""
    return len(text) == _IDS_OF_REGISTRY and all(sign in "0123456789abcdef" for sign in text)


def _leaves(value: object, path: str, key: str = "", depth: int = MAX_DEPTH) -> Iterator[tuple[str, str, str]]:
    """Yield the texts in a value: path, the key that each stands under, text."""
    match value:
        case str():
            yield path, key, value
        case Mapping() if depth:
            for name, item in value.items():
                yield from _leaves(item, f"{path}.{name}", str(name), depth - 1)
        case list() | tuple() | set() if depth:
            for place, item in enumerate(value):  # one alone was a text before it was normalized
                yield from _leaves(item, f"{path}[{place}]" if len(value) > 1 else path, key, depth - 1)


def templates_in(value: object, path: str, depth: int = MAX_DEPTH) -> Iterator[WrittenTemplate]:
    """Yield the templates in a value, those in keys and variables among them."""
    match value:
        case Template():
            yield WrittenTemplate(value.template, path)
        case ScriptVariables():
            yield from templates_in(value.variables, path, depth)
        case Mapping() if depth:
            for name, item in value.items():
                if isinstance(name, Template):
                    yield WrittenTemplate(name.template, path)
                yield from templates_in(item, f"{path}.{name}" if isinstance(name, str) else path, depth - 1)
        case list() | tuple() if depth:
            for place, item in enumerate(value):
                yield from templates_in(item, f"{path}[{place}]", depth - 1)


def variables_of(draft: AutomationDraft, steps: Sequence[DraftStep]) -> dict[str, list[object]]:
    """Return the variables that a draft sets anywhere, each with the values that are written for it."""
    found: dict[str, list[object]] = {}
    given: list[object] = [draft.normalized.get(key) for key in ("variables", "trigger_variables")]
    given += [step.config.get("variables") for step in steps]
    for one in given:
        values = one.variables if isinstance(one, ScriptVariables) else one
        for name, value in values.items() if isinstance(values, Mapping) else ():
            found.setdefault(str(name), []).append(value)
    for step in steps:
        if isinstance(name := step.config.get("response_variable"), str):
            found.setdefault(name, []).append(None)
    return found


@lru_cache(maxsize=256)
def domain_of(entity_id: str) -> str:
    """Return the domain of an entity id; empty for what is none."""
    return split_entity_id(entity_id)[0] if valid_entity_id(entity_id) else ""
