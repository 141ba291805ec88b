"""What is wrong with a draft: Home Assistant accepts automations on what does not exist, does nothing or can never run; this does not.

All that a draft names is looked up. What may not be known to the user of the turn counts as what does not exist.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
import re

from homeassistant.components.automation.helpers import async_get_blueprints
from homeassistant.components.blueprint import BlueprintException
from homeassistant.core import HomeAssistant, callback, valid_entity_id
from homeassistant.helpers import (
    area_registry as ar,
    config_validation as cv,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
    service as service_helper,
)
from homeassistant.helpers.template import Template

from ..home.actions import members
from ..home.contents import sequence_calls
from ..home.fingerprint import fingerprint
from ..home.judgement import judge_sequence
from ..home.states import Knows
from .draft import AutomationDraft
from .event_types import TELLS_ALL, async_known_types, is_known
from .kinds import async_unknown_kinds
from .loops import loop_problems
from .never_true import never_true
from .parameters import async_call_problems, called, service_fault
from .problems import MAX_PROBLEMS, DraftProblem, KnownHome, near_words, nearest, quoted
from .purposes import async_purpose_problems
from .references import (
    DraftStep,
    Kind,
    NamedThing,
    StepPart,
    given_to_actions,
    own,
    references_of,
    scenes_made,
    steps_of,
    templates_in,
    variables_of,
)
from .templates import TemplateReads, TemplateScope, environment_of, reads_of, texts_of
from .wakes import wake_problems
from .watched_states import async_state_fault, async_state_problems

MAX_STEPS = 500
"""Triggers, conditions and actions of one automation."""
OPENED = "opened"
_TRIGGERS_OF_ANY = frozenset({"geo_location"})
"""Triggers whose entities are not named."""
_VALUE_TEMPLATE = "value_template"
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")
"""A template that only names a variable."""


async def async_problems(
    hass: HomeAssistant, draft: AutomationDraft, *, knows: Knows, trust_events: Collection[str] = ()
) -> list[DraftProblem]:
    """Return what is wrong with a draft, at most `MAX_PROBLEMS`, each place once.

    `trust_events` are types of events that are said to come although nothing here shows it.
    """
    check = _Check(hass, draft, knows, frozenset(trust_events))
    found: dict[tuple[str, str], DraftProblem] = {}
    async for problem in check.run():
        found.setdefault((problem.path, problem.sentence), problem)
        if len(found) >= MAX_PROBLEMS:
            break
    return [*found.values()]


class _Check:
    """One draft, looked at once."""

    def __init__(self, hass: HomeAssistant, draft: AutomationDraft, knows: Knows, trust_events: frozenset[str]) -> None:
        self._hass = hass
        self._draft = draft
        self._home = KnownHome(hass, knows)
        self._trust_events = trust_events
        self._steps = [*steps_of(draft)]
        self._scope = scope_of(hass, draft, self._steps)
        self._made = scenes_made(self._steps)

    async def run(self) -> AsyncIterator[DraftProblem]:
        """Yield the problems, those of what does not exist first."""
        if len(self._steps) > MAX_STEPS:
            yield DraftProblem(
                "actions", f"The automation is too long: at most {MAX_STEPS} triggers, conditions and actions."
            )
            return
        for part in (
            self._blueprint,
            self._kinds,
            self._references,
            self._services,
            self._events,
            self._templates,
            self._states,
        ):
            async for problem in part():
                yield problem
        for problem in never_true(self._hass, self._draft, self._steps):
            yield problem
        for problem in loop_problems(self._hass, self._draft, self._steps):
            yield problem
        for problem in wake_problems(self._hass, self._steps):
            yield problem
        for problem in self._switches():
            yield problem

    async def _kinds(self) -> AsyncIterator[DraftProblem]:
        async for problem in async_unknown_kinds(self._hass, self._steps):
            yield problem

    async def _blueprint(self) -> AsyncIterator[DraftProblem]:
        use = self._draft.config.get("use_blueprint")
        if not isinstance(use, Mapping):
            return
        path = str(use.get("path", ""))
        if path.startswith(("/", "\\")) or ".." in path:
            yield DraftProblem("use_blueprint.path", f"{quoted(path)} is no path of a blueprint.")
            return
        try:
            blueprint = await async_get_blueprints(self._hass).async_get_blueprint(path)
        except BlueprintException:
            yield DraftProblem("use_blueprint.path", f"There is no blueprint {quoted(path)}.")
            return
        inputs = use.get("input")
        for name in inputs if isinstance(inputs, Mapping) else ():
            if name not in blueprint.inputs:
                near = nearest(str(name), blueprint.inputs) or sorted(blueprint.inputs)
                yield DraftProblem(
                    f"use_blueprint.input.{name}", f"The blueprint has no input {quoted(name)}.{near_words(near)}"
                )

    def _switches(self) -> Iterator[DraftProblem]:
        """Yield where a template decides whether a part takes part, which blueprints ask for in an input."""
        for step in self._steps if "use_blueprint" not in self._draft.config else ():
            if isinstance(step.config.get("enabled"), Template):
                yield DraftProblem(
                    f"{step.path}.enabled",
                    "A template does not decide this. Write true or false, or a condition instead.",
                )

    # What is named.

    async def _references(self) -> AsyncIterator[DraftProblem]:
        for step in self._steps:
            for reference in references_of(step):
                if (sentence := await self._async_fault(reference)) is not None:
                    yield DraftProblem(reference.path, sentence)
            for reference in given_to_actions(step):
                if self._hass.states.get(reference.name) is not None and not self._home.knows(reference.name):
                    yield DraftProblem(reference.path, await self._home.async_unknown(reference.name))
        async for problem in async_purpose_problems(self._home, self._steps):
            yield problem

    async def _async_fault(self, reference: NamedThing) -> str | None:
        name = reference.name
        match reference.kind:
            case Kind.ENTITY:
                if name in ("all", "none", "zone.home", *self._made) or self._home.resolve(name) is not None:
                    return None
                return await self._home.async_unknown(name)
            case Kind.DEVICE:
                return None if is_known_device(self._home, name) else await self._async_unknown_device(name)
            case Kind.AREA:
                return _unknown_place(
                    "area", name, {one.id: one.name for one in ar.async_get(self._hass).areas.values()}
                )
            case Kind.FLOOR:
                floors = {one.floor_id: one.name for one in fr.async_get(self._hass).floors.values()}
                return _unknown_place("floor", name, floors)
            case Kind.LABEL:
                labels = {one.label_id: one.name for one in lr.async_get(self._hass).labels.values()}
                return _unknown_place("label", name, labels)

    async def _async_unknown_device(self, name: str) -> str:
        known = {
            one.name_by_user or one.name or one.id: one.id
            for one in dr.async_get(self._hass).devices
            if is_known_device(self._home, one.id)
        }
        near = [f"{known[one]} ({one})" for one in nearest(name.replace("_", " "), known)]
        return f"{quoted(name)} is no device that can be used here.{near_words(near)} A device is named by its id; an entity id is simpler."

    # What is called and fired.

    async def _services(self) -> AsyncIterator[DraftProblem]:
        descriptions = await service_helper.async_get_all_descriptions(self._hass)
        for step in self._steps:
            if not step.does(cv.SCRIPT_ACTION_CALL_SERVICE):
                continue
            named = step.config.get("action", step.config.get("service_template"))
            actions = texts_of(named.template, self._scope) if isinstance(named, Template) else (str(named),)
            if not actions:
                yield DraftProblem(
                    f"{step.path}.action", "Which action it calls is worked out while it runs. Write each with choose."
                )
                continue
            async for problem in self._async_targets(step):
                yield problem
            for action in actions:
                if (fault := service_fault(self._hass, action)) is not None:
                    yield DraftProblem(f"{step.path}.action", fault)
                    continue
                call = called(step, action)
                description = descriptions.get(call.domain, {}).get(call.service, {})
                async for problem in async_call_problems(self._home, call, description):
                    yield problem

    async def _async_targets(self, step: DraftStep) -> AsyncIterator[DraftProblem]:
        """Yield the templates in a target that may come to anything, and what is unknown of those that are known."""
        for key, items in called(step, ".").targets.items():
            for item in items:
                if not isinstance(item, Template):
                    continue
                path = f"{step.path}.target.{key}"
                if (found := texts_of(item.template, self._scope)) is None:
                    yield DraftProblem(
                        path, "What it acts on is worked out while it runs. Write the ids, or {{ trigger.entity_id }}."
                    )
                    continue
                for name in (part.strip() for text in found for part in text.strip("[]").replace("'", "").split(",")):
                    if (
                        name
                        and (fault := await self._async_fault(NamedThing(Kind(key.removesuffix("_id")), name, path)))
                        is not None
                    ):
                        yield DraftProblem(path, fault)
        if isinstance(step.config.get("target"), Template) or isinstance(step.config.get("data"), Template):
            yield DraftProblem(
                f"{step.path}", "A template in place of the whole target or data cannot be checked. Write out its keys."
            )

    async def _events(self) -> AsyncIterator[DraftProblem]:
        known: set[str] | None = None
        own_types = {str(step.config["event"]) for step in self._steps if step.does(cv.SCRIPT_ACTION_FIRE_EVENT)}
        for step in self._steps:
            if step.part is not StepPart.TRIGGER or step.kind != "event":
                continue
            path = f"{step.path}.event_type"
            for event_type in _listed(step.config.get("event_type")):
                if isinstance(event_type, Template) and not event_type.is_static:
                    yield DraftProblem(path, "A template in the type of an event cannot be checked. Write the type.")
                    continue
                name = event_type.template if isinstance(event_type, Template) else str(event_type)
                if name in TELLS_ALL:
                    if (problem := self._tells_all(step, name)) is not None:
                        yield problem
                    continue
                known = await async_known_types(self._hass) if known is None else known
                if not is_known(name, known | own_types | self._trust_events):
                    near = near_words(nearest(name, known | own_types))
                    yield DraftProblem(
                        path, f"Nothing here fires the event {quoted(name)}.{near} Name an event that comes."
                    )

    def _tells_all(self, step: DraftStep, name: str) -> DraftProblem | None:
        if any(self._home.resolve(one) is not None for one in _subjects(step.config.get("event_data"))):
            return None
        return DraftProblem(
            f"{step.path}.event_type",
            f"{name} tells of every entity. Use a state trigger, or name in event_data what it is about: "
            "entity_id, or domain and service of a script.",
        )

    # Templates.

    async def _templates(self) -> AsyncIterator[DraftProblem]:
        for key in ("variables", "trigger_variables"):
            for written in templates_in(self._draft.normalized.get(key), key):
                async for problem in self._async_template(written.text, written.path, is_test=False):
                    yield problem
        for step in self._steps:
            for written in templates_in(own(step), step.path):
                is_test = _is_test(step, written.path)
                is_condition = is_test and step.part is StepPart.CONDITION
                async for problem in self._async_template(
                    written.text, written.path, is_test=is_test, is_condition=is_condition, given=_given_in(step)
                ):
                    yield problem

    async def _async_template(
        self, text: str, path: str, *, is_test: bool, is_condition: bool = False, given: Collection[str] = ()
    ) -> AsyncIterator[DraftProblem]:
        scope = self._scope
        if given:
            scope = replace(scope, variables={**scope.variables, **dict.fromkeys(given, ())})
        reads = reads_of(text, scope)
        for fault in reads.faults:
            yield DraftProblem(path, fault)
        for entity_id in reads.entities:
            if self._home.resolve(entity_id) is None and entity_id not in ("zone.home", *self._made):
                yield DraftProblem(path, await self._home.async_unknown(entity_id))
        for kind, name in reads.places:
            if kind == "device" and not is_known_device(self._home, name):
                yield DraftProblem(path, await self._async_unknown_device(name))
        async for problem in self._async_compared(reads, path):
            yield problem
        if is_condition and reads.never_a_test and not reads.faults:
            yield DraftProblem(path, reads.never_a_test)
        elif is_test and reads.is_constant and not reads.faults:
            yield DraftProblem(
                path, f"The template {quoted(text)} always comes to the same: it decides nothing. Let it read a state."
            )

    async def _async_compared(self, reads: TemplateReads, path: str) -> AsyncIterator[DraftProblem]:
        for entity_id, value in reads.states:
            if self._home.resolve(entity_id) is None or (state := self._hass.states.get(entity_id)) is None:
                continue
            if (sentence := await async_state_fault(self._home, state, value)) is not None:
                yield DraftProblem(path, sentence)

    async def _states(self) -> AsyncIterator[DraftProblem]:
        for step in self._steps:
            if step.part is not StepPart.ACTION:
                async for problem in async_state_problems(self._home, step):
                    yield problem


def scope_of(hass: HomeAssistant | None, draft: AutomationDraft, steps: Sequence[DraftStep]) -> TemplateScope:
    """Return what the templates of a draft find."""
    variables = variables_of(draft, steps)
    each = [step.config["repeat"]["for_each"] for step in steps if "for_each" in (step.config.get("repeat") or {})]
    return TemplateScope(
        environment=environment_of(hass),
        variables=variables,
        has_known_trigger=not any(step.part is StepPart.TRIGGER and step.kind in _TRIGGERS_OF_ANY for step in steps),
        items=[item for one in each for item in _items(one, variables)] if each else None,
    )


def _items(each: object, variables: Mapping[str, Sequence[object]]) -> list[object]:
    """Return what is gone through one by one; a template that only names a variable stands for its values."""
    if isinstance(each, Template) and (name := _NAME.fullmatch(each.template.strip())) is not None:
        return [item for one in variables.get(name[1], (each,)) for item in _listed(one)]
    return _listed(each)


def _listed(value: object) -> list[object]:
    return [*value] if isinstance(value, list | tuple | set) else [value]


def _subjects(data: object) -> Iterator[str]:
    """Yield the entities that the data of an event names: by id, in the data of a service, or a script by its own service."""
    if not isinstance(data, Mapping):
        return
    inner = data.get("service_data")
    domain, service = (_plain(data.get(key)) for key in ("domain", "service"))
    named = [data.get("entity_id"), inner.get("entity_id") if isinstance(inner, Mapping) else None]
    for one in (_plain(item) for item in named):
        if isinstance(one, str) and valid_entity_id(one):
            yield one
    if domain == "script" and isinstance(service, str) and valid_entity_id(f"{domain}.{service}"):
        yield f"{domain}.{service}"


def _plain(value: object) -> object:
    return value.template if isinstance(value, Template) else value


def _given_in(step: DraftStep) -> Collection[str]:
    """Return the variables that only templates of this step have: the state whose number is compared."""
    return ("state",) if step.kind == "numeric_state" else ()


def _is_test(step: DraftStep, path: str) -> bool:
    """Return whether a template decides whether something happens."""
    if step.part is StepPart.ACTION:
        return path == f"{step.path}.wait_template"
    return step.kind == "template" and path == f"{step.path}.{_VALUE_TEMPLATE}"


def is_known_device(home: KnownHome, device_id: str) -> bool:
    """Return whether a device may be known: one of its entities may, or it has none but settings and diagnostics."""
    device = dr.async_get(home.hass).async_get(device_id)
    if device is None:
        return False
    entries = er.async_entries_for_device(er.async_get(home.hass), device_id)
    return any(home.knows(entry.entity_id) for entry in entries) or not any(
        entry.entity_category is None for entry in entries
    )


def _unknown_place(word: str, name: str, known: Mapping[str, str]) -> str | None:
    """Return the sentence for an area, a floor or a label that does not exist."""
    if name in known:
        return None
    by_text = {text: key for key, called_so in known.items() for text in (key, called_so.casefold())}
    near = dict.fromkeys(by_text[one] for one in nearest(name, by_text))
    offered = [f"{key} ({known[key]})" for key in near or sorted(known)[:10]]
    return f"There is no {word} {quoted(name)}.{near_words(offered)} Use the id of one."


async def async_depends(hass: HomeAssistant, draft: AutomationDraft) -> dict[str, str]:
    """Return what the actions of a draft reach and others may change, each with a fingerprint of how it is written now.

    Scripts, scenes and automations by entity id, groups by theirs, blueprints as `blueprint:<path>`; and what is sensitive in all of
    it, as it is resolved now, as `opened`.
    """
    read = async_reached(hass, draft)
    use = draft.config.get("use_blueprint")
    if isinstance(use, Mapping) and ".." not in (path := str(use.get("path", ""))):
        file = Path(hass.config.path("blueprints", "automation", path))
        read[f"blueprint:{path}"] = await hass.async_add_executor_job(_fingerprint_of_file, file)
    return read


@callback
def async_reached(hass: HomeAssistant, draft: AutomationDraft) -> dict[str, str]:
    """Return the part of `async_depends` that no file has to be read for: an automation may reach itself, as it is written now."""
    read: dict[str, str] = {}

    def groups(home: HomeAssistant, entity_id: str) -> tuple[str, ...]:
        found = members(home, entity_id)
        if found:
            read[entity_id] = fingerprint(sorted(found))
        return found

    for _ in sequence_calls(hass, draft.actions, frozenset(), groups, groups, read):
        pass
    read.pop("sequence", None)
    if opened := judge_sequence(hass, draft.actions).reach.inside:  # an area or a label may have a lock or a gate later
        read[OPENED] = fingerprint([[call.action, *sorted(call.entity_ids)] for call in opened])
    return read


def _fingerprint_of_file(path: Path) -> str:
    try:
        return fingerprint(path.read_bytes().decode(errors="surrogateescape"))
    except OSError:
        return ""
