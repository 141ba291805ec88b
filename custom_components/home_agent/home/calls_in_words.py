"""Calls of actions in words: "turn on Hall Light", "set Bedroom to 21.5 °C", "run the script Good Night"."""

from collections.abc import Mapping
import re

from homeassistant.components.todo.const import ATTR_ITEM, DOMAIN as TODO_DOMAIN, TodoServices
from homeassistant.const import SERVICE_TURN_ON
from homeassistant.core import DOMAIN as HOMEASSISTANT_DOMAIN, HomeAssistant

from ..support.localize import async_own_text
from ..turn.plan import ServiceCall
from .contents import SCRIPT
from .domain import Run
from .domains import DOMAINS, UNKNOWN
from .set_values import async_set_to, sets_values
from .wording import async_details, async_phrase, cut

_PLAIN_ITEM = re.compile(r"\w+(?:[ '’-]\w+){0,2}")
"""An item of a list that needs no quotation marks."""
_VERBS = {
    **{service: service for service in ("turn_on", "turn_off", "toggle", "lock", "unlock", "open", "close", "stop")},
    **{service: service for service in ("start", "press", "dock")},
    **{f"{verb}_{thing}": verb for verb in ("open", "close", "stop") for thing in ("cover", "valve")},
    **dict.fromkeys(("set_cover_position", "set_valve_position", "volume_set", "select_option"), "set"),
    "alarm_disarm": "disarm", "return_to_base": "dock", "start_mowing": "start", "media_play": "play",
    "media_pause": "pause", "media_stop": "stop",
}  # fmt: skip
"""By service, what people call what it does; others have Home Assistant's own name."""
_SETS = "set_"
"""How the names of all services begin that set something."""
WORDS: Mapping[str, tuple[str, str]] = {
    "turn_on": ("confirm_turn_on", "done_turn_on"),
    "turn_off": ("confirm_turn_off", "done_turn_off"),
    "toggle": ("confirm_toggle", "done_toggle"),
    "lock": ("confirm_lock", "done_lock"),
    "unlock": ("confirm_unlock", "done_unlock"),
    "open": ("confirm_open", "done_open"),
    "close": ("confirm_close", "done_close"),
    "stop": ("confirm_stop", "done_stop"),
    "start": ("confirm_start", "done_start"),
    "dock": ("confirm_dock", "done_dock"),
    "play": ("confirm_play", "done_play"),
    "pause": ("confirm_pause", "done_pause"),
    "press": ("confirm_press", "done_press"),
    "set": ("confirm_set", "done_set"),
    "disarm": ("confirm_disarm", "done_disarm"),
    "run_script": ("confirm_run_script", "done_run_script"),
    "run_automation": ("confirm_run_automation", "done_run_automation"),
    "add_item": ("confirm_add_item", "done_add_item"),
    "remove_item": ("confirm_remove_item", "done_remove_item"),
    "service": ("confirm_service", "done_service"),
}
"""By what people call it: the phrase that asks, and the one that tells that it was done."""


async def async_call_in_words(
    hass: HomeAssistant, language: str, effect: ServiceCall, *, is_done: bool = False, names: str = ""
) -> str:
    """Return a call in words, as something to do or as done, with `names` for entities that are not named."""
    ids, tense = effect.entity_ids, int(is_done)
    for listing in (TodoServices.REMOVE_ITEM, TodoServices.ADD_ITEM):
        if item := listed_item(effect, listing):
            return await async_phrase(hass, language, WORDS[listing][tense], ids, names=names, item=item)
    details = await async_details(hass, language, told_data(effect))
    if started := starting(effect):
        return await async_phrase(hass, language, WORDS[started][tense], ids, details, names=names, quotes=True)
    verb = verb_of(effect.action)
    if sets_values(verb, ids) and (to := await async_set_to(hass, language, ids, effect.data))[0]:
        details = await async_details(hass, language, to[1])
        return await async_phrase(hass, language, WORDS["set"][tense], ids, details, names=names, to=to[0])
    if verb and (ids or names):
        return await async_phrase(hass, language, WORDS[verb][tense], ids, details, names=names)
    path = f"services.{effect.service}.name"
    action = await async_own_text(hass, language, "services", effect.domain, path)
    action = action or effect.service.replace("_", " ")
    if not effect.entity_ids and not names:
        return action + details
    return await async_phrase(hass, language, WORDS["service"][tense], ids, details, names=names, action=action)


def run_of(call: ServiceCall) -> Run | None:
    """Return how a call runs what is written in its entities, leaving their states as they are; None for other calls."""
    return DOMAINS.get(call.domain, UNKNOWN).runs.get(call.service)


def starting(call: ServiceCall) -> str:
    """Return what is done with scripts or automations that are run; "" for other calls."""
    if not call.entity_ids:
        return ""
    if run_of(call) is not None:
        return "run_automation"
    scripts = (entity_id.partition(".")[0] == SCRIPT for entity_id in call.entity_ids)
    return "run_script" if call.service == SERVICE_TURN_ON and all(scripts) else ""


def told_data(call: ServiceCall) -> Mapping[str, object]:
    """Return the parameters that are told; of what is run those that are off are left out, as that is the default."""
    data: Mapping[str, object] = call.data
    return data if run_of(call) is None else {key: value for key, value in data.items() if value is not False}


def verb_of(action: str) -> str:
    """Return what people call what a service does; "" if it has only Home Assistant's own name, or is another integration's."""
    domain, _, service = action.partition(".")
    if domain not in DOMAINS and domain != HOMEASSISTANT_DOMAIN:
        return ""
    return _VERBS.get(service) or ("set" if service.startswith(_SETS) else "")


def listed_item(call: ServiceCall, service: str) -> str:
    """Return the item that a call of a service adds to a list or removes from it, and nothing else; "" for other calls."""
    if (call.domain, call.service) != (TODO_DOMAIN, service) or call.data.keys() != {ATTR_ITEM}:
        return ""
    items = call.data.get(ATTR_ITEM)
    item = ", ".join(map(str, items)) if isinstance(items, list) else str(items or "")
    return item if _PLAIN_ITEM.fullmatch(item) else f"“{cut(item)}”"
