"""What is wrong with a draft: Home Assistant accepts automations on what does not exist, does nothing or can never run; this does not.

All that a draft names is looked up. What may not be known to the user of the turn counts as what does not exist.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path

from homeassistant.components.automation.helpers import async_get_blueprints
from homeassistant.components.blueprint import BlueprintException
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    config_validation as cv,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
    service as service_helper,
)
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template

from ..home.actions import members
from ..home.contents import sequence_calls
from ..home.fingerprint import fingerprint
from ..home.states import Knows
from .draft import AutomationDraft
from .event_types import TELLS_ALL, async_known_types, is_known
from .kinds import async_unknown_kinds
from .loops import loop_problems
from .never_true import never_true
from .parameters import async_call_problems, called, service_fault
from .problems import MAX_PROBLEMS, DraftProblem, KnownHome, near_words, nearest, quoted
from .references import (
    DraftStep,
    Kind,
    NamedThing,
    StepPart,
    given_to_actions,
    own,
    references_of,
    steps_of,
    templates_in,
    variables_of,
    watched,
)
from .templates import TemplateReads, TemplateScope, environment_of, reads_of, texts_of
from .wakes import wake_problems
from .watched_states import async_state_fault, async_state_problems, texts

MAX_STEPS = 500
"""Triggers, conditions and actions of one automation."""
_TRIGGERS_OF_ANY = frozenset({"geo_location"})
"""Triggers whose entities are not named."""
_VALUE_TEMPLATE = "value_template"


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


def async_watched(draft: AutomationDraft) -> set[str]:
    """Return the entities of the triggers and conditions of a draft, those in their templates among them."""
    steps = [*steps_of(draft)]
    scope = scope_of(None, draft, steps)
    found = watched(steps)
    for step in steps:
        for written in templates_in(own(step), step.path) if step.part is not StepPart.ACTION else ():
            found |= reads_of(written.text, scope).entities.keys()
    return found


class _Check:
    """One draft, looked at once."""

    def __init__(self, hass: HomeAssistant, draft: AutomationDraft, knows: Knows, trust_events: frozenset[str]) -> None:
        self._hass = hass
        self._draft = draft
        self._home = KnownHome(hass, knows)
        self._trust_events = trust_events
        self._steps = [*steps_of(draft)]
        self._scope = scope_of(hass, draft, self._steps)

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
        for problem in never_true(self._draft, self._steps):
            yield problem
        for problem in loop_problems(self._hass, self._draft, self._steps):
            yield problem
        for problem in wake_problems(self._hass, self._steps):
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

    # What is named.

    async def _references(self) -> AsyncIterator[DraftProblem]:
        for step in self._steps:
            for reference in references_of(step):
                if (sentence := await self._async_fault(reference)) is not None:
                    yield DraftProblem(reference.path, sentence)
            for reference in given_to_actions(step):
                if self._hass.states.get(reference.name) is not None and not self._home.knows(reference.name):
                    yield DraftProblem(reference.path, await self._home.async_unknown(reference.name))
            if step.part is not StepPart.ACTION and (problem := self._fault_of_target(step)) is not None:
                yield problem

    async def _async_fault(self, reference: NamedThing) -> str | None:
        name = reference.name
        match reference.kind:
            case Kind.ENTITY:
                if name in ("all", "none") or name == "zone.home" or self._home.resolve(name) is not None:
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

    def _fault_of_target(self, step: DraftStep) -> DraftProblem | None:
        """Return the problem of a trigger or condition that would watch more than may be known."""
        target = step.config.get("target")
        if not isinstance(target, Mapping):
            return None
        places = {key: texts(target.get(key)) for key in ("device_id", "area_id", "floor_id", "label_id")}
        if not any(places.values()):
            return None
        selected = async_extract_referenced_entity_ids(self._hass, TargetSelection(places), expand_group=False)
        domain = step.kind.partition(".")[0]
        reached = [one for one in sorted(selected.indirectly_referenced) if self._hass.states.get(one) is not None]
        own_domain = [one for one in reached if one.startswith(f"{domain}.")] or reached
        known = [one for one in own_domain if self._home.knows(one)]
        key = next(key for key, items in places.items() if items)
        if len(known) == len(own_domain):
            return None
        named = f" Name the entities instead: {', '.join(known[:20])}." if known else " Name entities."
        return DraftProblem(f"{step.path}.target.{key}", f"This target may reach more than is exposed.{named}")

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
        data = step.config.get("event_data")
        entity = data.get("entity_id") if isinstance(data, Mapping) else None
        entity = entity.template if isinstance(entity, Template) else entity
        if isinstance(entity, str) and self._home.resolve(entity) is not None:
            return None
        return DraftProblem(
            f"{step.path}.event_type",
            f"{name} tells of every entity. Use a state trigger, or name a known entity_id in event_data.",
        )

    # Templates.

    async def _templates(self) -> AsyncIterator[DraftProblem]:
        for key in ("variables", "trigger_variables"):
            for written in templates_in(self._draft.normalized.get(key), key):
                async for problem in self._async_template(written.text, written.path, is_test=False):
                    yield problem
        for step in self._steps:
            for written in templates_in(own(step), step.path):
                async for problem in self._async_template(
                    written.text, written.path, is_test=_is_test(step, written.path)
                ):
                    yield problem

    async def _async_template(self, text: str, path: str, *, is_test: bool) -> AsyncIterator[DraftProblem]:
        reads = reads_of(text, self._scope)
        for fault in reads.faults:
            yield DraftProblem(path, fault)
        for entity_id in reads.entities:
            if self._home.resolve(entity_id) is None and entity_id != "zone.home":
                yield DraftProblem(path, await self._home.async_unknown(entity_id))
        for kind, name in reads.places:
            if kind == "device" and not is_known_device(self._home, name):
                yield DraftProblem(path, await self._async_unknown_device(name))
        async for problem in self._async_compared(reads, path):
            yield problem
        if is_test and reads.is_constant and not reads.faults:
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
    each = [step.config["repeat"]["for_each"] for step in steps if "for_each" in (step.config.get("repeat") or {})]
    items: list[object] | None = []
    for one in each:
        items = [*items, *_listed(one)] if items is not None and not isinstance(one, Template) else None
    return TemplateScope(
        environment=environment_of(hass),
        variables=variables_of(draft, steps),
        has_known_trigger=not any(step.part is StepPart.TRIGGER and step.kind in _TRIGGERS_OF_ANY for step in steps),
        items=items if each else None,
    )


def _listed(value: object) -> list[object]:
    return [*value] if isinstance(value, list | tuple | set) else [value]


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

    Scripts, scenes and automations by entity id, groups by theirs, blueprints as `blueprint:<path>`.
    """
    read: dict[str, str] = {}

    def groups(home: HomeAssistant, entity_id: str) -> tuple[str, ...]:
        found = members(home, entity_id)
        if found:
            read[entity_id] = fingerprint(sorted(found))
        return found

    for _ in sequence_calls(hass, draft.actions, frozenset(), groups, groups, read):
        pass
    read.pop("sequence", None)
    use = draft.config.get("use_blueprint")
    if isinstance(use, Mapping) and ".." not in (path := str(use.get("path", ""))):
        file = Path(hass.config.path("blueprints", "automation", path))
        read[f"blueprint:{path}"] = await hass.async_add_executor_job(_fingerprint_of_file, file)
    return read


def _fingerprint_of_file(path: Path) -> str:
    try:
        return fingerprint(path.read_bytes().decode(errors="surrogateescape"))
    except OSError:
        return ""
