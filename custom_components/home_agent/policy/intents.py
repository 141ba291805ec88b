"""What a recognised sentence would do: an intent and its slots become a plan, before Home Assistant handles it.

Home Assistant calls services from inside its intent handlers without asking. The targets are found here the way its
handlers find them, at the moment they are about to; nothing awaits between this and the handler. What an intent of the owner's
does is read from its actions; a handler of which nothing is known may do anything.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
import re
from typing import Any

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.components.climate.const import ClimateEntityFeature
from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.components.light.const import COLOR_MODES_BRIGHTNESS, COLOR_MODES_COLOR, ColorMode
from homeassistant.components.media_player.const import MediaPlayerEntityFeature
from homeassistant.components.todo.const import ATTR_ITEM, DOMAIN as TODO_DOMAIN, TodoServices
from homeassistant.const import ATTR_ENTITY_ID, ENTITY_MATCH_ALL
from homeassistant.core import HomeAssistant, State, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, intent
from homeassistant.helpers.script import Script
import probatio

from ..home.contents import AUTOMATION, UNFORESEEN, waiting_for
from ..home.domains import DOMAINS, UNKNOWN
from ..home.domains.todo import listed
from ..home.exposure import is_exposed, is_narrowed, is_shared, may_know
from ..home.judgement import Judgement, judge, judge_named, judge_sequence
from ..home.targets import refuse_broad_ids, variables_name
from ..languages.phrases import ReplyKind, asks_to_remove, read_answer
from ..support.const import ASSISTANT
from ..support.errors import ToolError, ToolPermissionError, ToolRefusal
from ..turn.plan import DESTRUCTIVE, ActionClass, Plan, Reach, ServiceCall
from ..turn.turn import Turn
from .write import PlanBuilder

CLEAN_AREA = "HassVacuumCleanArea"
COMMAND = "conversation_command"
"""The slot of a timer that holds what is to be done when it ends."""
TIMERS = frozenset(
    {
        intent.INTENT_START_TIMER, intent.INTENT_CANCEL_TIMER, intent.INTENT_CANCEL_ALL_TIMERS,
        intent.INTENT_INCREASE_TIMER, intent.INTENT_DECREASE_TIMER, intent.INTENT_PAUSE_TIMER,
        intent.INTENT_UNPAUSE_TIMER, intent.INTENT_TIMER_STATUS,
    }
)  # fmt: skip
"""Their names and areas are those of timers."""
QUESTIONS = frozenset({intent.INTENT_GET_STATE, intent.INTENT_GET_TEMPERATURE, "HassGetWeather"})
"""They change nothing; what they read is known from their answer."""
CHANGES_NOTHING = QUESTIONS | {
    intent.INTENT_NEVERMIND, intent.INTENT_RESPOND, intent.INTENT_GET_CURRENT_DATE, intent.INTENT_GET_CURRENT_TIME,
    intent.INTENT_TIMER_STATUS,
}  # fmt: skip
_SETS_LIGHT = "HassLightSet"
_REMOVES = "HassListRemoveItem"
_TICKS_OFF = "HassShoppingListCompleteItem"
"""The intent that Home Assistant's sentences have for removing from the shopping list as well; it only ticks off."""
_SHOPPING = "shopping_list"
"""The integration whose intents name no list: they mean its own."""
_LAST_ITEMS = "HassShoppingListLastItems"
_FEATURES: Mapping[str, int] = {
    "HassClimateSetTemperature": ClimateEntityFeature.TARGET_TEMPERATURE,
    "HassClimateSetFanMode": ClimateEntityFeature.FAN_MODE,
    "HassMediaSearchAndPlay": MediaPlayerEntityFeature.SEARCH_MEDIA | MediaPlayerEntityFeature.PLAY_MEDIA,
}
"""Intents that are for one entity, and what their handlers ask of it besides: the plan has to find the one that they find."""
_HANDLED: Mapping[str, tuple[str, ...]] = {
    "HassBroadcast": ("assist_satellite.announce",),
    "HassClimateSetFanMode": ("climate.set_fan_mode",),
    "HassClimateSetTemperature": ("climate.set_temperature",),
    "HassHumidifierMode": ("humidifier.set_mode", "humidifier.turn_on"),
    "HassHumidifierSetpoint": ("humidifier.set_humidity", "humidifier.turn_on"),
    "HassListAddItem": ("todo.add_item",),
    "HassListCompleteItem": ("todo.update_item",),
    "HassMediaSearchAndPlay": ("media_player.play_media",),
    "HassSetVolumeRelative": ("media_player.volume_set",),
    "HassShoppingListAddItem": ("shopping_list.add_item", "todo.add_item"),
    "HassShoppingListCompleteItem": ("shopping_list.complete_item", "todo.update_item"),
    CLEAN_AREA: ("vacuum.clean_area",),
}
"""Actions of intents whose handlers do not say what they call (homeassistant/components/*/intent.py)."""
_OWN = CHANGES_NOTHING | TIMERS | {*_HANDLED, _REMOVES, _LAST_ITEMS}
"""Home Assistant's intents of which it is known what they do, besides those whose handlers say it."""
_SAID: Mapping[str, dict[str, Any]] = {
    "HassMediaPlayerMute": {"is_volume_muted": True},
    "HassMediaPlayerUnmute": {"is_volume_muted": False},
}
"""Data that handlers put into their calls and that no slot has."""
_CORE, _SCRIPTS = "homeassistant.", "homeassistant.components.intent_script"
_CLAUSE = re.compile(r"[.,;:!?\n]+")
INTENT_SCRIPT = "intent_script"
"""The integration of the owner's intents, and the prefix of their tools."""
_LOOKS: Mapping[str, frozenset[str]] = {
    "brightness": frozenset(COLOR_MODES_BRIGHTNESS),
    "color": frozenset(COLOR_MODES_COLOR),
    "temperature": frozenset({ColorMode.COLOR_TEMP, *COLOR_MODES_COLOR}),
}
"""Slots of a light, with the color modes of which it needs one; Home Assistant turns on a light that has none, and says that it is done."""
_ONE_THING = frozenset({*_FEATURES, intent.INTENT_GET_TEMPERATURE})
"""Intents that are handled only when they fit one entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The sentence fits, the home does not."""

    reason: intent.MatchFailedReason
    constraints: intent.MatchTargetsConstraints
    certain: bool  # whether the handler cannot find anything either


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """An intent with its slots."""

    name: str
    slots: Mapping[str, Any]


def plan_of(hass: HomeAssistant, turn: Turn, recognised: Recognised) -> Plan | Mismatch:
    """Return what handling the intent comes to, with the actions that its handler is known to take.

    Raises `ToolError` for a delayed command of a user with limits, a group with hidden members, and a hidden name.
    """
    handler = next((item for item in intent.async_get(hass) if item.intent_type == recognised.name), None)
    if handler is not None and not is_known(handler):
        return _plan_of_others(hass, turn, handler, recognised)
    plan = _plan_of(hass, turn, recognised, handler)
    if isinstance(plan, Mismatch) or not (names := _HANDLED.get(recognised.name, ())):
        return plan
    named = (name.split(".") for name in names)
    calls = [ServiceCall(domain=domain, service=service, entity_ids=plan.targets) for domain, service in named]
    found = [judge(hass, call).reach for call in calls]
    also, wary = (name for reach in found for name in reach.also), any(reach.wary for reach in found)
    written = tuple(dict.fromkeys(item for reach in found for item in reach.written))
    plan = replace(plan, handled=tuple(calls), reach=plan.reach + Reach(also=tuple(also), written=written, wary=wary))
    if recognised.name == intent.INTENT_BROADCAST and _says_yes(hass, turn, str(recognised.slots.get("message", ""))):
        return replace(plan, action=ActionClass.SENSITIVE, reasons=(DESTRUCTIVE,))
    return plan


def is_known(handler: intent.IntentHandler) -> bool:
    """Return whether it is known what a handler does: it is one of Home Assistant's, and says so or is listed here."""
    module = type(handler).__module__
    if not module.startswith(_CORE) or module.startswith(_SCRIPTS):
        return False
    return isinstance(handler, intent.DynamicServiceIntentHandler) or handler.intent_type in _OWN


def is_of_owner(hass: HomeAssistant, name: str) -> bool:
    """Return whether an intent is one that the owner wrote (`intent_script`)."""
    return any(
        item.intent_type == name and type(item).__module__.startswith(_SCRIPTS) for item in intent.async_get(hass)
    )


def _says_yes(hass: HomeAssistant, turn: Turn, message: str) -> bool:
    """Return whether a satellite that hears a message may take a part of it for a yes."""
    return any(
        read_answer(part, language).kind is ReplyKind.YES
        for part in _CLAUSE.split(message)
        for language in {turn.language, hass.config.language}
        if part.strip()
    )


def _plan_of_others(hass: HomeAssistant, turn: Turn, handler: intent.IntentHandler, recognised: Recognised) -> Plan:
    """Return what an intent of the owner's or of another integration comes to.

    Raises `ToolError` for a user who may not control what it reaches, and where only a part of the home is known for what lies
    outside of that.
    """
    given, named = _told_slots(hass, recognised.slots)
    sequence, user = _sequence_of(handler), turn.user
    if sequence is None:
        found, named = Judgement(reasons=(DESTRUCTIVE,)), (*named, *_matched(hass, turn, handler, recognised))
    else:
        found = judge_sequence(hass, sequence, given)
    found += judge_named(hass, named)
    entities = [item for item in dict.fromkeys((*named, *found.reach.reached)) if hass.states.get(item) is not None]
    if is_narrowed(hass):
        for entity_id in entities:
            if not is_shared(hass, entity_id):
                raise ToolError("entity_not_found", target=recognised.name)
    if sequence != () and not _may_control(user, entities, found):
        raise ToolPermissionError(target=recognised.name)
    return Plan(
        action=ActionClass.SENSITIVE if found.reasons else ActionClass.WRITE,
        targets=named,
        reasons=found.reasons,
        reach=found.reach + Reach(also=(recognised.name,)),
    )


def _matched(hass: HomeAssistant, turn: Turn, handler: intent.IntentHandler, recognised: Recognised) -> tuple[str, ...]:
    """Return the entities that fit the slots of an intent, if any do: a handler looks for these at least."""
    constraints = _constraints(handler, recognised)
    if not constraints.has_constraints:
        return ()
    match = intent.async_match_targets(hass, constraints, intent.MatchTargetsPreferences(area_id=turn.area_id))
    builder = PlanBuilder(hass)
    builder.touch([state.entity_id for state in match.states] if match.is_match else [])
    return tuple(builder.targets)


def _told_slots(hass: HomeAssistant, slots: Mapping[str, Any]) -> tuple[list[str], tuple[str, ...]]:
    """Return the slots whose values name single entities or none, and these; as a target, any other stands for everything."""
    given: list[str] = []
    named: dict[str, None] = {}
    for slot, value in slots.items():
        try:
            refuse_broad_ids(hass, value)
        except ToolRefusal:
            continue
        found = dict.fromkeys(variables_name(hass, value))
        if ENTITY_MATCH_ALL not in found:
            given.append(slot)
            named |= {item: None for item in found if hass.states.get(item) is not None}
    return given, tuple(named)


def _sequence_of(handler: intent.IntentHandler) -> Sequence[Mapping[str, Any]] | None:
    """Return the actions of an intent of the owner's; None if they are not known."""
    config = getattr(handler, "config", None)
    if not type(handler).__module__.startswith(_SCRIPTS) or not isinstance(config, Mapping):
        return None
    action = config.get("action")
    return () if action is None else action.sequence if isinstance(action, Script) else None


def _may_control(user: User | None, entities: Collection[str], found: Judgement) -> bool:
    """Return whether a user may control all that is reached; what is not an entity needs the right to control everything."""
    if user is None or user.permissions.access_all_entities(POLICY_CONTROL):
        return True
    allowed = all(user.permissions.check_entity(entity_id, POLICY_CONTROL) for entity_id in entities)
    return bool(entities) and allowed and DESTRUCTIVE not in found.reasons


def _plan_of(
    hass: HomeAssistant, turn: Turn, recognised: Recognised, handler: intent.IntentHandler | None
) -> Plan | Mismatch:
    command = recognised.slots.get(COMMAND)
    if command and turn.user is not None and not turn.user.permissions.access_all_entities(POLICY_CONTROL):
        raise ToolPermissionError(target=str(command))  # it comes back later, and then no user is known to have asked
    if handler is None or recognised.name in TIMERS or recognised.name in QUESTIONS:
        return Plan(action=ActionClass.WRITE)
    if handler.platforms == {_SHOPPING}:  # which asks for no exposure
        if not (lists := _shopping_lists(hass)):
            raise ToolError("entity_not_found", target=_SHOPPING)
        return Plan(action=ActionClass.READ if recognised.name == _LAST_ITEMS else ActionClass.WRITE, targets=lists)
    constraints = _constraints(handler, recognised)
    if not constraints.has_constraints:
        return Plan(action=ActionClass.WRITE)
    if turn.record.planned is not None and constraints.name:
        constraints.states = None  # what it does at that time is not known yet
    preferences = intent.MatchTargetsPreferences(area_id=turn.area_id)
    name = constraints.name
    # the local brain names entities by their ids: then no other has to be read
    one = hass.states.get(name) if name else None
    only = [one] if one is not None and one.entity_id == name else None
    match = intent.async_match_targets(hass, constraints, preferences, states=only)
    sets_light = match.is_match and recognised.name == _SETS_LIGHT
    if sets_light and not any(is_able(state, recognised) for state in match.states):
        return Mismatch(reason=intent.MatchFailedReason.FEATURE, constraints=constraints, certain=True)
    if match.is_match:
        builder = PlanBuilder(hass)
        builder.touch([state.entity_id for state in match.states])
        for call in _calls(hass, turn, recognised, handler, match.states):
            builder.add(call)
        return builder.plan()
    mismatch, unnamed = _mismatch(hass, turn, handler, constraints), intent.MatchFailedReason.NAME
    if (
        mismatch.reason is unnamed and match.no_match_reason is not unnamed
    ):  # several have it, the user may know of none
        raise ToolError("entity_not_found", target=name or "")
    return mismatch


def is_able(state: State, recognised: Recognised) -> bool:
    """Return whether an entity can look as an intent wants; what does not say which looks it has can have any."""
    modes = state.attributes.get("supported_color_modes")
    if recognised.name != _SETS_LIGHT or not isinstance(modes, (list, set, frozenset)):
        return True
    return all(not needed.isdisjoint(modes) for slot, needed in _LOOKS.items() if slot in recognised.slots)


def as_said(hass: HomeAssistant, turn: Turn, recognised: Recognised) -> Recognised:
    """Return the intent that does what was said: to remove something from the shopping list is not to tick it off there."""
    shopping_lists = _shopping_lists(hass) if recognised.name == _TICKS_OFF else ()
    if len(shopping_lists) != 1 or not asks_to_remove(turn.text, turn.language):
        return recognised
    if (state := hass.states.get(shopping_lists[0])) is None:
        return recognised
    return Recognised(name=_REMOVES, slots={**recognised.slots, "name": state.name})


def mismatch_of(hass: HomeAssistant, turn: Turn, recognised: Recognised) -> Mismatch:
    """Return why nothing fits an intent that found nothing when it was handled."""
    handler = next(item for item in intent.async_get(hass) if item.intent_type == recognised.name)
    return _mismatch(hass, turn, handler, _constraints(handler, recognised))


def _mismatch(
    hass: HomeAssistant, turn: Turn, handler: intent.IntentHandler, constraints: intent.MatchTargetsConstraints
) -> Mismatch:
    """Return why nothing matches among what the user may know of: why nothing else does would tell that it exists."""
    preferences = intent.MatchTargetsPreferences(area_id=turn.area_id)
    known = [
        state
        for state in hass.states.async_all(constraints.domains)
        if is_exposed(hass, state.entity_id) and may_know(hass, turn.user, state.entity_id)
    ]
    match = intent.async_match_targets(hass, constraints, preferences, states=known) if known else None
    return Mismatch(
        reason=(match and match.no_match_reason) or intent.MatchFailedReason.DOMAIN,
        constraints=constraints,
        certain=isinstance(handler, intent.DynamicServiceIntentHandler) or bool(handler.platforms),
    )


def _shopping_lists(hass: HomeAssistant) -> tuple[str, ...]:
    return tuple(
        entry.entity_id
        for entry in er.async_get(hass).entities.values()
        if entry.platform == _SHOPPING and entry.domain == TODO_DOMAIN
    )


def plan_of_trigger(hass: HomeAssistant, turn: Turn, sentences: Collection[str]) -> Plan:
    """Return the plan of the automations that wait for these sentences, exposed or not; an unknown one may do anything.

    Raises `ToolError` for a user who may not control one of them.
    """
    found: dict[str, None] = {}
    judged = Judgement()
    unforeseen = Reach(inside=(ServiceCall(domain="", service=UNFORESEEN, entity_ids=()),))
    for sentence in sentences:
        if not (waiting := waiting_for(hass, (sentence,))):
            judged += Judgement(reasons=(DESTRUCTIVE,), reach=unforeseen)
        found |= dict.fromkeys(waiting)
    for entity_id in found:
        if turn.user is not None and not turn.user.permissions.check_entity(entity_id, POLICY_CONTROL):
            raise ToolPermissionError(target=entity_id)
        service = "trigger" if entity_id.partition(".")[0] == AUTOMATION else "turn_on"
        call = ServiceCall(domain=entity_id.partition(".")[0], service=service, entity_ids=(entity_id,))
        judged += judge(hass, call) + Judgement(reach=Reach(reached=(entity_id,), also=(call.action,)))
    is_unforeseen = UNFORESEEN in {item.service for item in judged.reach.inside}
    shown = [state for entity_id in found if (state := hass.states.get(entity_id)) and is_exposed(hass, entity_id)]
    return Plan(
        action=ActionClass.SENSITIVE if judged.reasons else ActionClass.WRITE,
        reasons=judged.reasons,
        sensitive=tuple(found) if judged.reasons and not is_unforeseen else (),
        reach=judged.reach,
        subject=", ".join(state.name for state in shown) or turn.text,
    )


def pinned(name: str, slots: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Return the slots of an intent that is for one entity with that entity as its name: no other is looked for."""
    is_known = name in _FEATURES and len(plan.targets) == 1
    return {**slots, "name": plan.targets[0]} if is_known else dict(slots)


def nothing_there(hass: HomeAssistant, recognised: Recognised) -> Mismatch:
    """Return what would be said of an intent if nothing that it is about existed."""
    handler = next(item for item in intent.async_get(hass) if item.intent_type == recognised.name)
    constraints = _constraints(handler, recognised)
    return Mismatch(reason=intent.MatchFailedReason.DOMAIN, constraints=constraints, certain=True)


def _constraints(handler: intent.IntentHandler, recognised: Recognised) -> intent.MatchTargetsConstraints:
    """Return which entities the handler will look for; for handlers of other kinds, at least those."""
    slots = recognised.slots
    name = slots.get("name")
    constraints = intent.MatchTargetsConstraints(
        name=None if name == "all" else name,
        area_name=None if recognised.name == CLEAN_AREA else slots.get("area"),
        floor_name=slots.get("floor"),
        domains=_set_of(slots.get("domain")) or handler.platforms,
        device_classes=_set_of(slots.get("device_class")),
        assistant=ASSISTANT,
    )
    if isinstance(handler, intent.DynamicServiceIntentHandler):
        constraints.name = None if name == "all" else name
        constraints.domains = _set_of(slots.get("domain")) or handler.required_domains
        constraints.features = handler.required_features
        constraints.states = handler.required_states
    else:
        constraints.features = _FEATURES.get(recognised.name)
        constraints.single_target = recognised.name in _ONE_THING
    return constraints


def _set_of(value: Any) -> set[str] | None:
    return set(probatio.EnsureList()(value)) if value else None


def _calls(
    hass: HomeAssistant, turn: Turn, recognised: Recognised, handler: intent.IntentHandler, states: Iterable[State]
) -> Iterable[ServiceCall]:
    """Yield the service calls of a handler that says which they are, or of which it is known."""
    if recognised.name == _REMOVES and (item := str(recognised.slots.get("item", "")).strip()):
        for state in states:
            data = {ATTR_ITEM: listed(hass, state.entity_id, item) or item}
            yield ServiceCall(
                domain=TODO_DOMAIN, service=TodoServices.REMOVE_ITEM, entity_ids=(state.entity_id,), data=data
            )
    if not isinstance(handler, intent.DynamicServiceIntentHandler):
        return
    slots = {name: {"value": value} for name, value in recognised.slots.items()}
    asked = intent.Intent(hass, ASSISTANT, recognised.name, slots, None, turn.context, turn.language, ASSISTANT)
    try:
        values = {name: slot["value"] for name, slot in handler.async_validate_slots(slots).items()}
    except probatio.Invalid:  # the handler will say so itself
        values = dict(recognised.slots)
    data = _SAID.get(recognised.name, {}) | {
        slot.service_data_name or name: values[name]
        for name, slot in (handler.required_slots | handler.optional_slots).items()
        if name in values
    }
    for state in states:
        try:
            domain, service = handler.get_domain_and_service(asked, state)
        except HomeAssistantError:
            continue  # the handler will say so itself
        own = DOMAINS.get(state.domain, UNKNOWN).own.get(service)
        yield ServiceCall(
            domain=state.domain if own else domain,
            service=own or service,
            entity_ids=(state.entity_id,),
            data={key: value for key, value in data.items() if key != ATTR_ENTITY_ID},
        )


@callback
def forget_timers(hass: HomeAssistant, name: str) -> None:
    """Let go of timers that are over before an intent starts another: Home Assistant keeps them, with the turns that started them."""
    if name == intent.INTENT_START_TIMER and (timers := hass.data.get(TIMER_DATA)) is not None:
        for timer_id in [timer_id for timer_id, task in timers.timer_tasks.items() if task.done()]:
            del timers.timer_tasks[timer_id]


async def async_handle(
    hass: HomeAssistant, turn: Turn, name: str, slots: Mapping[str, Any], *, text: str | None, platform: str = ASSISTANT
) -> intent.IntentResponse:
    """Have Home Assistant handle an intent for a turn; `slots` in its form. Raises `intent.IntentError`."""
    forget_timers(hass, name)
    return await intent.async_handle(
        hass,
        platform,
        name,
        dict(slots),
        text,
        turn.context,
        turn.language,
        assistant=ASSISTANT,
        device_id=turn.device_id,
        satellite_id=turn.satellite_id,
        conversation_agent_id=turn.agent_id,
    )
