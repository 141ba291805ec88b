"""Wishes that wait, in a conversation: they are told, cancelled, and given another time.

A user hears of their own ones and cancels these (`Wish.is_known_to`).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..languages.data import data_of
from ..languages.later import LaterKind, later_in
from ..languages.phrases import ReplyKind, read_answer
from ..languages.planning import (
    Planning,
    PlanningKind,
    asked_in,
    delay_in,
    keeps_planned,
    names_kind,
    planning_of,
)
from ..languages.reminders import ReminderKind, names_timer, reminder_in
from ..languages.said_moments import SaidMoment, moment_in
from ..languages.vocabulary import keys_of
from ..policy.confirmation import NeedsConfirmation
from ..policy.effects.wording import async_more
from ..policy.intents import Recognised
from ..policy.wishing import CancelWishes, ChangeWish
from ..support.const import DOMAIN
from ..support.errors import ToolError
from ..support.localize import async_text
from ..support.text import words_of
from ..wishes.spoken import async_moment, async_when
from ..wishes.when import When
from ..wishes.wish import Wish, WishKind
from ..wishes.wishes import wishes_of
from .promises import async_called
from .sentences import MAX_REMEMBERED, Done, NotMine, Refused, Result, Sentence, Stage, message_number, spoken

ASKED: HassKey[dict[str, tuple[int, str | None, tuple[str, ...]]]] = HassKey(f"{DOMAIN}_planned_asked")
"""By conversation: the message that was answered with a question which wish is to be cancelled, whose it was, and their ids."""
CANCELS, CHANGES = "cancel_wish", "change_wish"
_MOST = 5  # wishes of one sentence
_LEAST_STEM = 4  # letters
_AROUND = timedelta(hours=6)
"""A bare hour for a wish that has a time is the next one from so long before that time."""


async def answer_which_planned(sentence: Sentence) -> Result:
    """Cancel what is chosen of the wishes that the message before this one was asked about; another sentence is not an answer."""
    place, number = sentence.turn.conversation_id, message_number(sentence.chat_log)
    user = sentence.turn.user
    said, owner, ids = sentence.hass.data.setdefault(ASKED, {}).pop(place, (0, None, ()))
    asked = [wish for wish in known_wishes(sentence) if wish.id in ids] if ids else []
    if said != number - 1 or owner != (user.id if user is not None else None) or not asked:
        return NotMine()
    meant = _chosen(sentence, asked)
    if meant is None or keeps_planned(sentence.turn.text, sentence.turn.language):
        return NotMine()
    if not meant:
        text = await async_text(sentence.hass, sentence.turn.language, "never_mind")
        return Done(said=spoken(sentence.turn, text))
    return await async_cancel(sentence, meant)


def _chosen(sentence: Sentence, asked: Sequence[Wish]) -> Sequence[Wish] | None:
    """Return which of some wishes an answer means, none of them for a no; None for other words.

    They are chosen by their place in what was read out, or by words that one of them has and no other.
    """
    data, said = data_of(sentence.language.code), words_of(sentence.turn.text)
    words = data.choices
    beside = {word for text in (*words.beside, *data.courtesies) for word in words_of(text)}
    left = tuple(word for word in said if word not in beside)

    def is_one_of(phrases: Sequence[str]) -> bool:
        return any(words_of(phrase) in (said, left) for phrase in phrases)

    if is_one_of(words.none) or read_answer(sentence.turn.text, sentence.turn.language).kind is ReplyKind.NO:
        return ()
    if is_one_of((*words.all, *(data.follow_ups.both if len(asked) == 2 else ()))):
        return asked
    for wish, phrases in zip(asked, words.ordinals, strict=False):
        if is_one_of(phrases):
            return (wish,)
    if is_one_of(words.last):
        return asked[-1:]
    named = [wish for wish in asked if left and is_said_in(sentence, left, wish)]
    return named if len(named) == 1 else None


async def async_ask_which(sentence: Sentence, wishes: Sequence[Wish]) -> Done:
    """Ask which of some wishes is to be cancelled; the next message may answer it."""
    asked, user = sentence.hass.data.setdefault(ASKED, {}), sentence.turn.user
    asked.pop(sentence.turn.conversation_id, None)
    ids = tuple(wish.id for wish in wishes)
    owner = user.id if user is not None else None
    asked[sentence.turn.conversation_id] = message_number(sentence.chat_log), owner, ids
    if len(asked) > MAX_REMEMBERED:
        del asked[next(iter(asked))]
    return await async_told_of(sentence, "planned_which", wishes)


async def answer_planned(sentence: Sentence) -> Result:
    """Tell which wishes wait, cancel them, or give one another time."""
    turn, waiting = sentence.turn, known_wishes(sentence)
    planning, just = planning_of(turn.text, turn.language), just_made(sentence, waiting)
    names = _names(sentence, planning) if planning is not None else []
    cancels = planning is not None and planning.kind is PlanningKind.CANCEL
    denies = read_answer(turn.text, turn.language).kind is ReplyKind.NO and not _is_polite(sentence)
    denies = denies and not keeps_planned(turn.text, turn.language)
    if just and (denies or (cancels and planning is not None and not planning.is_all and not names)):
        return await async_cancel(sentence, just)
    if planning is None:
        return await _async_changed(sentence, waiting, just) if waiting else NotMine()
    if not waiting and sentence.stage is Stage.BEFORE_MODEL:
        return NotMine()
    if planning.kind is PlanningKind.LIST:
        return await async_told_of(sentence, "planned_list" if waiting else "planned_none", waiting)
    if not names and not planning.is_sure:
        return NotMine()
    if not waiting:
        return NotMine() if names else await async_told_of(sentence, "planned_nothing", ())
    if planning.is_all and names_timer(turn.text, turn.language):
        waiting = [wish for wish in waiting if wish.kind in (WishKind.TIMER, WishKind.WAKE)]
    return await _async_cancelled(sentence, planning, names, waiting)


async def _async_cancelled(
    sentence: Sentence, planning: Planning, names: Sequence[str], waiting: Sequence[Wish]
) -> Result:
    """Cancel what is named of the wishes that may be meant, or ask which."""
    if not waiting:
        return await async_told_of(sentence, "planned_nothing", ())
    if planning.is_needless:
        meant = [wish for wish in waiting if is_said_in(sentence, names, wish)]
    else:
        meant = meant_of(sentence, names, waiting)
    if planning.is_latest and not planning.is_all:
        meant = sorted(meant, key=lambda wish: wish.made)[-1:]
    elif not names and not planning.is_all and _is_followed(sentence, meant):  # "that" may be what was done since
        return await async_ask_which(sentence, meant)
    if len(meant) > 1 and not planning.is_all:
        return await async_ask_which(sentence, meant)
    return await async_cancel(sentence, meant) if meant else NotMine()


async def answer_not_planned(sentence: Sentence) -> Result:
    """Say that there is nothing to cancel where something was named that does not wait; ask which where others wait."""
    planning = planning_of(sentence.turn.text, sentence.turn.language)
    if planning is None or planning.kind is not PlanningKind.CANCEL or not planning.is_sure:
        return NotMine()
    waiting = known_wishes(sentence)
    return await async_ask_which(sentence, waiting) if waiting else await async_told_of(sentence, "planned_nothing", ())


def known_wishes(sentence: Sentence) -> list[Wish]:
    """Return the wishes that the speaker may know of."""
    return wishes_of(sentence.hass).known_to(sentence.turn)


def just_made(sentence: Sentence, waiting: Sequence[Wish]) -> list[Wish]:
    """Return what the message before this one, in this conversation, made."""
    place = sentence.turn.conversation_id, message_number(sentence.chat_log) - 1
    return [wish for wish in waiting if (wish.conversation_id, wish.message) == place]


# Another time


async def _async_changed(sentence: Sentence, waiting: Sequence[Wish], just: Sequence[Wish]) -> Result:
    """Give one wish another time: "make it nine", "ten minutes later", "move the reminder to eight"."""
    turn, code = sentence.turn, sentence.language.code
    moment = moment_in(turn.text, code, dt_util.now())
    if moment is None or not moment.words:
        return NotMine()
    rest = " ".join(turn.text.replace(moment.words, " ").split())
    asked = asked_in(rest, code, PlanningKind.CHANGE)
    reminder = reminder_in(rest, code)
    if reminder is not None and reminder.kind is ReminderKind.TIMER:  # what is set or changed is a timer
        waiting = [wish for wish in waiting if wish.kind is WishKind.TIMER]
    if asked is None or not waiting:
        return NotMine()
    kinds = names_kind(asked.words, code)
    if asked.words:
        meant = meant_of(sentence, kinds, waiting) if kinds else [*waiting]
        if kinds and not any(is_said_in(sentence, kinds, wish) for wish in meant):
            return NotMine()
    else:
        meant = [*just]
    meant = meant if len(meant) < 2 or not just else [wish for wish in meant if wish in just] or meant
    if len(meant) != 1:
        return NotMine()
    when = _at_another_time(sentence, meant[0], moment)
    return await async_change(sentence, meant[0], when) if when is not None else NotMine()


def _at_another_time(sentence: Sentence, wish: Wish, moment: SaidMoment) -> When | None:
    """Return when a wish is due at another moment; None where that is not known."""
    text, code = sentence.turn.text, sentence.language.code
    sign, old = delay_in(text, code), wish.when.at
    if moment.seconds and sign:
        return None if old is None else moved(wish, old + timedelta(seconds=sign * moment.seconds), moment.words)
    says_day = moment.seconds or moment.sun or any(one.kind is LaterKind.DAY for one in later_in(text, code))
    if old is not None and not says_day:
        start = max(dt_util.now(), dt_util.as_local(old) - _AROUND)
        moment = moment_in(text, code, start) or moment
    return moved(wish, moment.at, moment.words, moment.wall) if not moment.sun else None


def moved(wish: Wish, at: datetime, words: str, wall: str = "") -> When:
    """Return when a wish is due at another moment, with its conditions."""
    if not wall and wish.when.wall:
        wall = dt_util.as_local(at).replace(tzinfo=None).isoformat(timespec="seconds")
    return When(at=dt_util.as_utc(at), wall=wall, conditions=wish.when.conditions, words=words)


async def async_change(sentence: Sentence, wish: Wish, when: When) -> Result:
    """Give a wish another time, and say which."""
    turn, policy = sentence.turn, sentence.means.policy
    tool = ChangeWish(replace(wish, when=when))
    recognised = Recognised(name=CHANGES, slots={})
    try:
        await tool.plan(sentence.hass, {}, turn)
    except ToolError as err:
        return Refused(error=err, recognised=recognised)
    result = await policy.async_call_by_code(turn, tool, {}, sentence.chat_log, known=False)
    if result is None:
        return Refused(error=NeedsConfirmation(), recognised=recognised)
    language = turn.language
    if result.error:
        return Done(said=spoken(turn, await async_text(sentence.hass, language, "confirm_failed")))
    told = {
        "what": await async_called(sentence.hass, turn, wish),
        "when": await async_when(sentence.hass, language, when),
    }
    return Done(said=spoken(turn, await async_text(sentence.hass, language, "planned_changed", **told)))


# Which are meant


def _is_followed(sentence: Sentence, wishes: Sequence[Wish]) -> bool:
    """Return whether something was done in this conversation since one of these was made in it."""
    place = sentence.turn.conversation_id
    made = [wish for wish in wishes if wish.conversation_id == place]
    if not made:
        return False
    since, ids = min(wish.made for wish in made), {f"wish:{wish.id}" for wish in made}
    done = sentence.means.journal.newest_first(lambda _: True)
    later = (action for action in done if action.conversation_id == place and action.when > since)
    return any(set(action.touched) - ids for action in later)


def _is_polite(sentence: Sentence) -> bool:
    """Return whether a no is a "no thanks": nothing more is wanted."""
    said, data = f" {' '.join(words_of(sentence.turn.text)[1:])} ", data_of(sentence.language.code)
    courteous = any(f" {' '.join(words_of(text))} " in said for text in (*data.courtesies, *data.polite))
    return courteous and planning_of(sentence.turn.text, sentence.turn.language) is None


def _names(sentence: Sentence, planning: Planning) -> list[str]:
    """Return those of the words that name something; where a wish is denied also "on" and "up"."""
    data = data_of(sentence.language.code)
    listed = () if planning.is_needless else (*data.prepositions, *data.no, *data.planning.reminders)
    nothing = {word for text in (*data.harmless, *data.courtesies, *listed) for word in words_of(text)}
    return [word for word in planning.words if word not in nothing]


def is_said_in(sentence: Sentence, names: Sequence[str], wish: Wish) -> bool:
    """Return whether all that is named was said in a wish, maybe in another form: "éteindre" and "éteins"."""
    base, said_then = sentence.language.base, _words(wish)
    return all(any(_is_form(base, word, said) for said in said_then) for word in names)


def _is_form(base: str, word: str, said: str) -> bool:
    """Return whether two words are forms of one."""
    stem = max(_LEAST_STEM, len(said) - 3)
    return not keys_of(base, word).isdisjoint(keys_of(base, said)) or word[:stem] == said[:stem]


def _words(wish: Wish) -> tuple[str, ...]:
    """Return all words that a wish was made with."""
    return (*words_of(wish.words), *words_of(wish.text), *words_of(wish.when.words))


def meant_of(sentence: Sentence, names: Sequence[str], waiting: Sequence[Wish]) -> list[Wish]:
    """Return which wishes are meant: those that share most words with what is named, all where nothing is.

    A wish is not meant if something in the home is named that it does not name.
    """
    base = sentence.language.base
    entities, areas = sentence.home.entities.values(), sentence.home.areas.values()
    called = [*(each.names for each in entities), *(each.names for each in areas)]
    known = {key for names_of in called for name in names_of for word in words_of(name) for key in keys_of(base, word)}
    scores: dict[str, int] = {}
    for wish in waiting:
        said = _words(wish)
        other = [
            word
            for word in names
            if not any(_is_form(base, word, each) for each in said)
            and (len(word) < _LEAST_STEM or not any(word in each for each in said))  # a part of "Keukenlicht"
        ]
        is_other = any(not known.isdisjoint(keys_of(base, word)) for word in other)
        scores[wish.id] = 0 if is_other else len(names) - len(other)
    best = max(scores.values())
    return [wish for wish in waiting if scores[wish.id] == best] if best or not names else []


# Cancelling and telling


async def async_cancel(sentence: Sentence, wishes: Sequence[Wish]) -> Done | Refused:
    """Cancel wishes, and say which."""
    turn, tool = sentence.turn, CancelWishes(wishes)
    recognised = Recognised(name=CANCELS, slots={})
    try:
        await tool.plan(sentence.hass, {}, turn)
    except ToolError as err:
        return Refused(error=err, recognised=recognised)
    told = await async_told_of(sentence, "planned_cancelled", wishes)
    result = await sentence.means.policy.async_call_by_code(turn, tool, {}, sentence.chat_log, known=False)
    if result is None:
        return Refused(error=NeedsConfirmation(), recognised=recognised)
    if result.error:
        return Done(said=spoken(turn, await async_text(sentence.hass, turn.language, "confirm_failed")))
    return told


async def async_told_of(sentence: Sentence, key: str, wishes: Sequence[Wish]) -> Done:
    """Tell of some wishes, each with its time."""
    hass, turn, language = sentence.hass, sentence.turn, sentence.turn.language
    told = [
        f"{await async_called(hass, turn, wish)} ({await _async_time(hass, language, wish.when)})"
        for wish in wishes[:_MOST]
    ]
    items = await async_more(hass, language, told, len(wishes))
    placeholders = {"items": items} if wishes else {}
    text = await async_text(hass, language, key, **placeholders)
    return Done(said=spoken(turn, text))


async def _async_time(hass: HomeAssistant, language: str, when: When) -> str:
    """Return when a wish is due: of today the time alone."""
    if when.event is not None or when.at is None:
        return when.words
    at = dt_util.as_local(when.at)
    return f"{at:%H:%M}" if at.date() == dt_util.now().date() else await async_moment(hass, language, at)
