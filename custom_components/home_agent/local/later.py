"""Commands that are not for now and of which no wish came: nothing is done, and a user without a model is told which words it is.

What says when, how long, how often or on which condition is never left out. It may be a part of something else: an item of a list, a
message, a value of the owner's scripts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
import re

from hassil.recognize import RecognizeResult
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.helpers import intent
from homeassistant.helpers.intent import IntentResponseErrorCode
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..home.wording import quoted
from ..languages.later import Later, LaterKind, later_in, without_times
from ..languages.moods import MoodKind, mood_of
from ..languages.phrases import begins_otherwise, is_order, is_question, is_remark, speaks_of_home
from ..languages.recasts import recast
from ..languages.reminders import ReminderKind, asks_across, names_timer, plainly, reminder_in
from ..policy.intents import CHANGES_NOTHING, TIMERS
from ..support.const import DOMAIN
from ..support.localize import async_text
from ..support.text import words_of
from .parts import understand
from .sentences import (
    MAX_REMEMBERED,
    Done,
    NotForNow,
    NotMine,
    Result,
    Sentence,
    error_response,
    message_number,
)
from .things import ARTICLE

_SAYS = "message"
_WRITES = "item"
_SEARCHES = "search_query"
_FREE = frozenset({_SAYS, _WRITES, _SEARCHES})
"""Slots that take any words."""
_ASKED = frozenset({LaterKind.VAGUE, LaterKind.DAY})
"""What says no moment, so that it is asked for."""
_OF_TIMES = frozenset({"local_not_for_later", "planned_not_when"})
"""What says that a time is not understood."""
_ASKS = frozenset({"local_when", "local_what_time", "wish_no_time", "planned_not_when"})
"""What asks for a time, which the next sentence may say."""
_OF_NAMES = "planned_several"
"""What tells no words of the sentence, but names."""
_HOURS = 59
"""No clock shows a higher number."""
_MOST = 4  # last words among which the command behind a condition is looked for, where no verb begins it


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWhen:
    """A sentence of which it was asked when, for the message that follows it."""

    number: int
    """The message that was answered."""
    owner: str | None
    text: str
    """The sentence, without what says no moment; a day stays."""
    asked: datetime


ASKED_WHEN: HassKey[dict[str, AskedWhen]] = HassKey(f"{DOMAIN}_asked_when")
"""By conversation."""


def named_in(sentence: Sentence) -> tuple[str, ...]:
    """Return the names of the home that a sentence has in it, which say nothing of a time: the "Evening" scene."""
    said, home = sentence.turn.text.casefold(), sentence.home
    called = [*(each.names for each in home.entities.values()), *(each.names for each in home.areas.values())]
    return tuple(name for names in called for name in names if name.casefold() in said)


def names_of(sentence: Sentence) -> tuple[str, ...]:
    """Return the names of the home that a sentence has in it as words of their own: no "Tom" in "tomorrow"."""
    said = sentence.turn.text.casefold()
    return tuple(name for name in named_in(sentence) if re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", said))


def puts_off(sentence: Sentence, result: RecognizeResult) -> bool:
    """Return whether the sentence says that what was recognised in it is not for now, other than in a name or a value.

    An item may have a time in it ("call mum tomorrow"), but does not begin with one; a single word with one is not an item alone
    ("bread tomorrow"). What is searched for may begin with one ("Tomorrow Never Knows"). A message has any, but begins with no
    condition and no length ("announce when the cake is done"), and what is to be told to "me" is none.
    """
    text, said, code = sentence.turn.text, sentence.turn.text.casefold(), sentence.language.code
    named = [each.text_clean for each in result.entities_list if each.name not in _FREE]
    free: list[tuple[str, int, int]] = []
    for each in result.entities_list:
        begin = said.find(each.text_clean.casefold()) if each.name in _FREE else -1
        if begin >= 0 and not (each.name == _SAYS and asks_across(text, begin, code)):
            free.append((each.name, begin, begin + len(each.text_clean)))
    for one in later_in(text, code, named):
        if one.kind is LaterKind.CLOCK and any(number > _HOURS for number in map(int, re.findall(r"\d+", one.words))):
            continue  # a value: "all'62"
        slot = next((each for each in free if each[1] <= one.begin and one.end <= each[2]), None)
        if slot is None or _is_beside(one, text, *slot):
            return True
    return False


async def is_value_of(sentence: Sentence, *, searched: bool) -> bool:
    """Return whether all that says when in a sentence is a part of something that is for now, as the readers know it.

    `searched`: whether a part of what is searched for counts, which may be any words.
    """
    result = await sentence.agent.async_recognize_intent(sentence.user_input, strict_intents_only=True)
    if result is not None and not result.unmatched_entities:
        if (result.intent_metadata or {}).get(METADATA_CUSTOM_SENTENCE):
            return True
        if result.intent.name in CHANGES_NOTHING - {intent.INTENT_TIMER_STATUS}:
            return True
        if _SEARCHES in result.entities and not searched:
            return False
        if result.intent.name not in TIMERS and not puts_off(sentence, result):
            return True
    return False


def only_asks(text: str, code: str) -> bool:
    """Return whether a text asks about something; "¿a las ocho me apagas la luz?" is an order behind its time, in another form.

    So is what asks to be reminded, woken or told: "mi sveglieresti domani alle sei?".
    """
    if not is_question(plainly(text, code), code) or reminder_in(text, code) is not None:
        return False
    return not is_order(plainly(without_times(text, code).strip(" ?¿,"), code), code)


def _is_beside(one: Later, text: str, slot: str, begin: int, end: int) -> bool:
    """Return whether a time among free words says when, and is no part of them."""
    before, after = (
        sum(len(word) > ARTICLE for word in words_of(part)) for part in (text[begin : one.begin], text[one.end : end])
    )
    if slot == _SAYS:  # "tell me when ..." is no message, "dinner is in ten minutes" is one
        return one.kind in (LaterKind.EVENT, LaterKind.SPAN) and len(words_of(text[begin : one.begin])) <= 1
    if not before + after or (slot == _WRITES and one.kind is LaterKind.LASTING):
        return False
    if slot == _SEARCHES:
        return before > 0 and (not after or one.kind is LaterKind.EVENT)
    return not before or (before == 1 and (not after or one.kind is LaterKind.EVENT))


async def answer_when(sentence: Sentence) -> Result:
    """Say which words of a command are not understood as a time that can be waited for; ask when, where it is only for later."""
    sentence = sentence.saying(recast(sentence.turn.text, sentence.language.code))
    turn, code = sentence.turn, sentence.language.code
    found, put_off = later_in(turn.text, code, named_in(sentence)), sentence.put_off
    if not found and put_off is None and turn.profile.wishes and _lacks_time(turn.text, code):
        return await _async_said(sentence, "wish_no_time", "")
    if put_off is not None and put_off.is_forever and put_off.words:
        return await _async_said(sentence, "planned_forever", put_off.words)
    if not found or put_off is None:
        return NotMine()
    if is_question(turn.text, code):
        return NotMine()
    if found[0].kind is not LaterKind.EVENT or found[0].begin:  # "when the washer is done" tells nothing
        if is_remark(turn.text, code) or begins_otherwise(turn.text, code):
            return NotMine()
    for rest, words in _commands(turn.text, code, found):
        if rest and await _async_is_wanted(sentence.saying(rest)):
            return await _async_told(sentence, found, put_off, words)
    if put_off.words and reminder_in(turn.text, code) is not None:
        return await _async_told(sentence, found, put_off, "")
    if speaks_of_home(turn.text, code):
        return await _async_told(sentence, found, put_off, _longest(turn.text, code, found))
    return NotMine()


def _lacks_time(text: str, code: str) -> bool:
    """Return whether a text is a whole reminder, or wants its user to be woken, without a time."""
    reminder = reminder_in(text, code)
    if reminder is None or reminder.left or names_timer(text, code):
        return False
    return reminder.kind is ReminderKind.WAKE or (reminder.kind is ReminderKind.REMINDER and bool(reminder.text))


async def _async_told(sentence: Sentence, found: Sequence[Later], put_off: NotForNow, words: str) -> Done:
    """Say why no wish came of a sentence, with the words that are not understood, else with those that may put it off."""
    is_asked = all(one.kind in _ASKED for one in found) and put_off.why in _OF_TIMES
    is_day = {one.kind for one in found} == {LaterKind.DAY}
    key = ("local_what_time" if is_day else "local_when") if is_asked else put_off.why
    words = put_off.words or words
    return await _async_said(sentence, key, words if key == _OF_NAMES else quoted(words, sentence.turn.language))


async def _async_said(sentence: Sentence, key: str, words: str) -> Done:
    if key in _ASKS:
        _note_asked(sentence)
    return await async_told(sentence, key, when=words)


async def async_told(sentence: Sentence, key: str, **placeholders: str) -> Done:
    """Return why nothing was done."""
    text = await async_text(sentence.hass, sentence.turn.language, key, **placeholders)
    return Done(said=error_response(sentence.turn, IntentResponseErrorCode.FAILED_TO_HANDLE, text))


async def async_ask_time(sentence: Sentence, words: str) -> Done:
    """Ask at what time, of a sentence that says on which days, or in which part of them."""
    _keep_asked(sentence, sentence.turn.text)
    return await async_told(sentence, "local_what_time", when=quoted(words, sentence.turn.language))


async def async_ask_half(sentence: Sentence, words: str) -> Done:
    """Ask which half of the day is meant by a time that a sentence says, and keep what it says without that time."""
    text = sentence.turn.text
    before, _, behind = text.partition(words)
    _keep_asked(sentence, f"{before.rstrip(' ,')} {behind.lstrip(' ,')}" if words and text.count(words) == 1 else "")
    return await async_told(sentence, "automation_spoken_half", when=quoted(words, sentence.turn.language))


def _note_asked(sentence: Sentence) -> None:
    """Keep a sentence of which it is asked when."""
    turn, code = sentence.turn, sentence.language.code
    found = later_in(turn.text, code, named_in(sentence))
    words = sentence.put_off.words if sentence.put_off is not None else ""
    text = without_times(turn.text, code, LaterKind.VAGUE)
    if any(one.kind not in _ASKED for one in found):
        text = turn.text.replace(words, " ") if words and len(found) == 1 else ""
    _keep_asked(sentence, text)


def _keep_asked(sentence: Sentence, text: str) -> None:
    """Keep what a sentence says without what says no moment; nothing where that is empty."""
    turn = sentence.turn
    asked = sentence.hass.data.setdefault(ASKED_WHEN, {})
    asked.pop(turn.conversation_id, None)
    if not text.strip():
        return
    asked[turn.conversation_id] = AskedWhen(
        number=message_number(sentence.chat_log),
        owner=turn.user.id if turn.user is not None else None,
        text=" ".join(text.split()),
        asked=dt_util.utcnow(),
    )
    if len(asked) > MAX_REMEMBERED:
        del asked[next(iter(asked))]


def _commands(text: str, code: str, found: Sequence[Later]) -> Iterator[tuple[str, str]]:
    """Yield what may be the command of a text, with the words that put it off."""
    event = next((one for one in found if one.kind is LaterKind.EVENT), None)
    if event is None:
        yield without_times(text, code), ", ".join(one.words for one in found)
        return
    before, behind = text[: event.begin].strip(" ,"), text[event.begin :]
    clause, comma, rest = behind.partition(",")
    if comma:
        yield f"{before} {rest}".strip(), clause.strip()
    yield before, behind.strip(" ,.!")
    words = behind.split()
    if (order := _order_in(words, code)) is not None:
        yield " ".join(words[order:]), " ".join(words[:order])
    else:
        for at in range(max(1, len(words) - _MOST), len(words)):
            yield " ".join(words[at:]), " ".join(words[:at])


def _longest(text: str, code: str, found: Sequence[Later]) -> str:
    """Return the words that put a text off, whose command is not known: of a condition all that may belong to it."""
    event = next((one for one in found if one.kind is LaterKind.EVENT), None)
    if event is None:
        return ", ".join(one.words for one in found)
    clause, comma, _ = text[event.begin :].partition(",")
    words = clause.split()
    order = _order_in(words, code)
    if comma or event.begin or order is not None:
        return " ".join(words[:order])
    return f"{event.words} …"


def _order_in(words: Sequence[str], code: str) -> int | None:
    """Return the place behind the first word from which on words are a command."""
    return next((at for at in range(1, len(words)) if is_order(" ".join(words[at:]), code)), None)


async def _async_is_wanted(sentence: Sentence) -> bool:
    """Return whether something is wanted that can be done."""
    text, code = sentence.turn.text, sentence.language.code
    mood = mood_of(text, code)
    if mood is not None and mood.kind is not MoodKind.REMARK:
        return True
    if (await sentence.means.brain.async_read(understand, sentence)).orders:
        return True
    result = await sentence.agent.async_recognize_intent(sentence.user_input, strict_intents_only=True)
    return result is not None and not result.unmatched_entities and is_order(text, code)
