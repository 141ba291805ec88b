"""A time never means now: what a person said for later is not done at once by a model, which may overlook the words for it."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..home.domains import DOMAINS, UNKNOWN
from ..languages.data import data_of
from ..languages.enumerations import parts_of
from ..languages.later import Later, LaterKind, later_in, without_times
from ..languages.phrases import is_order, is_remark
from ..languages.timing import timed_in
from ..support.errors import ToolRefusal
from ..support.text import words_of
from ..turn.plan import ActionClass, Plan
from ..turn.turn import Turn
from ..wishes.wishes import wishes_of
from .effects import KINDS
from .effects.wish_change import CANCEL_WISH, CHANGE_WISH, MAKE_WISH
from .tool import HomeAgentTool

_CHANGES = frozenset({MAKE_WISH, CHANGE_WISH, CANCEL_WISH})
_WORDY = frozenset({"conversation", "notify", "shopping_list", "tts", "assist_satellite", "schedule"})
"""Domains without a record whose actions have times and any words as values: a message, an item of a list."""
_PREPOSITION = 4  # letters in front of a time that is the first thing said: "um", "vers "
LATER = "The user said this for later ({words}). Nothing was done. Call make_wish with the same action instead."
VAGUE = "The user did not say a time that can be kept ({words}). Nothing was done. Ask the user when exactly."
FOREVER = "The user wants this more than once ({words}): that is an automation, which you cannot make. Nothing was done. Tell the user."
HANDED_ON = (
    "The user said this for later ({words}). Nothing was done. You were handed this request and cannot keep it for later: "
    "answer that it is for later, so that the agent that asked you calls make_wish itself."
)
UNABLE = "The user said this for later ({words}), which is not possible here. Nothing was done. Tell the user to say it then."


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """How the words of a person put something off."""

    words: str
    """What says when."""
    is_forever: bool = False
    is_vague: bool = False
    """Whether no time can be taken from it, so that it has to be asked for."""


def put_off_in(text: str, language: str, now: datetime, named: tuple[str, ...] = ()) -> HeldBack | None:
    """Return how a text puts off what it wants done; None where some of it is for now, or only an end is said: "until ten".

    What was `named` says no time: the "Evening" scene.
    """
    found = [one for one in later_in(text, language, named) if one.kind is not LaterKind.LASTING]
    if not found:
        return None
    reading = next(iter(timed_in(text, language, now, named)), None)
    if reading is not None and not (reading.moment or reading.unread or reading.forever):
        if (reading.back or reading.clauses) and all(clause.until for clause in reading.clauses):
            return None
    if _has_part_for_now(text, language, named):
        return None
    words = ", ".join(one.words for one in found)
    if reading is None:
        return HeldBack(words=words, is_forever=any(one.kind is LaterKind.REPEATED for one in found))
    is_vague = bool(reading.unread) and reading.moment is None and not reading.clauses
    return HeldBack(words=reading.words or words, is_forever=bool(reading.forever), is_vague=is_vague)


def _has_part_for_now(text: str, language: str, named: tuple[str, ...]) -> bool:
    """Return whether a part of a text is a command that no time belongs to: "turn on the light, and in ten minutes the radio".

    A part that is nothing but a time belongs to those beside it, and a condition to the one behind it, else to the one before. A
    time in front of a sentence belongs to all of it.
    """
    data = data_of(language)
    nothing = {word for phrase in (*data.courtesies, *data.polite) for word in words_of(phrase)}
    parts = parts_of(text, sorted(data.follow_ups.joins, key=len, reverse=True))
    parts = [part for part in parts if any(word not in nothing for word in words_of(part))]
    times = _times_of(text, parts, language, named)
    later = [bool(found) for found in times]
    first = times[0][:1] if times else []
    is_said = bool(parts) and is_remark(parts[0], language)  # "it's nine o'clock"
    if not is_said and any(one.kind is not LaterKind.EVENT and one.begin <= _PREPOSITION for one in first):
        return False
    for at, part in enumerate(parts):
        if not (found := times[at]):
            continue
        is_bare = all(word in nothing for word in words_of(without_times(part, language)))
        is_bare = is_bare and not is_remark(part, language)
        is_clause = found[0].kind is LaterKind.EVENT and found[0].begin == 0
        if is_clause or is_bare:
            last = at + 1 == len(parts)
            if not last:
                later[at + 1] = True
            if at and (last or is_bare):
                later[at - 1] = True
    return any(
        not later[at]
        and (is_order(part, language, named) or (not at and _does(part, language) and not is_remark(part, language)))
        for at, part in enumerate(parts)
    )


def _times_of(text: str, parts: list[str], language: str, named: tuple[str, ...]) -> list[list[Later]]:
    """Return what puts off each part of a text; a time that goes on in the next part is of both: "between nine and ten"."""
    times, whole, end = list[list[Later]](), later_in(text, language, named), 0
    for part in parts:
        begin = text.find(part, end)
        end = begin + len(part) if begin >= 0 else end
        found = list(later_in(part, language, named))
        if begin >= 0:
            found += [
                replace(one, begin=max(0, one.begin - begin)) for one in whole if one.begin < end and begin < one.end
            ]
        times.append(sorted(found, key=lambda one: one.begin))
    return times


def _does(part: str, language: str) -> bool:
    """Return whether a part that begins with no command says what is to be done: "the light on"."""
    return not _verbs(language).isdisjoint(words_of(part))


@cache
def _verbs(language: str) -> frozenset[str]:
    return frozenset(word for phrases in data_of(language).verbs.values() for one in phrases for word in words_of(one))


def check_time(hass: HomeAssistant, turn: Turn, tool: HomeAgentTool, plan: Plan, *, keeps: bool) -> None:
    """Raise `ToolRefusal` where a model would do now what the person who spoke put off, with what it can do instead.

    `keeps`: whether its agent can make wishes. Not once a wish was made, changed or cancelled in this turn, unless it would do the same now.
    """
    asked = turn.lineage[-1]
    is_person = asked.user is not None or asked.device_id is not None or asked.satellite_id is not None
    if plan.action is ActionClass.READ or not is_person or asked.wish or not _is_for_now(tool, plan):
        return
    said, language = asked.text, asked.language
    if not later_in(said, language):
        return
    zone = dt_util.get_default_time_zone()
    put_off = put_off_in(said, language, dt_util.now(zone), _named(hass, said))
    if put_off is None:
        return
    if any(call.success and call.tool_name in _CHANGES for one in turn.lineage for call in one.record.calls):
        if not _is_wished(hass, asked, plan):
            return
    if put_off.is_forever:
        text = FOREVER
    elif turn is not asked:
        text = HANDED_ON
    elif not keeps:
        text = UNABLE
    else:
        text = VAGUE if put_off.is_vague else LATER
    raise ToolRefusal(text.format(words=put_off.words[:200]))


def _is_for_now(tool: HomeAgentTool, plan: Plan) -> bool:
    """Return whether a call changes the home at once, and no time can be one of its values."""
    if plan.effects:
        effects = [effect for effect in plan.effects if KINDS[effect.kind].changes_home]
        return any(not _is_timely(effect.domain) and "variables" not in effect.data for effect in effects)
    if tool.intent or plan.targets:
        return not any(_is_timely(target.partition(".")[0]) for target in plan.targets)
    return False


def _is_timely(domain: str) -> bool:
    """Return whether actions of a domain have times or any words as values: an appointment, an item of a list, a message."""
    record = DOMAINS.get(domain, UNKNOWN)
    return domain in _WORDY or record.holds_times or record.holds_text


def _is_wished(hass: HomeAssistant, asked: Turn, plan: Plan) -> bool:
    """Return whether a wish of this conversation waits for the same effects."""
    effects = [effect.as_dict() for effect in plan.effects]
    mine = (one for one in wishes_of(hass).known_to(asked) if one.conversation_id == asked.conversation_id)
    return bool(effects) and any([*step.effects] == effects for wish in mine for step in wish.steps)


def _named(hass: HomeAssistant, said: str) -> tuple[str, ...]:
    """Return the names of entities that a text has in it."""
    text = said.casefold()
    names = dict.fromkeys(state.name for state in hass.states.async_all())
    return tuple(name for name in names if name and name.casefold() in text)
