"""What a person is told of an automation before a yes: what it does, whether it could run now, how often it would have run."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
import re

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.condition import async_from_config
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..home.states import Knows
from ..home.wording import async_more
from ..support.localize import async_text
from ..wishes.spoken import async_past_moment
from .conflicts import async_conflicts
from .draft import AutomationDraft
from .replay import Replay, async_replay
from .switched import is_switched_on
from .template_costs import is_quick
from .timeline import Timeline
from .watched import async_entities, event_types_of
from .words import AutomationWords, async_difference, async_words

_PLACE = re.compile(r"conditions\[(\d+)\]")
LOOKED_BACK = timedelta(days=7)
MAX_TOLD = 3  # conditions, reasons and conflicts of one sentence
_SHORTER = timedelta(hours=1)
"""By how much history has to be shorter than what was looked back for, to be told."""
_FRESH = timedelta(minutes=5)
_MOST_KEPT = 20
_REPLAYS: HassKey[OrderedDict[str, Replay]] = HassKey("home_agent_replays")


async def async_facts(
    hass: HomeAssistant,
    language: str,
    draft: AutomationDraft,
    earlier: AutomationDraft | None,
    *,
    knows: Knows,
    is_short: bool,
    probation_days: int = 0,
) -> Sequence[str]:
    """Return sentences about an automation that does not exist yet, or about what is changed of `earlier`; few for a voice."""
    said: list[str] = []
    told = await async_words(hass, language, draft, knows=knows)
    if earlier is not None:
        said += await async_difference(hass, language, earlier, draft, knows=knows)
    if earlier is None or not said:
        said.append(_sentence(told, is_short=is_short))
    if not is_short:
        said += await _async_now(hass, language, draft, told.conditions)
    said += await _async_past(hass, language, draft, told.conditions, is_short=is_short)
    conflicts = await async_conflicts(hass, draft, knows=knows)
    for conflict in conflicts[:MAX_TOLD]:
        other, thing = (name_of(hass, item) for item in (conflict.automation, conflict.entity_id))
        said.append(await async_text(hass, language, "automation_conflict", other=other, thing=thing))
    if len(conflicts) > MAX_TOLD:
        said.append(f"{await async_more(hass, language, [], len(conflicts) - MAX_TOLD)}.")
    if probation_days:
        key = "automation_will_be_noted" if probation_days > 1 else "automation_will_be_noted_for_one_day"
        said.append(await async_text(hass, language, key, days=str(probation_days)))
    return [sentence for sentence in said if sentence]


async def async_sentence(
    hass: HomeAssistant, language: str, draft: AutomationDraft, *, knows: Knows, is_short: bool = False
) -> str:
    """Return what an automation does."""
    return _sentence(await async_words(hass, language, draft, knows=knows), is_short=is_short)


def _sentence(told: AutomationWords, *, is_short: bool) -> str:
    sentence = told.short() if is_short else told.sentence()
    return f"{sentence[:1].upper()}{sentence[1:]}."


def name_of(hass: HomeAssistant, entity_id: str) -> str:
    """Return the name of an entity, or its id if it has no state."""
    return state.name if (state := hass.states.get(entity_id)) is not None else entity_id


async def _async_now(hass: HomeAssistant, language: str, draft: AutomationDraft, phrases: Sequence[str]) -> list[str]:
    """Return whether the conditions are true at this moment."""
    pairs = zip(draft.conditions, phrases, strict=False)
    told = [(condition, words) for condition, words in pairs if _is_asked_now(condition)]
    if not told:
        return []
    found = [(await _async_is_true(hass, condition), words) for condition, words in told]
    missing = [words for is_true, words in found if is_true is False]
    if not missing and any(is_true is None for is_true, _ in found):
        return []
    if not missing:
        return [await async_text(hass, language, "automation_true_now")]
    return [
        await async_text(
            hass, language, "automation_not_true_now", conditions=await _async_few(hass, language, missing)
        )
    ]


async def _async_few(hass: HomeAssistant, language: str, said: Sequence[str]) -> str:
    """Return the first of some phrases, and how many more there are."""
    left = len(said) - MAX_TOLD
    return "; ".join([*said[:MAX_TOLD], *([await async_more(hass, language, [], left)] if left > 0 else ())])


def _is_asked_now(condition: object) -> bool:
    """Return whether people want to know if it is so: what is switched off does not matter, and they know the time of day."""
    is_of_clock = isinstance(condition, Mapping) and condition.get("condition") == "time"
    return not is_of_clock and is_switched_on(condition) is not False


async def _async_is_true(hass: HomeAssistant, condition: object) -> bool | None:
    """Return whether a condition is true now; None if that depends on a trigger or cannot be told.

    One whose templates take a while is not worked out: nothing else would happen in Home Assistant meanwhile.
    """
    if not is_quick(condition):
        return None
    try:
        checker = await async_from_config(hass, condition)  # type: ignore[arg-type]
    except HomeAssistantError:
        return None
    try:
        return checker.async_check(variables={})
    except HomeAssistantError:
        return None
    finally:
        checker.async_unload()


async def async_past(hass: HomeAssistant, draft: AutomationDraft) -> Timeline:
    """Return what was recorded in the last seven days of all that an automation looks at, since all of it is known.

    Raises `ToolRefusal`.
    """
    now = dt_util.utcnow()
    found = await Timeline.async_recorded(
        hass, async_entities(hass, draft), now - LOOKED_BACK, now, event_types=event_types_of(draft)
    )
    return found.since_known()


async def async_past_week(hass: HomeAssistant, draft: AutomationDraft) -> Replay:
    """Return the replay of the last seven days; one of the last minutes is used again."""
    kept = hass.data.setdefault(_REPLAYS, OrderedDict())
    now = dt_util.utcnow()
    if (known := kept.get(draft.fingerprint)) is not None and known.until > now - _FRESH:
        return known
    timeline = await async_past(hass, draft)
    kept[draft.fingerprint] = found = await async_replay(hass, draft, timeline)
    kept.move_to_end(draft.fingerprint)
    while len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
    return found


async def _async_past(
    hass: HomeAssistant, language: str, draft: AutomationDraft, phrases: Sequence[str], *, is_short: bool
) -> list[str]:
    """Return how often it would have run in the last days, and what held it back."""
    if "recorder" not in hass.config.components:
        return [await async_text(hass, language, "automation_no_history")]
    try:
        found = await async_past_week(hass, draft)
    except HomeAssistantError, TimeoutError:
        return [await async_text(hass, language, "automation_no_history")]
    said: list[str] = []
    if found.runs:
        said.append(await _async_runs(hass, language, [run.at for run in found.runs], is_short=is_short))
    elif not found.not_replayed:
        said.append(await async_text(hass, language, "automation_would_not_have_run"))
    if found.not_replayed:
        said.append(await async_text(hass, language, "automation_not_replayed"))
    if found.held and not is_short:
        places = (_PLACE.match(held.condition) for held in found.held)
        numbers = dict.fromkeys(int(place[1]) for place in places if place is not None)
        why = await _async_few(hass, language, [phrases[number] for number in numbers if number < len(phrases)])
        if why:
            key = "automation_kept_back" if len(found.held) > 1 else "automation_kept_back_once"
            said.append(await async_text(hass, language, key, count=str(len(found.held)), why=why))
    if found.since > found.until - LOOKED_BACK + _SHORTER and not is_short:
        at = await async_past_moment(hass, language, found.since)
        said.append(await async_text(hass, language, "automation_history_since", at=at))
    return said


async def _async_runs(hass: HomeAssistant, language: str, runs: Sequence[datetime], *, is_short: bool) -> str:
    """Return when an automation would have run: each time of a few, otherwise the last one."""
    count = str(len(runs))
    if len(runs) == 1 or is_short or len(runs) > MAX_TOLD:
        key = "automation_would_have_run" if len(runs) != 1 else "automation_would_have_run_once"
        return await async_text(hass, language, key, count=count, at=await async_past_moment(hass, language, runs[-1]))
    times = ", ".join([await async_past_moment(hass, language, at) for at in runs])
    return await async_text(hass, language, "automation_would_have_run_at", count=count, times=times)
