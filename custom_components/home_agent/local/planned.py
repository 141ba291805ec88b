"""Wishes that wait, in a conversation: they are told, cancelled, and given another time.

A user hears of their own ones and cancels these (`Wish.is_known_to`).
"""

from collections.abc import Sequence
from dataclasses import replace

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..home.wording import async_more
from ..languages.changes import asked_when, correction_in, is_from_now, time_in
from ..languages.clause_cuts import orders_of
from ..languages.data import data_of
from ..languages.later import LaterKind, later_in
from ..languages.phrases import ReplyKind, read_answer
from ..languages.planning import (
    Planning,
    PlanningKind,
    asked_in,
    cancels_any,
    keeps_planned,
    kinds_in,
    names_all,
    planning_of,
    without_some,
)
from ..languages.reminders import says_wake
from ..languages.spoken_numbers import words_in
from ..languages.times import numbers_in
from ..policy.confirmation import NeedsConfirmation
from ..policy.intents import Recognised
from ..policy.wishing import CancelWishes
from ..support.errors import ToolError
from ..support.localize import async_text
from ..support.text import words_of
from ..wishes.spoken import async_moment
from ..wishes.when import When
from ..wishes.wish import Wish, WishKind
from .intent_policy import has_timers
from .later import named_in
from .planning import async_plan
from .promises import async_called
from .sentences import Done, NotForNow, NotMine, Refused, Result, Sentence, Stage, spoken
from .wishes_meant import (
    DoesWith,
    at_time,
    by_place,
    chosen,
    forget_rung,
    in_order,
    is_said_in,
    just_made,
    just_rung,
    just_spoken_of,
    known_wishes,
    meant_of,
    note_told,
    of_kinds,
    told_before,
)

CANCELS = "cancel_wish"
MOST_TOLD = 8
"""Wishes of one sentence; of more it is told how many."""


async def answer_which_planned(sentence: Sentence) -> Result:
    """Do with what is chosen of some wishes what the message before this one wanted; another sentence is not an answer."""
    told = told_before(sentence)
    if told is None or told.then is None:
        return NotMine()
    known = {wish.id: wish for wish in known_wishes(sentence)}
    asked = [known[item] for item in told.ids if item in known]
    meant = chosen(sentence, asked) if asked else None
    if meant is None or keeps_planned(sentence.turn.text, sentence.turn.language):
        return NotMine()
    if not meant:
        return Done(said=spoken(sentence.turn, await async_text(sentence.hass, sentence.turn.language, "never_mind")))
    return await told.then(sentence, meant)


async def async_ask_which(
    sentence: Sentence, wishes: Sequence[Wish], then: DoesWith | None = None, key: str = "planned_which"
) -> Done:
    """Ask which of some wishes is meant, and keep what is done with it: they are cancelled if nothing else is named."""
    done = await async_told_of(sentence, key, wishes)
    note_told(sentence, wishes[:MOST_TOLD], then or async_cancel)
    return done


async def answer_planned(sentence: Sentence) -> Result:
    """Tell which wishes wait, or cancel them."""
    turn, waiting = sentence.turn, known_wishes(sentence)
    if (stopped := await _async_stopped(sentence, waiting)) is not None:
        return stopped
    if waiting and (left := _without_some(sentence, waiting)):
        return await async_cancel(sentence, left)
    if waiting and (asked := _asked_when(sentence, waiting)):
        done = await async_told_of(sentence, "planned_list", asked)
        note_told(sentence, asked[:MOST_TOLD])
        return done
    planning, just = planning_of(turn.text, turn.language), just_made(sentence, waiting)
    names = names_in(sentence, planning) if planning is not None else []
    cancels = planning is not None and planning.kind is PlanningKind.CANCEL
    denies = read_answer(turn.text, turn.language).kind is ReplyKind.NO and not _is_polite(sentence)
    denies = denies and not keeps_planned(turn.text, turn.language)
    if (unsure := await _async_unsure(sentence, planning if cancels else None, waiting, denies=denies)) is not None:
        return unsure
    if just and planning is not None and planning.kinds and len(just := of_kinds(waiting, planning.kinds)) > 1:
        just = []  # any of them may be meant
    if planning is not None and planning.is_weak:
        return await _async_weakly(sentence, planning, names, waiting)
    if just and (denies or (cancels and planning is not None and not planning.is_all and not names)):
        return await async_cancel(sentence, just)
    if planning is None or (not waiting and (sentence.stage is Stage.BEFORE_MODEL or planning.is_weak)):
        return NotMine()
    if planning.kinds == {WishKind.TIMER} and has_timers(sentence.hass, turn):
        return NotMine()  # the device has its own
    if planning.kind is PlanningKind.LIST:
        return await _async_listed(sentence, planning, waiting)
    if (names and not waiting) or not (names or planning.is_sure):
        return NotMine()
    return await _async_cancelled(sentence, planning, names, of_kinds(waiting, planning.kinds))


async def _async_unsure(
    sentence: Sentence, planning: Planning | None, waiting: Sequence[Wish], *, denies: bool
) -> Result | None:
    """Return the answer where a sentence that may cancel moves a wish, is itself for later, or means any of several."""
    turn, code = sentence.turn, sentence.language.code
    corrected = correction_in(turn.text, code, dt_util.now()) if denies or planning is not None else None
    if corrected is not None:
        named = at_time(sentence, waiting, corrected.new)
        if not named:
            return NotMine()  # it is moved, and not cancelled
        if corrected.old is not None and (old := at_time(sentence, waiting, corrected.old)):
            return await async_ask_which(sentence, [*old, *(wish for wish in named if wish not in old)])
    some = of_kinds(waiting, kinds_in(words_of(turn.text), code)[0])
    if len(some) > 1 and cancels_any(turn.text, turn.language):
        return await async_ask_which(sentence, some)
    if planning is not None and waiting and _is_for_later(sentence, planning, waiting):
        return NotMine(put_off=NotForNow(words=turn.text))
    return None


async def _async_stopped(sentence: Sentence, waiting: Sequence[Wish]) -> Done | None:
    """Stop the timer or the alarm that has just rung; of another kind it is asked which is meant, and nothing is cancelled."""
    turn, code, rung = sentence.turn, sentence.language.code, just_rung(sentence)
    if rung is None or has_timers(sentence.hass, turn) or names_all(turn.text, code):
        return None
    if (asked := asked_in(turn.text, code, PlanningKind.STOP)) is None:
        return None
    kinds, named = kinds_in(words_of(turn.text), code)[0], kinds_in(asked.words, code)[1]
    if named and not (rung.text and is_said_in(sentence, named, rung)):
        return None
    forget_rung(sentence, rung)
    if kinds and rung.kind.value not in kinds and (others := of_kinds(waiting, kinds)):
        return await async_ask_which(sentence, others)
    return Done(said=spoken(turn, await async_text(sentence.hass, turn.language, "never_mind")))


def _asked_when(sentence: Sentence, waiting: Sequence[Wish]) -> list[Wish]:
    """Return the wishes of which it is asked when they are due: those that are named, else those that were just spoken of."""
    named = asked_when(sentence.turn.text, sentence.language.code)
    if named is None:
        return []
    kinds, names = kinds_in(named, sentence.language.code)
    if not kinds and says_wake(sentence.turn.text, sentence.language.code):
        return of_kinds(waiting, {WishKind.WAKE.value})
    if not kinds and not names:
        return just_spoken_of(sentence, waiting)
    return [wish for wish in of_kinds(waiting, kinds) if is_said_in(sentence, names, wish)]


async def _async_weakly(
    sentence: Sentence, planning: Planning, names: Sequence[str], waiting: Sequence[Wish]
) -> Result:
    """Cancel what a word is for that may be for other things as well: a timer or what was just told, and only where that is all."""
    spoken_of = just_spoken_of(sentence, waiting)
    if not names:
        if planning.is_both and spoken_of and len(waiting) == 2:
            return await async_cancel(sentence, waiting)
        return await async_cancel(sentence, spoken_of) if planning.is_all and len(spoken_of) > 1 else NotMine()
    if placed := by_place(sentence, " ".join(names), in_order(sentence, waiting)):
        return await async_cancel(sentence, placed)
    pool = [wish for wish in waiting if wish.kind is WishKind.TIMER or wish in spoken_of]
    meant = [wish for wish in pool if is_said_in(sentence, names, wish)]
    if not meant or (await async_plan(sentence, sentence.turn.text)).is_known:
        return NotMine()
    return await _async_this_or_which(sentence, meant)


def _without_some(sentence: Sentence, waiting: Sequence[Wish]) -> Sequence[Wish]:
    """Return what all but something of is; nothing where it is not known what is left out."""
    code = sentence.language.code
    if (found := without_some(sentence.turn.text, code)) is None:
        return ()
    planning, kept = found
    kinds, words = kinds_in(words_of(kept), code)
    names = names_in(sentence, replace(planning, words=words))
    if not kinds and not names:
        return ()
    stay = [wish for wish in of_kinds(waiting, kinds) if is_said_in(sentence, names, wish)]
    return [wish for wish in of_kinds(waiting, planning.kinds) if wish not in stay] if stay else ()


async def _async_listed(sentence: Sentence, planning: Planning, waiting: Sequence[Wish]) -> Done:
    """Tell what waits: all of it, of one kind, or on one day."""
    found = of_kinds(waiting, planning.kinds)
    text, code = sentence.turn.text, sentence.language.code
    said = time_in(text, code, dt_util.now())
    if said is not None and any(one.kind is LaterKind.DAY for one in later_in(text, code, named_in(sentence))):
        day = said.day if said.day is not None or said.moment is None else said.moment.at.date()
        found = [wish for wish in found if wish.when.at is not None and dt_util.as_local(wish.when.at).date() == day]
    if not found:
        return await async_told_of(sentence, "planned_none_such" if waiting else "planned_none", ())
    done = await async_told_of(sentence, "planned_list", found)
    note_told(sentence, found[:MOST_TOLD])
    return done


async def _async_cancelled(
    sentence: Sentence, planning: Planning, names: Sequence[str], waiting: Sequence[Wish]
) -> Result:
    """Cancel what is named of the wishes that may be meant, or ask which."""
    if not waiting:
        return await async_told_of(sentence, "planned_nothing", ())
    if planning.is_needless and planning.is_all:  # "the timers aren't needed any more, turn both off"
        names = [word for word in names if word not in orders_of(sentence.language.code)]
    elif planning.is_needless:
        meant = [wish for wish in waiting if is_said_in(sentence, names, wish)]
        return await _async_this_or_which(sentence, meant)
    names, waiting = _at_its_time(sentence, names, waiting)
    if placed := by_place(sentence, " ".join(names), in_order(sentence, waiting)) if names else []:
        is_number = len(names) == 1 and bool(numbers_in(words_in(names[0]), sentence.language.code))
        return await (async_ask_which(sentence, waiting) if is_number else async_cancel(sentence, placed))
    if planning.is_all:
        meant = [wish for wish in waiting if is_said_in(sentence, names, wish)]
        if planning.is_both and len(meant) != 2:
            two = [wish for wish in meant if wish in just_spoken_of(sentence, waiting)]
            return await (async_cancel(sentence, two) if len(two) == 2 else _async_this_or_which(sentence, meant))
        return await async_cancel(sentence, meant) if meant else NotMine()
    meant = meant_of(sentence, names, waiting)
    if planning.is_latest:
        told = told_before(sentence)
        latest = sorted(meant, key=lambda wish: wish.made)[-1:]
        if told is not None and len(told.ids) > 1 and [wish.id for wish in latest] != [told.ids[-1]]:
            return await async_ask_which(sentence, meant)  # of those that were read out, or of those that were made
        meant = latest
    elif not names and _is_followed(sentence, meant):  # "that" may be what was done since
        return await async_ask_which(sentence, meant)
    return await _async_this_or_which(sentence, meant)


async def _async_this_or_which(sentence: Sentence, meant: Sequence[Wish]) -> Result:
    if len(meant) > 1:
        return await async_ask_which(sentence, meant)
    return await async_cancel(sentence, meant) if meant else NotMine()


def _is_for_later(sentence: Sentence, planning: Planning, waiting: Sequence[Wish]) -> bool:
    """Return whether a sentence puts cancelling itself off: it names a time that none of what waits has."""
    text, code = sentence.turn.text, sentence.language.code
    said = time_in(text, code, dt_util.now())
    if said is None or at_time(sentence, waiting, said):
        return False
    return is_from_now(said, code) or (planning.is_all and bool(later_in(text, code, named_in(sentence))))


def _at_its_time(sentence: Sentence, names: Sequence[str], waiting: Sequence[Wish]) -> tuple[Sequence[str], list[Wish]]:
    """Return what is named beside a time, and the wishes of that time; none of another time is meant."""
    text, code = sentence.turn.text, sentence.language.code
    if (said := time_in(text, code, dt_util.now())) is None:
        return names, [*waiting]
    if timed := at_time(sentence, waiting, said):
        beside = set(words_of(said.rest))
        return [word for word in names if word in beside], timed
    if later_in(text, code, named_in(sentence)):
        return names, [wish for wish in waiting if is_said_in(sentence, names, wish)]
    return names, [*waiting]


async def answer_not_planned(sentence: Sentence) -> Result:
    """Say that there is nothing to cancel where something was named that does not wait; ask which where others wait."""
    planning = planning_of(sentence.turn.text, sentence.turn.language)
    if planning is None or planning.kind is not PlanningKind.CANCEL or not planning.is_sure:
        return NotMine()
    waiting = of_kinds(known_wishes(sentence), planning.kinds)
    if len(waiting) > 1:
        return await async_ask_which(sentence, waiting)
    if not waiting:
        return await async_told_of(sentence, "planned_nothing", ())
    names = names_in(sentence, planning)
    if names and is_said_in(sentence, names, waiting[0]):
        return await async_cancel(sentence, waiting)
    none, waits = (
        await _async_text_of(sentence, "planned_none_such", ()),
        await _async_text_of(sentence, "planned_list", waiting),
    )
    note_told(sentence, waiting)
    return Done(said=spoken(sentence.turn, f"{none} {waits}"))


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


def names_in(sentence: Sentence, planning: Planning) -> list[str]:
    """Return those of the words that name something; where a wish is denied also "on" and "up"."""
    data = data_of(sentence.language.code)
    listed = () if planning.is_needless else (*data.prepositions, *data.no)
    nothing = {word for text in (*data.harmless, *data.courtesies, *listed) for word in words_of(text)}
    beside = (*data.planning.last, *data.planning.corrects, *data.follow_ups.joins)
    nothing |= {words[0] for words in map(words_of, beside) if len(words) == 1}
    return [word for word in planning.words if word not in nothing]


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
    note_told(sentence, wishes[:MOST_TOLD])
    return told


async def async_told_of(sentence: Sentence, key: str, wishes: Sequence[Wish]) -> Done:
    """Tell of some wishes, each with its time; of many how many more there are."""
    return Done(said=spoken(sentence.turn, await _async_text_of(sentence, key, wishes)))


async def _async_text_of(sentence: Sentence, key: str, wishes: Sequence[Wish]) -> str:
    hass, turn, language = sentence.hass, sentence.turn, sentence.turn.language
    told = [
        f"{await async_called(hass, turn, wish)} ({await async_time(hass, language, wish.when)})"
        for wish in wishes[:MOST_TOLD]
    ]
    items = await async_more(hass, language, told, len(wishes))
    placeholders = {"items": items} if wishes else {}
    return await async_text(hass, language, key, **placeholders)


async def async_time(hass: HomeAssistant, language: str, when: When) -> str:
    """Return when a wish is due: of today the time alone; of a timer that is paused how long it has."""
    if when.left:
        return await async_text(hass, language, "planned_paused_item", left=span_of(when.left))
    if when.event is not None or when.at is None:
        return when.said
    at = dt_util.as_local(when.at)
    said = f"{at:%H:%M}" if at.date() == dt_util.now().date() else await async_moment(hass, language, at)
    return ", ".join((said, *when.provided))


async def async_left_of(hass: HomeAssistant, language: str, wish: Wish, when: When) -> str:
    """Return how long a timer has, with its name: "pasta: 4:59"."""
    left = when.left or max(0, round(((when.at or dt_util.utcnow()) - dt_util.utcnow()).total_seconds()))
    if not wish.text:
        return span_of(left)
    return await async_text(hass, language, "planned_left_item", name=wish.text, left=span_of(left))


def span_of(seconds: int) -> str:
    """Return a length as it is shown: "4:59", "1:00:00"."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
