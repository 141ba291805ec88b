"""The question before a sensitive action, and what is said after it: built by code, from what the home says now.

Nothing in it is a model's sentence. What a tool is called with may be a model's words; those are quoted and cut.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
import re

from homeassistant.components.lock import DOMAIN as LOCK_DOMAIN
from homeassistant.components.todo.const import ATTR_ITEM, DOMAIN as TODO_DOMAIN, TodoServices
from homeassistant.const import ATTR_DEVICE_CLASS, SERVICE_TURN_ON
from homeassistant.core import DOMAIN as HOMEASSISTANT_DOMAIN, HomeAssistant, State
from homeassistant.util.json import JsonObjectType

from ..home.contents import UNFORESEEN
from ..home.domains import DOMAINS, UNKNOWN
from ..home.exposure import is_exposed
from ..home.taught_names import title_of
from ..languages.data import ENGLISH
from ..languages.phrases import MASK
from ..support.localize import async_has_text, async_own_text, async_text
from ..support.masking import SECRET
from ..turn.plan import (
    ADD_NAME,
    DELEGATED,
    NAMING,
    PROPOSE_NAME,
    REMOVE_NAME,
    TAINTED,
    WITHDRAW_NAME,
    Effect,
    NameChange,
    Plan,
)
from ..turn.turn import Turn
from .confirmation import Call

SCRIPT_DOMAIN = "script"
_CODE = "services.unlock.fields.code.name"
"""What Home Assistant calls the code of a lock."""
_ON_THE_WAY = frozenset({"locking", "unlocking", "opening", "closing", "arming", "disarming", "pending"})
"""States that Home Assistant's words tell with a verb of their own in some languages."""
_WHY = {
    "unlock": "confirm_why_access",
    "open_door": "confirm_why_access",
    "disarm": "confirm_why_access",
    "open_valve": "confirm_why_valve",
    "always_ask": "confirm_why_listed",
    NAMING: "confirm_why_naming",
    DELEGATED: "confirm_why_delegated",
    TAINTED: "confirm_why_tainted",
}
"""Why is asked, by the reason; all others cannot be taken back."""
MAX_NAMES = 4
MAX_INSIDE = 4
MAX_DETAILS = 5
MAX_TEXTS = 10
MAX_TEXT = 120  # characters of each
MAX_NAME = 60  # characters
MAX_VALUE = 80
MAX_KEY = 30
_PLAIN_ITEM = re.compile(r"\w+(?:[ '’-]\w+){0,2}")
"""An item of a list that needs no quotation marks."""
_TOLD_BY = "confirm_unlock_it"
"""A text by which it is told whether a language has ours: one that reads in none as in English."""
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9 -]{0,29}", re.IGNORECASE)

_PHRASES = {
    "unlock": "confirm_unlock",
    "alarm_disarm": "confirm_disarm",
    "open": "confirm_open",
    "open_cover": "confirm_open",
    "open_valve": "confirm_open",
}
"""What a service is called in a question; others by Home Assistant's own name for them."""
_CHANGES = {
    ADD_NAME: "confirm_add_name",
    REMOVE_NAME: "confirm_remove_name",
    PROPOSE_NAME: "confirm_propose_name",
    WITHDRAW_NAME: "confirm_withdraw_name",
}
_NAMED = {ADD_NAME: "name_taught", PROPOSE_NAME: "name_proposed"}
"""What is said when a name was added or proposed after a yes."""
_GENERIC = {"turn_on": "confirm_turn_on", "turn_off": "confirm_turn_off", "toggle": "confirm_toggle"}
"""Actions for entities of every kind; Home Assistant calls them "Generic turn off" and the like."""
_IT = {
    "confirm_unlock": "confirm_unlock_it",
    "confirm_disarm": "confirm_disarm_it",
    "confirm_open": "confirm_open_it",
    "confirm_turn_on": "confirm_turn_on_it",
    "confirm_turn_off": "confirm_turn_off_it",
    "confirm_toggle": "confirm_toggle_it",
}
"""The same for the one thing that was just named."""


async def async_question(hass: HomeAssistant, turn: Turn, calls: Sequence[Call], *, with_pin: bool) -> str:
    """Return what is asked, in the language of the turn: what is true now, then the question.

    In a language that has no translation of ours it is put together from Home Assistant's names for states and actions; in
    English where those do not say all of it.
    """
    if not await async_has_text(hass, turn.speaks, _TOLD_BY):
        try:
            return await _async_plain_question(hass, turn.speaks, calls, with_pin=with_pin)
        except _NoWordsError:
            pass
    language = await _async_one_language(hass, turn.speaks)
    actions = [part for call in calls for part in await _async_parts(hass, turn, language, call)]
    text = "; ".join(actions)
    if len(actions) > 1:
        text = await async_text(hass, language, "confirm_several", actions=text)
    touched = _touched(hass, calls)
    already = {entity_id for call in calls for entity_id in call.plan.already}
    states = await _async_states(hass, language, touched, already)
    if len(touched) == len(states) == len(calls) == 1 and (it := await _async_it(hass, language, calls[0])):
        text = it
    question = await async_text(hass, language, "confirm_question", actions=_capitalised(text))
    said = [*states, question]
    if any(TAINTED in call.why for call in calls):
        tools = ", ".join(sorted(turn.record.taints))
        said.insert(0, await async_text(hass, language, "confirm_tainted", tools=tools))
    if with_pin:
        said.append(await async_text(hass, language, "confirm_pin"))
    return " ".join(said)


async def async_result(
    hass: HomeAssistant, language: str, key: str, calls: Sequence[Call], done: Sequence[tuple[Call, JsonObjectType]]
) -> str:
    """Return what is said after a yes: the sentence `key`, what the touched entities are now, what was named, kept or forgotten.

    `done` are the calls that succeeded, with their results. What was done needs no sentence of ours in a language that has
    none: Home Assistant's words for the states say it.
    """
    touched = _touched(hass, calls)
    has_words = await async_has_text(hass, language, key)
    if key == "confirm_done" and not has_words and 0 < len(touched) <= MAX_NAMES:
        try:
            return " ".join([await _async_plain_state(hass, language, state) for state in touched])
        except _NoWordsError:
            pass
    said = [await async_text(hass, language, key), await async_facts(hass, language, calls)]
    for call, result in done:
        said += [
            await async_name_change(hass, language, _NAMED[effect.service], effect)
            for effect in call.plan.effects
            if isinstance(effect, NameChange) and effect.service in _NAMED
        ]
        said += [
            await async_text(hass, language, sentence, texts=await _async_quoted(hass, language, texts))
            for sentence, texts in call.tool.done_with(call.plan, result).items()
        ]
    return " ".join(filter(None, said))


async def async_facts(hass: HomeAssistant, language: str, calls: Iterable[Call]) -> str:
    """Return in words what the touched entities are now; "" when no entity was touched."""
    language = await _async_one_language(hass, language)
    touched = _touched(hass, calls)
    sentences = await _async_states(hass, language, touched)
    if len(touched) > MAX_NAMES:
        sentences.append(await async_text(hass, language, "confirm_more", count=str(len(touched) - MAX_NAMES)))
    return " ".join(sentences)


async def async_not_followed(hass: HomeAssistant, language: str, entity_ids: Sequence[str]) -> str:
    """Return what is said of entities that a command was sent to without effect; a few by name, the others counted."""
    names = [_name(state) for item in entity_ids if (state := hass.states.get(item)) is not None]
    if left := names[MAX_NAMES:]:
        names[MAX_NAMES:] = [await async_text(hass, language, "confirm_more_names", count=str(len(left)))]
    return await async_text(hass, language, "local_not_followed", target=", ".join(names))


async def async_name_change(hass: HomeAssistant, language: str, key: str, change: NameChange) -> str:
    """Return a sentence, or a part of one, about a name: with what it is and what has it."""
    target = " ".join((title_of(hass, change.target) or change.target).split())[:MAX_NAME]
    return await async_text(hass, language, key, target=target, name=f"“{_cut(change.name)}”")


async def async_done(hass: HomeAssistant, language: str, effects: Sequence[Effect]) -> str:
    """Return in words what effects do: "turn off Bed Light"; without a code that was needed for it."""
    language = await _async_one_language(hass, language)
    return "; ".join([await _async_service(hass, language, effect) for effect in effects])


async def async_states(hass: HomeAssistant, language: str, entity_ids: Iterable[str]) -> str:
    """Return in words what these entities are now, the first few of them."""
    language = await _async_one_language(hass, language)
    known = [state for entity_id in entity_ids if (state := hass.states.get(entity_id)) is not None]
    return " ".join(await _async_states(hass, language, known))


async def async_already(hass: HomeAssistant, language: str, plan: Plan) -> str:
    """Return what is said of a plan of which all is so already, as "Front Door is already unlocked".

    In a language without a sentence of ours it is the state in Home Assistant's words.
    """
    said: list[str] = []
    for effect in plan.effects:
        states = [state for item in effect.entity_ids if (state := hass.states.get(item)) is not None]
        if item := _removed(effect):
            said += [
                await async_text(hass, language, "confirm_not_listed", item=item, name=_name(one)) for one in states
            ]
        elif await async_has_text(hass, language, "confirm_already"):
            said += await _async_states(hass, language, states, {*plan.already})
        else:
            try:
                said += [await _async_plain_state(hass, language, state) for state in states]
            except _NoWordsError:
                said.append(await async_states(hass, language, effect.entity_ids))
    return " ".join(dict.fromkeys(said))


async def async_why(hass: HomeAssistant, language: str, calls: Sequence[Call]) -> str:
    """Return why a yes is asked for: what the calls do that needs one, or that a list of the owner's says so."""
    reasons = dict.fromkeys(reason for call in calls for reason in call.why or call.reasons)
    keys = dict.fromkeys(_WHY.get(reason, "confirm_why_destructive") for reason in reasons)
    return " ".join([await async_text(hass, language, key) for key in keys])


async def _async_states(
    hass: HomeAssistant, language: str, states: Sequence[State], already: Collection[str] = ()
) -> list[str]:
    """Return one sentence for each of the first entities: what it is now, or is already.

    None for what has no state that says anything: how many items a list has, when a button was pressed.
    """
    return [
        await async_text(
            hass,
            language,
            "confirm_already"
            if state.entity_id in already
            else "confirm_becomes"
            if state.state in _ON_THE_WAY
            else "confirm_is",
            name=_name(state),
            state=await _async_state(hass, language, state),
        )
        for state in states[:MAX_NAMES]
        if DOMAINS.get(state.domain, UNKNOWN).state_is_told
    ]


async def _async_it(hass: HomeAssistant, language: str, call: Call) -> str:
    """Return what a call does with the one thing that was just named: "unlock it"; "" where it has to be named again."""
    if len(call.plan.effects) != 1 or call.plan.inside or _starting(call.plan.effects[0]):
        return ""
    [effect] = call.plan.effects
    phrases = _GENERIC if effect.domain == HOMEASSISTANT_DOMAIN else _PHRASES
    key = _IT.get(phrases.get(effect.service, ""))
    return await async_text(hass, language, key) if key is not None and not effect.data else ""


def _starting(effect: Effect) -> str:
    """Return the phrase for scripts that are started, which Home Assistant calls "Turn on script", or automations; "" for others."""
    if not effect.entity_ids:
        return ""
    if _runs(effect):
        return "confirm_run_automation"
    scripts = (entity_id.partition(".")[0] == SCRIPT_DOMAIN for entity_id in effect.entity_ids)
    return "confirm_run_script" if effect.service == SERVICE_TURN_ON and all(scripts) else ""


def _runs(effect: Effect) -> bool:
    """Return whether it runs what is written in its entities, and leaves their states as they are."""
    return effect.service in DOMAINS.get(effect.domain, UNKNOWN).runs


def _told_data(effect: Effect) -> Mapping[str, object]:
    """Return the parameters that are told: of what is run none that is off, which is how it is run anyway."""
    data: Mapping[str, object] = effect.data
    return {key: value for key, value in data.items() if value is not False} if _runs(effect) else data


def _removed(effect: Effect) -> str:
    """Return the item that is removed from a list; "" where something else is done."""
    if (effect.domain, effect.service) != (TODO_DOMAIN, TodoServices.REMOVE_ITEM):
        return ""
    items = effect.data.get(ATTR_ITEM)
    item = ", ".join(map(str, items)) if isinstance(items, list) else str(items or "")
    return item if _PLAIN_ITEM.fullmatch(item) else f"“{_cut(item)}”"


class _NoWordsError(Exception):
    """Home Assistant has no translation of something that has to be said."""


async def _async_plain_question(hass: HomeAssistant, language: str, calls: Sequence[Call], *, with_pin: bool) -> str:
    """Return a question in words of Home Assistant alone; raises `_NoWordsError` where it has none."""
    touched = _touched(hass, calls)
    if len(touched) > MAX_NAMES or any(TAINTED in call.why or call.plan.inside for call in calls):
        raise _NoWordsError
    said = [await _async_plain_state(hass, language, state) for state in touched]
    effects = [
        replace(item, data=call.tool.shown(item.data), entity_ids=asked)
        for call in calls
        for item in call.plan.effects
        if (asked := tuple(one for one in item.entity_ids if one not in call.plan.already)) or not item.entity_ids
    ]
    if not all(call.plan.effects for call in calls):
        raise _NoWordsError
    said.append(f"{'; '.join([await _async_plain_service(hass, language, item) for item in effects])}?")
    if with_pin:
        said.append(f"{await async_own_text(hass, language, 'services', LOCK_DOMAIN, _CODE)}?")
    return " ".join(said)


async def _async_plain_state(hass: HomeAssistant, language: str, state: State) -> str:
    """Return what an entity is now."""
    for kind in (state.attributes.get(ATTR_DEVICE_CLASS), "_"):
        path = f"entity_component.{kind}.state.{state.state}"
        if await async_own_text(hass, ENGLISH, "entity_component", state.domain, path):
            return f"{_name(state)}: {await _async_word(hass, language, 'entity_component', state.domain, path)}."
    return f"{_name(state)}: {state.state}."


async def _async_plain_service(hass: HomeAssistant, language: str, call: Effect) -> str:
    """Return an action with the names of its entities and its parameters.

    Home Assistant names actions twice: for automations of a device, in more languages and with a place for the name, and as
    services.
    """
    domains = {entity_id.partition(".")[0] for entity_id in call.entity_ids} or {call.domain}
    if len(domains) > 1:
        raise _NoWordsError
    [domain] = domains
    names = ", ".join(_name(state) for item in call.entity_ids if (state := hass.states.get(item)) is not None)
    kind = call.service.replace(f"_{domain}", "").removeprefix("alarm_")  # open_cover, alarm_disarm
    path = f"device_automation.action_type.{kind}"
    action = await async_own_text(hass, language, "device_automation", domain, path, translated=True)
    if action is None or not names:
        action = await _async_word(hass, language, "services", domain, f"services.{call.service}.name")
        action += ": {entity_name}" if names else ""
    details = []
    for key, value in _told_data(call).items():
        field = await _async_word(hass, language, "services", domain, f"services.{call.service}.fields.{key}.name")
        details.append(f"{field}: {_value(key, value)}")
    said = action.replace("{entity_name}", names) + (f" ({', '.join(details)})" if details else "")
    return _capitalised(said)


async def _async_word(hass: HomeAssistant, language: str, category: str, domain: str, path: str) -> str:
    if not (word := await async_own_text(hass, language, category, domain, path, translated=True)):
        raise _NoWordsError
    return word


async def _async_one_language(hass: HomeAssistant, language: str) -> str:
    """Return a language that we speak: Home Assistant knows its states in more, and nobody wants them in an English sentence."""
    return language if await async_has_text(hass, language, _TOLD_BY) else ENGLISH


async def _async_parts(hass: HomeAssistant, turn: Turn, language: str, call: Call) -> list[str]:
    """Return what a call would do, one phrase for each of its service calls; the last says what is behind them."""
    parts = await _async_named_parts(hass, language, call)
    if call.plan.inside:
        inside = [await _async_inside(hass, turn, language, item) for item in call.plan.inside[:MAX_INSIDE]]
        if len(call.plan.inside) > MAX_INSIDE:
            count = str(len(call.plan.inside) - MAX_INSIDE)
            inside.append(await async_text(hass, language, "confirm_more_names", count=count))
        told = ", ".join(inside)
        parts[-1] = await async_text(hass, language, "confirm_inside", action=parts[-1], inside=told)
    return parts


async def _async_inside(hass: HomeAssistant, turn: Turn, language: str, call: Effect) -> str:
    """Return what a scene, a script or an automation would do; without names of what is not exposed to the user."""
    if call.service == UNFORESEEN:
        return await async_text(hass, language, "confirm_unforeseen")
    if not call.entity_ids:
        return await _async_service(hass, language, call)
    known = tuple(entity_id for entity_id in call.entity_ids if is_exposed(hass, entity_id, turn.user))
    said = [await _async_service(hass, language, replace(call, entity_ids=known))] if known else []
    if len(known) < len(call.entity_ids):
        hidden = await async_text(hass, language, "confirm_hidden")
        said.append(await _async_service(hass, language, replace(call, entity_ids=()), names=hidden))
    return ", ".join(said)


async def _async_named_parts(hass: HomeAssistant, language: str, call: Call) -> list[str]:
    if call.plan.effects:
        effects = [replace(item, data=call.tool.shown(item.data)) for item in call.plan.effects]
        asked = [tuple(one for one in item.entity_ids if one not in call.plan.already) for item in effects]
        return [
            await _async_service(hass, language, replace(item, entity_ids=entity_ids))
            for item, entity_ids in zip(effects, asked, strict=True)
            if entity_ids or not item.entity_ids
        ]
    details = await _async_details(hass, language, call.tool.shown(_in_order(call)))
    if call.plan.texts and call.tool.asks_key:
        return [await _async_texts(hass, language, call)]
    if call.plan.targets:
        return [await _async_phrase(hass, language, "confirm_change", call.plan.targets, details)]
    tool = await call.tool.async_title(hass, language)
    if call.plan.subject and call.plan.subject != tool:  # one of another integration is its own subject
        subject = _cut(str(call.tool.shown({"subject": call.plan.subject})["subject"]))
        return [await async_text(hass, language, "confirm_subject", tool=tool, subject=subject) + details]
    return [await async_text(hass, language, "confirm_tool", tool=tool) + details]


async def _async_texts(hass: HomeAssistant, language: str, call: Call) -> str:
    """Return what is done with texts that are kept or handed on, the first of them in quotation marks."""
    texts = await _async_quoted(hass, language, call.plan.texts)
    return await async_text(hass, language, call.tool.asks_key, subject=_cut(call.plan.subject or ""), texts=texts)


async def _async_quoted(hass: HomeAssistant, language: str, texts: Sequence[str]) -> str:
    """Return the first of some texts in quotation marks, cut, and how many more there are."""
    said = [f"“{_cut(text, MAX_TEXT)}”" for text in texts[:MAX_TEXTS]]
    if (more := len(texts) - MAX_TEXTS) > 0:
        said.append(await async_text(hass, language, "confirm_more_names", count=str(more)))
    return ", ".join(said)


async def _async_service(hass: HomeAssistant, language: str, call: Effect, *, names: str = "") -> str:
    """Return what a service call does; `names` stands for entities that are not named."""
    if isinstance(call, NameChange):
        return await async_name_change(hass, language, _CHANGES[call.service], call)
    if item := _removed(call):
        return await _async_phrase(hass, language, "confirm_remove_item", call.entity_ids, "", names=names, item=item)
    details = await _async_details(hass, language, _told_data(call))
    phrases = _GENERIC if call.domain == HOMEASSISTANT_DOMAIN and (call.entity_ids or names) else _PHRASES
    if started := _starting(call):
        return await _async_phrase(hass, language, started, call.entity_ids, details, quotes=True)
    if key := phrases.get(call.service):
        return await _async_phrase(hass, language, key, call.entity_ids, details, names=names)
    path = f"services.{call.service}.name"
    action = await async_own_text(hass, language, "services", call.domain, path) or call.service.replace("_", " ")
    if not call.entity_ids and not names:
        return action + details
    return await _async_phrase(hass, language, "confirm_service", call.entity_ids, details, names=names, action=action)


async def _async_phrase(
    hass: HomeAssistant,
    language: str,
    key: str,
    entity_ids: Sequence[str],
    details: str,
    *,
    names: str = "",
    quotes: bool = False,
    **placeholders: str,
) -> str:
    """Return a phrase with the names of entities, in quotation marks or not, or the names that are given."""
    states = [state for entity_id in entity_ids if (state := hass.states.get(entity_id)) is not None]
    said = [names] if names else [_name(state) for state in states[:MAX_NAMES]]
    said = [f"“{_cut(name)}”" for name in said] if quotes else said
    if len(states) > MAX_NAMES:
        said.append(await async_text(hass, language, "confirm_more_names", count=str(len(states) - MAX_NAMES)))
    return await async_text(hass, language, key, names=", ".join(said), **placeholders) + details


async def _async_state(hass: HomeAssistant, language: str, state: State) -> str:
    """Return a state in words, as Home Assistant's own pages show it."""
    for kind in (state.attributes.get(ATTR_DEVICE_CLASS), "_"):
        path = f"entity_component.{kind}.state.{state.state}"
        if words := await async_own_text(hass, language, "entity_component", state.domain, path):
            return words[:1].lower() + words[1:]
    return state.state


def _touched(hass: HomeAssistant, calls: Iterable[Call]) -> list[State]:
    """Return the entities that calls would change, as they are now; none of those that only get a name or are run."""
    calls = [call for call in calls if not any(isinstance(item, NameChange) for item in call.plan.effects)]
    touched: dict[str, None] = {}
    for call in calls:
        named = [name for item in call.plan.effects for name in item.entity_ids] or call.plan.targets
        run = {name for item in call.plan.effects if _runs(item) for name in item.entity_ids}
        run -= {name for item in call.plan.effects if not _runs(item) for name in item.entity_ids}
        touched |= dict.fromkeys(name for name in named if name not in run)
    return [state for entity_id in touched if (state := hass.states.get(entity_id)) is not None]


async def _async_details(hass: HomeAssistant, language: str, values: Mapping[str, object]) -> str:
    """Return parameters in brackets, secrets as dots and what is left out as a number; "" when there are none."""
    given = {key: value for key, value in values.items() if value not in (None, "", {}, [])}
    told = [f"{_key(key)}: {_value(key, value)}" for key, value in [*given.items()][:MAX_DETAILS]]
    if len(given) > MAX_DETAILS:
        count = str(len(given) - MAX_DETAILS)
        told.append(await async_text(hass, language, "confirm_more_names", count=count))
    return f" ({', '.join(told)})" if told else ""


def _in_order(call: Call) -> dict[str, object]:
    """Return the arguments with those first that the tool cannot do without: a model could put others before them."""
    schema: Mapping[str, object] = getattr(call.tool, "wire_parameters", {})
    required, properties = schema.get("required"), schema.get("properties")
    names = [*(required if isinstance(required, list) else ()), *(properties if isinstance(properties, dict) else ())]
    rank = {name: place for place, name in enumerate(dict.fromkeys(map(str, names)))}
    return dict(sorted(call.arguments.items(), key=lambda item: rank.get(item[0], len(rank))))


def _key(name: object) -> str:
    """Return the name of a parameter; in quotation marks where it is more than a name, for then it may say anything."""
    words = str(name).replace("_", " ")
    return words if _PLAIN_NAME.fullmatch(words) else f"“{_cut(words, MAX_KEY)}”"


def _value(key: object, value: object) -> str:
    if SECRET.search(str(key)):
        return MASK
    match value:
        case str():
            return f"“{_cut(value)}”"
        case Mapping():
            return f"“{_cut(', '.join(f'{_key(name)} {_plain(name, item)}' for name, item in value.items()))}”"
        case list() | tuple() if all(isinstance(item, int | float) for item in value):  # a color, a position
            return _cut(", ".join(map(str, value)))
        case list() | tuple():
            return f"“{_cut(', '.join(str(_plain('', item)) for item in value))}”"
        case _:
            return str(value)


def _plain(key: object, value: object) -> object:
    """Return a value without the secrets in it, however deep."""
    if SECRET.search(str(key)):
        return MASK
    match value:
        case Mapping():
            return {str(name): _plain(name, item) for name, item in value.items()}
        case list() | tuple():
            return [_plain("", item) for item in value]
    return value


def _cut(text: str, most: int = MAX_VALUE) -> str:
    """Return a text as one short line that neither asks nor quotes, and says how many characters are left out."""
    line = " ".join(text.split()).translate({ord(mark): None for mark in '?？؟“”"„'})
    return f"{line[:most]}… (+{len(line) - most})" if len(line) > most else line


def _name(state: State) -> str:
    return " ".join(state.name.split())[:MAX_NAME]


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
