"""What an automation does, as people say it: "turn on Hallway Light", "wait 5 minutes", "at the same time: …"."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from homeassistant.const import ATTR_ENTITY_ID, CONF_TARGET
from homeassistant.core import valid_entity_id

from ..home.calls_in_words import async_call_in_words, verb_of
from ..home.wording import async_more
from ..support.const import DOMAIN
from ..turn.plan import ServiceCall
from .condition_phrases import async_condition, async_conditions
from .phrases import (
    HIDDEN,
    TARGETS,
    AllOf,
    AnyOf,
    AutomationPart,
    Narrator,
    Opened,
    in_round_brackets,
    listed,
    plain,
)
from .template_phrases import friendly
from .trigger_phrases import async_device_part, async_trigger

MAX_DEPTH = 4
MAX_ACTIONS = 8
MAX_MESSAGE = 120  # characters
MAX_DATA = 10  # variables that are named
_MOBILE_APP = "mobile_app_"
_COMMON_OF_STEPS = frozenset({"alias", "continue_on_error", "enabled", "metadata", "response_variable"})


async def async_action(phrases: Narrator, action: object, depth: int = 0) -> str:
    """Return one action in words; "" for one that does nothing."""
    if not isinstance(action, Mapping) or depth > MAX_DEPTH:
        return HIDDEN
    reader = next((reader for key, reader in _READERS.items() if key in action), None)
    told = await reader(phrases, action, depth) if reader else phrases.quoted(", ".join(map(str, action)))
    if told and action.get("continue_on_error") is True:
        told = await phrases.text("automation_word_despite_errors", what=in_round_brackets(told))
    return await phrases.switched(told, action)


async def async_actions(phrases: Narrator, actions: object, depth: int = 0) -> str:
    """Return actions in a row, one after the other."""
    told = await phrases.each(listed(actions), lambda one: async_action(phrases, one, depth), most=MAX_ACTIONS)
    return told or await phrases.text("automation_word_nothing")


# Calls of actions.


def _split(action: AutomationPart) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the target and the data of a call, as they are written wherever."""
    data: dict[str, Any] = {}
    for key in ("data_template", "data"):
        if isinstance(given := plain(action.get(key)), dict):
            data |= given
    target = plain(action.get(CONF_TARGET))
    found: dict[str, Any] = dict(target) if isinstance(target, dict) else {}
    for key in TARGETS:
        if key in data:
            found.setdefault(key, data.pop(key))
    if action.get(ATTR_ENTITY_ID) is not None:
        found.setdefault(ATTR_ENTITY_ID, plain(action[ATTR_ENTITY_ID]))
    if isinstance(target, str):
        found[ATTR_ENTITY_ID] = target
    return found, data


async def _async_call(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    service = plain(action.get("action") or action.get("service") or action.get("service_template"))
    target, data = _split(action)
    domain, _, name = str(service).partition(".")
    if not name or "{" in str(service):
        if texts := phrases.texts(service):
            calls = [{"action": one, "target": target, "data": data} for one in texts]
            one_of = [await async_action(phrases, call) for call in calls]
            return await phrases.joined(one_of, any_of=True, most=MAX_ACTIONS)
        is_decided = "{" in str(service)  # a template, a piece of which says nothing
        key = "automation_word_decided_action" if is_decided else "automation_word_some_action"
        told = await phrases.text(key, action=phrases.quoted(service))
        names = await phrases.target(target)
        return f"{told} ({names})" if names else told
    if special := await _async_special(phrases, domain, name, target, data):
        return special
    names = await phrases.target(target, domain)
    ids = tuple(one for one in phrases.meant(target.get(ATTR_ENTITY_ID)) if valid_entity_id(one))
    known = tuple(one for one in ids if phrases.may_tell(one)) or ((f"{domain}.{name}",) if names else ())
    call = ServiceCall(
        domain=domain, service=name, entity_ids=known[:1] if len(known) > 4 else known, data=phrases.told_data(data)
    )
    told = await async_call_in_words(phrases.hass, phrases.language, call, names=names)
    return told if verb_of(call.action) or phrases.language.startswith("de") else _in_a_sentence(told)


def _in_a_sentence(name: str) -> str:
    """Return a name of an action with a small letter in front, unless it begins with an abbreviation or a mark."""
    return name[:1].lower() + name[1:] if name[1:2].islower() else name


async def _async_special(
    phrases: Narrator, domain: str, name: str, target: AutomationPart, data: AutomationPart
) -> str:
    """Return what people have words of their own for: messages, questions, scenes, scripts; "" for other calls."""
    message = phrases.quoted(data.get("message"), MAX_MESSAGE) if data.get("message") else ""
    match domain:
        case "notify" if message:
            who = await _async_recipient(phrases, name, target)
            key = "automation_word_message_to" if who else "automation_word_message"
            return await phrases.text(key, text=message, names=who) + await phrases.rest(data, ("message",))
        case "persistent_notification" if message and name == "create":
            return await phrases.text("automation_word_show", text=message) + await phrases.rest(data, ("message",))
        case "tts" | "assist_satellite" if message:
            where = data.get("media_player_entity_id") or target.get(ATTR_ENTITY_ID)
            names = await phrases.names(where) if where else await phrases.target(target)
            told = await phrases.text("automation_word_say", text=message, names=names or HIDDEN)
            return told + await phrases.rest(data, ("message", "media_player_entity_id", "cache"))
        case "home_agent" | "conversation" if name == "process" and data.get("text"):
            return await _async_ask(phrases, domain, data)
        case "scene" if name == "turn_on" and target.get(ATTR_ENTITY_ID):
            return await phrases.text("automation_word_scene", names=await phrases.target(target)) + await phrases.rest(
                data, ()
            )
        case "script" if name not in ("turn_on", "turn_off", "toggle", "reload"):
            details = [
                f"{phrases.cut(key, 30)}: {phrases.quoted(value, 40)}" for key, value in phrases.told_data(data).items()
            ]
            told = await phrases.text("automation_word_run_script", names=_script(phrases, name))
            return told + await phrases.in_brackets(details)
        case "script" if name == "turn_on" and not data:
            return await phrases.text("automation_word_run_script", names=await phrases.target(target) or HIDDEN)
    return ""


def _script(phrases: Narrator, name: str) -> str:
    """Return the name of a script that is called by its own action; of one that may not be known, what the action says."""
    found = phrases.name(f"script.{name}")
    return phrases.quoted(name.replace("_", " ")) if found == HIDDEN else found


async def _async_recipient(phrases: Narrator, name: str, target: AutomationPart) -> str:
    if name == "send_message":
        return await phrases.target(target) or HIDDEN
    if name in ("notify", "persistent_notification"):
        return ""
    return phrases.cut(name.removeprefix(_MOBILE_APP).replace("_", " ").title())


async def _async_ask(phrases: Narrator, domain: str, data: AutomationPart) -> str:
    agent = data.get("profile") or data.get("agent_id")
    name = phrases.name(agent) if isinstance(agent, str) and valid_entity_id(agent) else ""
    if not name:
        name = phrases.cut(phrases.meaning(str(agent))) if agent else "Home Agent" if domain == DOMAIN else "Assist"
    told = await phrases.text("automation_word_ask", names=name, text=phrases.quoted(data.get("text"), MAX_MESSAGE))
    if names := await phrases.names(data.get("context_entities")):
        told = await phrases.text("automation_word_ask_with", what=told, names=names)
    return told + await phrases.rest(data, ("text", "profile", "agent_id", "context_entities"))


async def _async_scene(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    return await phrases.text("automation_word_scene", names=await phrases.names(action.get("scene")))


async def _async_device(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    return await async_device_part(phrases, action, "action_type")


# What holds actions together.


async def _async_delay(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    return await phrases.text("automation_word_wait", duration=await phrases.length(action["delay"]))


async def _async_at_most(phrases: Narrator, told: str, action: AutomationPart) -> str:
    if action.get("timeout") is None:
        return told
    key = "automation_word_or_stop" if action.get("continue_on_timeout") is False else "automation_word_at_most"
    return await phrases.text(key, what=told, duration=await phrases.length(action["timeout"]))


async def _async_wait_for(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    what = await phrases.each(listed(action["wait_for_trigger"]), lambda one: async_trigger(phrases, one), any_of=True)
    told = await phrases.text("automation_word_wait_for", what=in_round_brackets(what))
    return await _async_at_most(phrases, told, action)


async def _async_wait_template(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    text = str(plain(action["wait_template"]))
    what = await async_condition(phrases, text, 1) if friendly(text) is not None else phrases.template(text)
    told = await phrases.text("automation_word_wait_until", what=in_round_brackets(what))
    return await _async_at_most(phrases, told, action)


async def _async_branch(phrases: Narrator, conditions: object, actions: object, depth: int) -> str:
    if_so = await async_conditions(phrases, conditions, 1)
    then = await async_actions(phrases, actions, depth + 1)
    then = f"({then})" if ";" in then else then  # what stands after it is not of its own branches
    return f"{if_so}: {then}" if if_so else then


async def _async_otherwise(phrases: Narrator, said: Sequence[str], actions: object, depth: int) -> str:
    told = "; ".join(said)
    if not listed(actions):
        return Opened(told)
    otherwise = await async_actions(phrases, actions, depth + 1)
    if not told:
        return otherwise
    return Opened(f"{told}; {await phrases.text('automation_word_otherwise', actions=otherwise)}")


async def _async_if(phrases: Narrator, action: AutomationPart, depth: int) -> str:
    said = await _async_branch(phrases, action["if"], action.get("then"), depth)
    return await _async_otherwise(phrases, [said], action.get("else"), depth)


async def _async_choose(phrases: Narrator, action: AutomationPart, depth: int) -> str:
    options = [one for one in listed(action["choose"]) if isinstance(one, Mapping)]
    said = [
        await _async_branch(phrases, one.get("conditions"), one.get("sequence"), depth) for one in options[:MAX_ACTIONS]
    ]
    if len(options) > MAX_ACTIONS:
        said.append(await phrases.text("confirm_more_names", count=str(len(options) - MAX_ACTIONS)))
    return await _async_otherwise(phrases, said, action.get("default"), depth)


async def _async_repeat(phrases: Narrator, action: AutomationPart, depth: int) -> str:
    repeat = action["repeat"] if isinstance(action["repeat"], Mapping) else {}
    actions = await async_actions(phrases, repeat.get("sequence"), depth + 1)
    if "count" in repeat:
        count = plain(repeat["count"])
        times = str(count) if isinstance(count, int) else phrases.quoted(count)
        return Opened(await phrases.text("automation_word_repeat", count=times, actions=actions))
    if "for_each" in repeat:
        given = phrases.meant(repeat["for_each"])
        said = [phrases.name(one) if valid_entity_id(one) else phrases.quoted(one, 40) for one in given]
        items = await phrases.joined(said)
        return Opened(await phrases.text("automation_word_for_each", items=items, actions=actions))
    key = "automation_word_repeat_until" if "until" in repeat else "automation_word_repeat_while"
    conditions = await async_conditions(phrases, repeat.get("until") or repeat.get("while"), 1)
    return Opened(await phrases.text(key, conditions=conditions, actions=actions))


async def _async_parallel(phrases: Narrator, action: AutomationPart, depth: int) -> str:
    actions = await async_actions(phrases, action["parallel"], depth + 1)
    return Opened(await phrases.text("automation_word_parallel", actions=actions))


async def _async_sequence(phrases: Narrator, action: AutomationPart, depth: int) -> str:
    told = await async_actions(phrases, action["sequence"], depth + 1)
    return f"({told})" if len(listed(action["sequence"])) > 1 else told


async def _async_event(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    told = await phrases.text("automation_word_fire", event=phrases.quoted(action["event"]))
    data: dict[str, Any] = {}
    for key in ("event_data", "event_data_template"):
        data |= given if isinstance(given := plain(action.get(key)), dict) else {}
    return told + await phrases.rest(data, ())


async def _async_stop(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    why = phrases.quoted(action["stop"]) if action["stop"] else ""
    told = await phrases.text("automation_word_stop")
    told = f"{told} ({why})" if why else told
    return told + await phrases.rest(action, {*_COMMON_OF_STEPS, "stop", *(() if action.get("error") else ("error",))})


async def _async_respond(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    said = action["set_conversation_response"]
    return (
        await phrases.text("automation_word_respond", text=phrases.quoted(said, MAX_MESSAGE))
        if said is not None
        else ""
    )


async def _async_go_on(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    if action.get("condition") == "template" and friendly(text := str(plain(action.get("value_template")))) is None:
        return await phrases.text("automation_word_go_on_if_true", template=phrases.template(text))
    condition = await async_condition(phrases, action)
    told = await phrases.text("automation_word_go_on", condition=condition)
    return Opened(told) if isinstance(condition, AllOf | AnyOf | Opened) else told


async def _async_all_met(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    """Return a condition in the short form: the conditions stand under the word that joins them."""
    for kind in ("and", "or", "not"):
        if kind in action:
            return await _async_go_on(phrases, {"condition": kind, "conditions": action[kind]}, 0)
    return ""


async def _async_variables(phrases: Narrator, action: AutomationPart, _depth: int) -> str:
    given = plain(action["variables"])
    names = ""
    if isinstance(given, dict):
        said = [f"{phrases.cut(name, 30)} ({await phrases.value(name, given[name])})" for name in [*given][:MAX_DATA]]
        names = await async_more(phrases.hass, phrases.language, said, len(given))
    return await phrases.text("automation_word_variables", names=names or HIDDEN)


_READERS: Mapping[str, Callable[[Narrator, AutomationPart, int], Awaitable[str]]] = {
    "action": _async_call,
    "service": _async_call,
    "service_template": _async_call,
    "scene": _async_scene,
    "condition": _async_go_on,
    "device_id": _async_device,
    "delay": _async_delay,
    "wait_for_trigger": _async_wait_for,
    "wait_template": _async_wait_template,
    "if": _async_if,
    "choose": _async_choose,
    "repeat": _async_repeat,
    "parallel": _async_parallel,
    "sequence": _async_sequence,
    "event": _async_event,
    "stop": _async_stop,
    "set_conversation_response": _async_respond,
    "variables": _async_variables,
    "and": _async_all_met,
    "or": _async_all_met,
    "not": _async_all_met,
}
