"""What an automation certainly brings about when it runs, and which automations that certainly starts: each with its steps in scripts.

What a template, a condition or a person decides is not certain, and left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.components.scene import DOMAIN as SCENE
from homeassistant.components.script import DOMAIN as SCRIPT
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import DOMAIN as HOMEASSISTANT_DOMAIN, HomeAssistant, State, split_entity_id, valid_entity_id
from homeassistant.helpers import config_validation as cv, entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template
from homeassistant.util.hass_dict import HassKey

from ..home.contents import SCRIPT_SERVICES
from ..home.fired_events import triggers_in
from .draft import AutomationDraft
from .loop_ends import may_end
from .references import DraftStep, actions_in

MAX_FOLLOWED = 300
"""Automations that are looked at for one draft."""
_MAX_SCRIPTS = 10  # in scripts
DRAFT = ""
"""Stands for the draft among entity ids."""
_TARGETS = (ATTR_ENTITY_ID, "device_id", "area_id", "floor_id", "label_id")
_LEADS = {
    "turn_on": "on", "turn_off": "off", "open_cover": "open", "close_cover": "closed", "open_valve": "open", "close_valve": "closed",
    "lock": "locked", "unlock": "unlocked",
}  # fmt: skip
_ALWAYS = frozenset(
    {
        ("button", "press"), ("counter", "decrement"), ("counter", "increment"), ("input_button", "press"),
        ("input_number", "decrement"), ("input_number", "increment"), ("input_select", "select_next"), ("input_select", "select_previous"),
        ("notify", "send_message"), ("scene", "turn_on"), ("select", "select_next"), ("select", "select_previous"), ("todo", "add_item"),
    }
)  # fmt: skip
"""What gives an entity another state each time."""
_ATTRIBUTES = "@"
"""Stands for a state that stays, with other attributes."""
_TOGGLES = frozenset({"toggle", "toggle_cover_tilt"})


@dataclass(frozen=True, slots=True)
class Consequence:
    """One thing that a run certainly brings about."""

    path: str
    """The step of the automation itself."""
    event: str = ""
    """The type of an event that comes."""
    data: Mapping[str, Any] = field(default_factory=dict)
    entity_id: str = ""
    """What gets another state."""
    state: str = ""
    """The state that it gets; empty: another one."""
    started: str = ""
    """The automation that is run without its conditions."""
    said: str = ""
    """A sentence that is said to an agent."""
    topic: str = ""
    """The topic of a message of MQTT."""

    @property
    def key(self) -> tuple[str, str]:
        """What has to stand in a trigger that hears it."""
        if self.event:
            return "event", self.event
        if self.entity_id:
            return "entity", self.entity_id
        return ("topic", self.topic) if self.topic else ("said", "")


@dataclass(frozen=True, slots=True)
class HeardTrigger:
    """One trigger, as far as it is known what it certainly hears."""

    automation: str
    kind: str
    config: Mapping[str, Any]
    entity_ids: tuple[str, ...] = ()

    def subjects(self) -> Iterator[tuple[str, str]]:
        """Yield the keys of the effects that it may hear."""
        match self.kind:
            case "event":
                yield from (("event", one) for one in _texts(self.config.get("event_type")))
            case "tag":
                yield "event", "tag_scanned"
            case "persistent_notification":
                yield "event", self.kind
            case "mqtt":
                yield from (("topic", one) for one in _texts(self.config.get("topic")))
            case "conversation":
                yield "said", ""
            case "state" | "device":
                yield from (("entity", one) for one in self.entity_ids)

    def hears(self, effect: Consequence) -> bool:
        """Return whether it is certain that it reacts."""
        if effect.event:
            return self._hears_event(effect)
        if effect.said:
            return self.kind == "conversation" and effect.said.casefold() in {
                one.casefold() for one in _texts(self.config.get("command"))
            }
        if effect.topic:
            payload = self.config.get("payload")
            return (
                self.kind == "mqtt" and self.config.get("topic") == effect.topic
                and (payload is None or payload == effect.data.get("payload"))
            )  # fmt: skip
        return bool(effect.entity_id) and self._hears_state(effect)

    def _hears_event(self, effect: Consequence) -> bool:
        if self.kind == "tag" and effect.event == "tag_scanned":
            return _plain(effect.data.get("tag_id")) in _texts(self.config.get("tag_id"))
        if self.kind == "persistent_notification" and effect.event == "persistent_notification":
            kinds = _texts(self.config.get("update_type"))
            return self.config.get("notification_id") is None and (not kinds or "added" in kinds)
        if self.kind != "event" or effect.event not in _texts(self.config.get("event_type")):
            return False
        wanted = self.config.get("event_data")
        if not isinstance(wanted, Mapping):
            return True
        return all(_is_given(effect.data.get(key), value) for key, value in wanted.items())

    def _hears_state(self, effect: Consequence) -> bool:
        if self.kind == "device":
            way = str(self.config.get("type", ""))
            return way == "changed_states" or (bool(effect.state) and way == f"turned_{effect.state}")
        if effect.state == _ATTRIBUTES and not {"from", "to"}.isdisjoint(self.config):
            return False
        if any(self.config.get(key) is not None for key in ("from", "not_to", "not_from", "for", "attribute")):
            return False
        return self.config.get("to") is None or (bool(effect.state) and effect.state in _texts(self.config.get("to")))


_HEARD: HassKey[WeakKeyDictionary[Any, tuple[str, tuple[HeardTrigger, ...]]]] = HassKey("home_agent_heard_triggers")
"""By automation, its entity id and what it waits for."""


class Starts:
    """The automations that are on, and the draft in place of the one that it replaces."""

    def __init__(self, hass: HomeAssistant, draft: AutomationDraft, steps: Sequence[DraftStep]) -> None:
        """Take the home; what others do is read when it matters."""
        self._hass = hass
        self._draft = draft
        self._own_id = ""
        self._others: dict[str, Any] = {}
        for entity in getattr(hass.data.get(AUTOMATION), "entities", ()):
            if draft.id is not None and getattr(entity, "unique_id", None) == draft.id:
                self._own_id = entity.entity_id
            elif getattr(entity, "is_on", False):
                self._others[entity.entity_id] = entity
        self._own = [*self._effects(steps, draft.triggers), *_of_run(self._own_id, draft.alias)]
        self._index: dict[tuple[str, str], list[HeardTrigger]] | None = None

    def cycle(self) -> list[Consequence]:
        """Return the effects, one after the other, by which the draft certainly starts itself; none if it does not."""
        is_ended = may_end(self._draft.conditions)
        hears = any(True for one in self._draft.triggers for heard in self._heard(DRAFT, one) for _ in heard.subjects())
        if not self._own_id and (is_ended or not hears):
            return []  # nothing here can start it
        waiting: list[tuple[str, list[Consequence]]] = [(DRAFT, [])]
        seen: set[str] = set()
        while waiting and len(seen) < MAX_FOLLOWED:
            automation, way = waiting.pop(0)
            for effect in self._of(automation):
                for started in self._started_by(effect):
                    if started == DRAFT and (effect.started or not is_ended):
                        return [*way, effect]
                    if started != DRAFT and started not in seen:
                        seen.add(started)
                        waiting.append((started, [*way, effect]))
        return []

    def _of(self, automation: str) -> list[Consequence]:
        if automation == DRAFT:
            return self._own
        entity = self._others[automation]
        sequence = getattr(getattr(entity, "action_script", None), "sequence", ())
        found = self._effects([*actions_in(sequence, "actions")], triggers_in(entity.raw_config))
        data = {ATTR_ENTITY_ID: automation, "name": getattr(entity, "name", None)}
        return [
            *found,
            Consequence("actions", event="automation_triggered", data=data),
            Consequence("actions", entity_id=automation),
        ]

    def _started_by(self, effect: Consequence) -> Iterator[str]:
        if effect.started:
            found = DRAFT if effect.started == self._own_id else effect.started
            if found == DRAFT or found in self._others:
                yield found
            return
        if self._index is None:
            self._index = {}
            for heard in self._read():
                for key in heard.subjects():
                    self._index.setdefault(key, []).append(heard)
        for heard in self._index.get(effect.key, ()):
            if heard.hears(effect):
                yield heard.automation

    def _read(self) -> Iterator[HeardTrigger]:
        """Yield the triggers of all that no condition may stop; of the draft, those with conditions, too."""
        for trigger in self._draft.triggers:
            yield from self._heard(DRAFT, trigger)
        for entity_id, entity in self._others.items():
            yield from self._heard_by(entity_id, entity)

    def _heard_by(self, entity_id: str, entity: Any) -> Sequence[HeardTrigger]:
        """Return the triggers of another automation; it is read once, as it is another object once it is written otherwise."""
        kept = self._hass.data.setdefault(_HEARD, WeakKeyDictionary())
        if (known := kept.get(entity)) is not None and known[0] == entity_id:
            return known[1]
        config = getattr(entity, "raw_config", None) or {}
        if may_end(config.get("conditions", config.get("condition"))):
            kept[entity] = entity_id, ()
            return ()
        triggers = [*triggers_in(config)]
        found = tuple(heard for trigger in triggers for heard in self._heard(entity_id, trigger))
        named = (one for trigger in triggers for one in _texts(_flat(trigger).get(ATTR_ENTITY_ID)))
        if all("." in one for one in named):  # ids of the registry stand for another entity id after a rename
            kept[entity] = entity_id, found
        return found

    def _heard(self, automation: str, trigger: Mapping[str, Any]) -> Iterator[HeardTrigger]:
        if trigger.get("enabled") is not False:
            config = _flat(trigger)
            named = (part.strip() for one in _texts(config.get(ATTR_ENTITY_ID)) for part in one.split(","))
            kind = str(config.get("trigger", config.get("platform", "")))
            yield HeardTrigger(automation, kind, config, tuple(self._id(one) for one in named if one))

    def _effects(self, steps: Sequence[DraftStep], triggers: object) -> Iterator[Consequence]:
        """Yield what certainly comes of actions, at any depth of scripts."""
        changes: dict[str, list[tuple[str, str]]] = {}
        for step, path in self._sure(steps, _MAX_SCRIPTS):
            if step.does(cv.SCRIPT_ACTION_FIRE_EVENT):
                data = step.config.get("event_data")
                yield Consequence(path, event=str(step.config["event"]), data=data if isinstance(data, Mapping) else {})
                continue
            for domain, service, entity_ids, data in self._calls(step):
                yield from _of_call(path, domain, service, data, entity_ids)
                for entity_id in entity_ids:
                    if (domain, service) in _ALWAYS:
                        yield Consequence(path, entity_id=entity_id)
                    state = "?" if service in _TOGGLES else _LEADS.get(service, "")
                    for one, became in self._states_of(domain, service, entity_id, state):
                        changes.setdefault(one, []).append((path, became))
        yield from _changed(changes, _known_states(triggers))

    def _sure(self, steps: Sequence[DraftStep], depth: int, path: str = "") -> Iterator[tuple[DraftStep, str]]:
        """Yield the steps that are always done, those of scripts that are called among them, with the path of the first step."""
        for step in steps:
            if not step.is_sure or not step.is_enabled:
                continue
            here = path or step.path
            yield step, here
            if depth and step.does(cv.SCRIPT_ACTION_CALL_SERVICE):
                for script in self._scripts(step):
                    sequence = getattr(getattr(script, "script", None), "sequence", ())
                    yield from self._sure([*actions_in(sequence, "")], depth - 1, here)

    def _scripts(self, step: DraftStep) -> Iterator[Any]:
        component: Any = self._hass.data.get(SCRIPT)
        for domain, service, entity_ids, _ in self._calls(step) if hasattr(component, "get_entity") else ():
            if domain == SCRIPT:
                names = [f"{SCRIPT}.{service}"] if service not in SCRIPT_SERVICES else entity_ids
                if service not in SCRIPT_SERVICES - {"turn_on"}:
                    yield from filter(None, map(component.get_entity, names))

    def _calls(self, step: DraftStep) -> Iterator[tuple[str, str, list[str], Mapping[str, Any]]]:
        """Yield the service calls of a step with the entities that they certainly reach."""
        config = step.config
        if step.does(cv.SCRIPT_ACTION_ACTIVATE_SCENE):
            yield SCENE, "turn_on", [str(config["scene"])], {}
        elif step.does(cv.SCRIPT_ACTION_DEVICE_AUTOMATION) and isinstance(config.get(ATTR_ENTITY_ID), str):
            entity_id = config[ATTR_ENTITY_ID]
            yield str(config.get("domain", "")), str(config.get("type", "")), [self._id(entity_id)], {}
        elif step.does(cv.SCRIPT_ACTION_CALL_SERVICE) and isinstance(config.get("action"), str):
            domain, _, service = config["action"].partition(".")
            data = config.get("data")
            data = data if isinstance(data, Mapping) else {}
            selection: dict[str, Any] = {}
            for place in (config, data, config.get("target")):
                for key in _TARGETS if isinstance(place, Mapping) else ():
                    assert isinstance(place, Mapping)
                    if named := _texts(place.get(key)):
                        selection.setdefault(key, []).extend(named)
            found = async_extract_referenced_entity_ids(self._hass, TargetSelection(selection))
            reached = sorted(
                filter(valid_entity_id, found.referenced | found.indirectly_referenced)
            )  # without templates
            if domain != HOMEASSISTANT_DOMAIN:
                reached = [one for one in reached if split_entity_id(one)[0] == domain]
            yield domain, service, reached, data

    def _id(self, named: str) -> str:
        return named.lower() if "." in named else er.async_resolve_entity_id(er.async_get(self._hass), named) or named

    def _states_of(self, domain: str, service: str, entity_id: str, state: str) -> Iterator[tuple[str, str]]:
        """Yield the states that entities get by a call, "?" for the other one."""
        if domain == SCENE and service == "turn_on":
            component: Any = self._hass.data.get(SCENE)
            scene = component.get_entity(entity_id) if hasattr(component, "get_entity") else None
            configured: Mapping[str, State] = getattr(getattr(scene, "scene_config", None), "states", {})
            for one in configured.values():
                yield one.entity_id, one.state
        elif state:
            yield entity_id, state


def _of_run(entity_id: str, name: str) -> Iterator[Consequence]:
    """Yield what each run of an automation brings about, beside its actions."""
    yield Consequence("triggers", event="automation_triggered", data={ATTR_ENTITY_ID: entity_id, "name": name})
    if entity_id:
        yield Consequence("triggers", entity_id=entity_id, state=_ATTRIBUTES)


def _of_call(
    path: str, domain: str, service: str, data: Mapping[str, Any], entity_ids: Sequence[str]
) -> Iterator[Consequence]:
    """Yield what a call brings about beside what it does to its entities."""
    called = {"domain": domain, "service": service, "service_data": {**data, ATTR_ENTITY_ID: [*entity_ids]}}
    yield Consequence(path, event="call_service", data=called)
    if domain == AUTOMATION and service == "trigger":
        is_bare = _plain(data.get("skip_condition")) not in (False, "false")
        for entity_id in entity_ids if is_bare else ():
            yield Consequence(path, started=entity_id)
    elif domain == SCRIPT:
        for one in entity_ids if service in SCRIPT_SERVICES else [f"{SCRIPT}.{service}"]:
            if service not in SCRIPT_SERVICES - {"turn_on"}:
                yield Consequence(path, event="script_started", data={ATTR_ENTITY_ID: one})
                yield Consequence(path, entity_id=one, state="on")
    elif (domain, service) == ("conversation", "process") and isinstance(text := _plain(data.get("text")), str):
        yield Consequence(path, said=text)
    elif (domain, service) == ("mqtt", "publish") and isinstance(topic := _plain(data.get("topic")), str):
        yield Consequence(path, topic=topic, data={key: _plain(value) for key, value in data.items()})
    elif (domain, service) == ("persistent_notification", "create") and data.get("notification_id") is None:
        yield Consequence(path, event="persistent_notification")


def _changed(changes: Mapping[str, Sequence[tuple[str, str]]], known: Mapping[str, str]) -> Iterator[Consequence]:
    """Yield the states that entities certainly get when all their calls have been made, from any state before.

    `known` are the states that they certainly have when it begins.
    """
    for entity_id, states in changes.items():
        last = states[-1][1]  # what it is when all of this happens again
        before = known.get(entity_id, last if len({state for _, state in states}) > 1 else "")
        for path, state in states:
            if state == "?":
                state = {"on": "off", "off": "on"}.get(before, "")
                yield Consequence(path, entity_id=entity_id, state=state)
            elif before and state != before:
                yield Consequence(path, entity_id=entity_id, state=state)
            before = state


def _known_states(triggers: object) -> dict[str, str]:
    """Return the states that entities certainly have when one of these triggers has started it: of a single one, as it names it."""
    found = [one for one in triggers if isinstance(one, Mapping)] if isinstance(triggers, Sequence | Iterator) else []
    if len(found) != 1:
        return {}
    config = _flat(found[0])
    entity_ids, states = _texts(config.get(ATTR_ENTITY_ID)), _texts(config.get("to"))
    is_state = config.get("trigger", config.get("platform")) == "state"
    if not is_state or len(entity_ids) != 1 or len(states) != 1 or config.get("attribute") or config.get("for"):
        return {}
    return {entity_ids[0]: states[0]}


def _flat(trigger: Mapping[str, Any]) -> Mapping[str, Any]:
    options = trigger.get("options")
    return {**trigger, **options} if isinstance(options, Mapping) else trigger


def _plain(value: object) -> object:
    return value.template if isinstance(value, Template) else value


def _texts(value: object) -> list[str]:
    """Return the texts of one value or a list; templates that are none are texts."""
    every = value if isinstance(value, list | tuple | set) else [value]
    return [text for one in every if isinstance(text := _plain(one), str)]


def _is_given(given: object, wanted: object) -> bool:
    given, wanted = _plain(given), _plain(wanted)
    if isinstance(given, Mapping) and isinstance(wanted, Mapping):
        return all(_is_given(given.get(key), value) for key, value in wanted.items())
    if isinstance(given, list) and isinstance(wanted, list):
        return [*map(_plain, given)] == [*map(_plain, wanted)]
    return given == wanted
