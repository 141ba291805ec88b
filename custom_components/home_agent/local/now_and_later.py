"""Sentences of which the first part is for now and the second one for later: "turn the lamp on now and off in an hour".

The first part says so ("now"), or it is a command and the second one begins with its time, or ends what the first one does.
Nothing is done where one of them is not understood.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
import re

from homeassistant.const import SERVICE_VOLUME_MUTE
from homeassistant.util import dt as dt_util

from ..languages.changes import as_another, does_something
from ..languages.clause_cuts import articles_of
from ..languages.data import data_of
from ..languages.later import Later, later_in, says_now, without_now
from ..languages.phrases import is_order, is_question
from ..languages.recasts import recast
from ..languages.reminders import naming, reminder_in, without_then, without_words
from ..languages.timing import Timed, timed_in
from ..policy.intents import Recognised
from ..policy.questions import async_done
from ..policy.wishing import check_asks, check_wish
from ..support.errors import ToolError
from ..support.text import words_of
from ..wishes.wish import Wish, WishKind
from .later import named_in
from .planning import Planned, async_does, async_plan, carried, effects_of, services_of
from .promises import async_end_promise, async_promise
from .returning import steps_back
from .sentences import NotForNow, NotMine, Refused, Result, Sentence
from .when_due import NotUnderstood, async_when_of
from .wished import Wished, async_wished
from .wishing import MAKES, async_ending, async_now, made_of

_MOST_HALVES = 3
_MOST_BETWEEN = 1
"""Words between what joins two parts and the time of the second one: "and then in an hour"."""


async def answer_now_and_later(sentence: Sentence) -> Result:
    """Do the first part of a sentence now, and wish for the second."""
    turn, code = sentence.turn, sentence.language.code
    text, named = recast(turn.text, code), named_in(sentence)
    found = later_in(text, code, named)
    if not found or not turn.profile.wishes or is_question(text, code):
        return NotMine()
    is_said = False
    for first, second in _halves(text, code, found):
        begun = without_now(first, code)
        is_now = says_now(first, code)
        if reminder_in(first, code) is not None or not (is_now or is_order(first, code)):
            continue
        is_said = is_said or is_now
        planned = await async_plan(sentence, begun)
        if not planned.steps or any(step.command for step in planned.steps):
            continue
        is_apart = is_now or _begins_timed(second, code, named)
        for timed in timed_in(second, code, dt_util.now(), named):
            if timed.unread or timed.forever or timed.back is not None or not timed.rest:
                continue
            if timed.clauses and not is_now:
                continue
            try:
                later = replace(sentence.saying(second), before=None)
                return await _async_both(sentence, planned, later, timed, is_apart=is_apart)
            except NotUnderstood:
                continue
    return NotMine(put_off=NotForNow(words=turn.text)) if is_said else NotMine()


def _halves(text: str, code: str, found: Sequence[Later]) -> Iterator[tuple[str, str]]:
    """Yield both parts of a text that is joined in front of all that says when, the nearest cut first."""
    data = data_of(code)
    listed = sorted({*data.follow_ups.joins, *data.planning.goes_on}, key=len, reverse=True)
    joins = "|".join(map(re.escape, listed)) or "(?!)"
    pattern = re.compile(rf"\s?[,;.]\s+(?:(?:{joins})\s)?|\s(?:{joins})\s", re.IGNORECASE)
    cuts = list(pattern.finditer(text[: found[0].begin]))
    for cut in reversed(cuts[-_MOST_HALVES:]):
        yield text[: cut.start()].strip(" ,"), as_another(text[cut.end() :].strip(" ,"), code)


def _begins_timed(text: str, code: str, named: Sequence[str]) -> bool:
    """Return whether a text begins with its time."""
    found = later_in(text, code, named)
    return bool(found) and len(words_of(text[: found[0].begin])) <= _MOST_BETWEEN


async def _async_both(sentence: Sentence, planned: Planned, later: Sentence, timed: Timed, *, is_apart: bool) -> Result:
    """Do what is planned now, and wish for what another part of the sentence says. Raises `NotUnderstood`.

    Where it is not said that the time is of that part alone, only for what ends the first: "turn it on and turn it off in an hour".
    """
    hass, turn = sentence.hass, sentence.turn
    when = await async_when_of(later, timed)
    back = steps_back(hass, planned.calls)
    ends = bool(back) and await async_does(later, _plain(timed.rest, sentence.language.code), back)
    if ends:
        words = await async_done(hass, turn.language, effects_of(back))
        what = Wished(kind=WishKind.ACTION, words=words, planned=Planned(text=words, steps=back))
    elif not is_apart:
        raise NotUnderstood(timed.words)
    else:
        what = await _async_further(later, planned, timed)
    if what.planned is not None and what.planned.refused is not None:
        return what.planned.refused
    wish = made_of(sentence, what, when, ends=ends)
    try:
        calls = what.planned.calls if what.planned is not None else ()
        asks = check_asks(hass, turn, [await async_ending(sentence, wish)] if ends else calls)
        wish = replace(wish, asks=asks)
        check_wish(hass, turn, wish)
    except ToolError as err:
        return Refused(error=err, recognised=Recognised(name=MAKES, slots={}))
    return await async_now(sentence, timed, planned.text, wish, await _async_told(sentence, wish))


async def _async_told(sentence: Sentence, wish: Wish) -> str:
    tells = async_end_promise if wish.kind is WishKind.ACTION else async_promise
    return await tells(sentence.hass, sentence.turn, wish)


def _plain(text: str, code: str) -> str:
    return without_then(without_words(text, data_of(code).again), code)


async def _async_further(later: Sentence, planned: Planned, timed: Timed) -> Wished:
    """Return what is to be done later: "it" is what the first part is for, and a name alone has its verb. Raises `NotUnderstood`."""
    code = later.language.code
    states = [state for item in planned.targets if (state := later.hass.states.get(item)) is not None]
    rest = _plain(timed.rest, code)
    wanted = {service for service, _ in services_of(planned.steps)}
    named = [said for state in states for said in naming(rest, state.name, code)] if len(states) == 1 else []
    if named:
        for said in named:
            with_name = await async_plan(later, said)
            is_sound = any(service == SERVICE_VOLUME_MUTE for service, _ in services_of(with_name.steps))
            if with_name.is_known and (not is_sound or SERVICE_VOLUME_MUTE in wanted):  # "riaccendila" is not its sound
                return Wished(kind=WishKind.ACTION, words=said, planned=with_name)
        raise NotUnderstood(timed.rest)
    doing = {word for word in words_of(rest) if does_something(word, code)} - later.language.nouns - articles_of(code)
    if doing or reminder_in(rest, code) is not None:
        return await async_wished(later, timed)
    particles = {word for phrase in data_of(code).later.marks.get("particles", ()) for word in words_of(phrase)}
    if not particles.isdisjoint(words_of(rest)[-1:]):  # "... und in einer Stunde die Lampe ein"
        whole = await async_plan(later, f"{planned.text.split()[0]} {rest}")
        if whole.steps:
            return Wished(kind=WishKind.ACTION, words=whole.text, planned=whole)
        raise NotUnderstood(timed.rest)
    for said in carried(planned.text, rest, code):
        same = await async_plan(later, said)
        services = services_of(same.steps)
        if (
            services
            and {service for service, _ in services} == wanted
            and set(same.targets).isdisjoint(planned.targets)
        ):
            return Wished(kind=WishKind.ACTION, words=said, planned=replace(same, text=said))
    raise NotUnderstood(timed.rest)
