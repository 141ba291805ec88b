"""A time never means now: what a person said for later is not done at once by a model, which may overlook the words for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import islice
import re

from homeassistant.components.conversation import AssistantContent, UserContent
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS, current_chat_log
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..home.domains import DOMAINS, UNKNOWN
from ..languages.data import data_of
from ..languages.ellipses import names_nothing, refers_back
from ..languages.enumerations import parts_of
from ..languages.later import Later, LaterKind, denies_now, later_in, says_now, without_times
from ..languages.phrases import (
    ReplyKind,
    begins_otherwise,
    is_order,
    is_question,
    is_remark,
    is_thanks,
    read_answer,
)
from ..languages.recasts import recast
from ..languages.timing import Timed, timed_in
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
_SENTENCES = re.compile(r"[;:.!?]+\s+|\s[–—-]\s")
_COMMAS = ",;:"
_FAR = 8  # messages before, among which the one is looked for that a message goes on from
_SHORT = 2  # letters of words that have other meanings as well
_PREPOSITION = 4  # letters in front of a time that is the first thing said: "um", "vers "
LATER = "The user said this for later ({words}). Nothing was done. Call make_wish with the same action instead."
VAGUE = "The user did not say a time that can be kept ({words}). Nothing was done. Ask the user when exactly."
FOLLOWS = "This goes on from what the user said for later ({words}). Nothing was done. Call make_wish or change_wish instead. If it may be meant for now, ask the user."
FOREVER = "The user wants this more than once ({words}): that is an automation. Nothing was done. Make one if you have a tool or an agent for it, else tell the user."
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
    goes_on: bool = False
    """Whether it was said in a message before, from which this one goes on."""


def put_off_in(text: str, language: str, now: datetime, named: tuple[str, ...] = ()) -> HeldBack | None:
    """Return how a text puts off what it wants done; None where some of it is for now, or only an end is said: "until ten".

    What was `named` says no time: the "Evening" scene.
    """
    text = recast(text, language)
    found = later_in(text, language, named)
    if not found:
        return None
    keeps, reading = _keeps(text, language), next(iter(timed_in(text, language, now, named)), None)
    # "give me another quarter of an hour" is none that lasts
    if not keeps and (reading is None or reading.moment is None):
        found = tuple(one for one in found if one.kind is not LaterKind.LASTING)
    if not found:
        return None
    if reading is not None and _only_ends(text, language, reading, found) and not keeps:
        return None
    if not keeps and _has_part_for_now(text, language, named):
        return None
    words = ", ".join(one.words for one in found)
    if reading is None:
        return HeldBack(words=words, is_forever=any(one.kind is LaterKind.REPEATED for one in found))
    is_vague = bool(reading.unread) and reading.moment is None and not reading.clauses
    return HeldBack(words=reading.words or words, is_forever=bool(reading.forever), is_vague=is_vague)


def put_off_before(
    before: Sequence[str], text: str, language: str, now: datetime, named: tuple[str, ...] = ()
) -> HeldBack | None:
    """Return how what a text goes on from is put off: "also the bed light" after "turn off the radio at nine".

    `before` is what the person said in the conversation until then, the oldest first. None for a text that stands alone.
    """
    if not refers_back(text, language):
        return None
    for said in islice(reversed(before), _FAR):
        if is_question(said, language) or (_tells(said, language) and not _begins_with_event(said, language)):
            continue
        held = put_off_in(said, language, now, named) or _last_part(said, language, now, named)
        if held is not None:
            return replace(held, goes_on=True)
        if not refers_back(said, language) and not is_thanks(said, language):
            return None
    return None


def _tells(text: str, language: str) -> bool:
    return begins_otherwise(text, language) or is_remark(text, language)


def _begins_with_event(text: str, language: str) -> bool:
    """Return whether a text begins with what has to be so or to happen: "when the washer is done, ..."."""
    return any(one.kind is LaterKind.EVENT and one.begin == 0 for one in later_in(text, language))


def _last_part(text: str, language: str, now: datetime, named: tuple[str, ...]) -> HeldBack | None:
    """Return how the last part of a text puts off what it wants done: "turn on the light, and in ten minutes the radio"."""
    parts = _parts_of(text, language)
    return put_off_in(parts[-1], language, now, named) if len(parts) > 1 else None


def _only_ends(text: str, language: str, reading: Timed, found: Sequence[Later]) -> bool:
    """Return whether all that a text says of time is when it ends."""
    if reading.moment or reading.unread or reading.forever or any(one.kind is LaterKind.WAIT for one in found):
        return False
    if reading.back is not None and reading.back.seconds and any(_is_apart(text, one, language) for one in found):
        return False  # "21 heures" is a time and a length
    return bool(reading.back or reading.clauses) and all(clause.until for clause in reading.clauses)


def _keeps(text: str, language: str) -> bool:
    """Return whether something is left as it is at first, and changed then: "leave it on until ten, then turn it off"."""
    first, *others = _parts_of(text, language)
    kept = frozenset(word for phrase in data_of(language).later.keeps for word in words_of(phrase))
    if kept.isdisjoint(words_of(first)) or not later_in(first, language):
        return False
    return any(not _nothing(language).issuperset(words_of(part)) for part in others)


def _is_apart(text: str, one: Later, language: str) -> bool:
    """Return whether a time of day is a part of its own: "TV off, say, 21 heures"."""
    if one.kind is not LaterKind.CLOCK:
        return False
    begin, behind = (
        max(text.rfind(sign, 0, one.begin) for sign in _COMMAS),
        [text.find(sign, one.end) for sign in _COMMAS],
    )
    end = min((at for at in behind if at >= 0), default=len(text))
    beside = f"{text[begin + 1 : one.begin]} {text[one.end : end]}"
    return (begin >= 0 or end < len(text)) and _nothing(language).issuperset(words_of(beside))


def _has_part_for_now(text: str, language: str, named: tuple[str, ...]) -> bool:
    """Return whether a part of a text is a command that no time belongs to: "turn on the light, and in ten minutes the radio".

    A part that is nothing but a time belongs to those beside it, and a condition to the one behind it, else to the one before. A
    time in front of a sentence belongs to all of it, and so does what is waited for.
    """
    nothing = _nothing(language)
    parts = [
        part
        for part in _parts_of(text, language)
        if (not nothing.issuperset(words_of(part)) or later_in(part, language, named))
        and not denies_now(part, language)
    ]
    times = _times_of(text, parts, language, named)
    orders = [
        _is_order(part, language, named) or (not at and _does(part, language) and not is_remark(part, language))
        for at, part in enumerate(parts)
    ]
    if any(orders[at] and not times[at] and says_now(part, language) for at, part in enumerate(parts)):
        return True
    later = [bool(found) for found in times]
    first = times[0][:1] if times else []
    is_said = bool(parts) and is_remark(parts[0], language)  # "it's nine o'clock"
    if not is_said and any(one.kind is not LaterKind.EVENT and one.begin <= _PREPOSITION for one in first):
        return False
    for at, part in enumerate(parts):
        if not (found := times[at]):
            later[at] |= any(later[:at]) and not _thens(language).isdisjoint(words_of(part))
            continue
        if any(one.kind is LaterKind.WAIT for one in found):
            later[at:] = [True] * len(later[at:])
        rest = without_times(part, language)
        is_bare = nothing.issuperset(words_of(rest)) or names_nothing(rest, language)
        is_bare = is_bare and not is_remark(part, language)
        is_clause = found[0].kind is LaterKind.EVENT and all(
            word in nothing for word in words_of(part[: found[0].begin])
        )
        is_clause |= not orders[at] and any(one.kind is LaterKind.EVENT for one in found)
        if is_clause or is_bare:
            behind = next((place for place in range(at + 1, len(parts)) if orders[place]), at)
            later[at : behind + 1] = [True] * (behind + 1 - at)
            if at and (behind == at or is_bare):
                later[at - 1] = True
    return any(orders[at] and not later[at] for at in range(len(parts)))


def _is_order(part: str, language: str, named: tuple[str, ...]) -> bool:
    """Return whether a part is a command, also behind words that say nothing: "so turn on the light"."""
    words, nothing = part.split(), _nothing(language)
    first = next((at for at, word in enumerate(words) if not nothing.issuperset(words_of(word))), 0)
    return is_order(part, language, named) or is_order(" ".join(words[first:]), language, named)


@cache
def _nothing(language: str) -> frozenset[str]:
    """Return the words that say nothing where they stand beside a time."""
    data = data_of(language)
    return frozenset(
        word for phrase in (*data.courtesies, *data.polite, *data.later.beside) for word in words_of(phrase)
    )


@cache
def _thens(language: str) -> frozenset[str]:
    """Return the words that say that a part is for the time that was said before it: "turn on the light then"."""
    return frozenset(word for word in data_of(language).later.marks.get("then", ()) if len(word) > _SHORT)


@cache
def _joins(language: str) -> tuple[str, ...]:
    return tuple(sorted(data_of(language).follow_ups.joins, key=len, reverse=True))


def _parts_of(text: str, language: str) -> list[str]:
    """Return the parts of a text, each a piece of it; a verb alone goes with what follows: "doe dan de lamp aan"."""
    parts, end = list[str](), 0
    for sentence in _SENTENCES.split(text):
        for part in parts_of(sentence, _joins(language)):
            begin = text.find(part, end)
            if begin >= 0 and parts and len(words_of(parts[-1])) == 1 and is_order(parts[-1], language):
                part = text[text.rfind(parts.pop(), 0, begin) : begin + len(part)]
            end = max(end, begin + len(part))
            parts.append(part)
    return parts


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
    put_off = _put_off(hass, asked)
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
    elif put_off.goes_on:
        text = FOLLOWS
    else:
        text = VAGUE if put_off.is_vague else LATER
    raise ToolRefusal(text.format(words=put_off.words[:200]))


def _put_off(hass: HomeAssistant, asked: Turn) -> HeldBack | None:
    """Return how what a person said is put off, by its own words or by what it goes on from."""
    said, language = asked.text, asked.language
    now = dt_util.now(dt_util.get_default_time_zone())
    if (put_off := put_off_in(said, language, now, _named(hass, said))) is not None:
        return put_off
    before, offered = _conversation(hass, asked)
    if not before or not refers_back(said, language):
        return None
    if says_now(offered, language) and read_answer(said, language).kind is ReplyKind.YES:
        return None  # "Shall I do it now?" "Yes."
    return put_off_before(before, said, language, now, _named(hass, " ".join(before)))


def _conversation(hass: HomeAssistant, asked: Turn) -> tuple[list[str], str]:
    """Return what the person said in the conversation before a turn, and what was last answered."""
    log = current_chat_log.get()
    if log is not None and log.conversation_id == asked.conversation_id:
        content = [*log.content]
        while content and not isinstance(content.pop(), UserContent):
            pass
    else:
        kept = hass.data.get(DATA_CHAT_LOGS, {}).get(asked.conversation_id)
        content = [*kept.content] if kept is not None else []
    said = [one.content for one in content if isinstance(one, UserContent)]
    answers = [one.content or "" for one in content[-1:] if isinstance(one, AssistantContent)]
    return said[-_FAR:], "".join(answers)


def _is_for_now(tool: HomeAgentTool, plan: Plan) -> bool:
    """Return whether a call changes the home at once, and no time can be one of its values."""
    if plan.effects:
        kinds = ((effect, KINDS[effect.kind]) for effect in plan.effects)
        effects = [effect for effect, kind in kinds if kind.changes_home and kind.acts_now(effect)]
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
