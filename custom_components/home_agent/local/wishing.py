"""Wishes by talking: a sentence that says when becomes a kept wish, or is answered with the part of it that is not understood.

Nothing of such a sentence is done at once. It is split into when and what (`languages/timing.py`); what is to be done is read by the
ordinary readers in a turn that only notes calls (`planning.py`), and clauses are looked up in the home (`clauses.py`).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from homeassistant.components.conversation import UserContent
from homeassistant.util import dt as dt_util

from ..home.exposure import check_permission
from ..languages.asides import without_calls
from ..languages.ellipses import refers_back
from ..languages.later import LaterKind, later_in
from ..languages.recasts import recast
from ..languages.reminders import awaited
from ..languages.said_moments import SaidMoment
from ..languages.timing import Timed, timed_in
from ..policy.confirmation import Call, NeedsConfirmation
from ..policy.intents import Recognised
from ..policy.questions import async_done
from ..policy.time_guard import put_off_before
from ..policy.wishing import CancelWishes, MakeWish, check_asks, check_wish, registered
from ..policy.write import async_plan_of
from ..support.errors import ToolError
from ..turn.turn import Answer, Understanding
from ..wishes.when import When
from ..wishes.wish import Wish, WishKind
from .asides import async_without_asides
from .later import async_told, is_value_of, named_in, only_asks
from .planning import Planned, async_plan, effects_of
from .promises import async_end_promise, async_promise
from .refusals import explain_fields
from .repeated import async_repeated
from .returning import are_so, replaced_ends, said_again, steps_back
from .sentences import (
    Done,
    Note,
    NotForNow,
    NotMine,
    Refused,
    Result,
    Sentence,
    Stage,
    async_answer_of,
    message_number,
    speech_of,
    spoken,
)
from .two_orders import async_two_orders
from .when_due import (
    ENDS_FIRST,
    NO_END,
    NOT_WHEN,
    TWO_WHENS,
    NotUnderstood,
    async_watch,
    async_when_of,
    at_moment,
    end_of,
    within,
)
from .wished import Wished, async_wished, async_with_then
from .wishes_meant import known_wishes

SCRIPT = "script."
MAKES = "make_wish"
"""What the understanding of a sentence calls it that a wish came of it."""


async def answer_wish(sentence: Sentence) -> Result:
    """Make a wish of a sentence that is not for now; where that cannot be, no reader that would act now gets it."""
    turn, code = sentence.turn, sentence.language.code
    named = named_in(sentence)
    plain = recast(turn.text, code)
    found = later_in(plain, code, named)
    if not found and _goes_on(sentence):
        return NotMine(put_off=NotForNow(follows=True))
    if not found or await is_value_of(sentence, searched=False):
        return NotMine()
    put_off = NotForNow()
    if only_asks(without_calls(plain, code), code):
        return NotMine(put_off=put_off)
    if any(one.kind is LaterKind.REPEATED for one in found):
        again = await async_repeated(sentence, plain, named)
        if not isinstance(again, NotMine) or again.put_off is not None:
            return again
    sentence = sentence.saying(awaited(plain, code))
    result = await _async_read(sentence, named)
    if not isinstance(result, NotForNow):
        return result
    put_off = result
    async for said in async_without_asides(sentence):
        if put_off.is_forever and put_off.words in sentence.turn.text and put_off.words not in said.turn.text:
            continue  # how often it is to happen is never left out
        wanted = said.saying(recast(said.turn.text, code))
        other = NotForNow() if only_asks(wanted.turn.text, code) else await _async_read(wanted, named)
        if not isinstance(other, NotForNow):
            return other
    return NotMine() if await is_value_of(sentence, searched=True) else NotMine(put_off=put_off)


async def _async_read(sentence: Sentence, named: Sequence[str]) -> Result | NotForNow:
    """Return what comes of the first reading of a sentence of which a wish can be made, else the words that are not understood."""
    put_off = NotForNow()
    text, code = sentence.turn.text, sentence.language.code
    both = await async_two_orders(sentence, named)
    for timed in (both,) if both is not None else timed_in(text, code, dt_util.now(), named):
        if timed.forever:
            return NotForNow(words=timed.forever, is_forever=True)
        if timed.unread:
            put_off = put_off if put_off.words else NotForNow(words=timed.unread, why=NOT_WHEN)
            continue
        try:
            return await _async_from(sentence, timed)
        except NotUnderstood as err:
            put_off = put_off if put_off.words else NotForNow(words=err.words, why=err.why)
    return put_off


def _goes_on(sentence: Sentence) -> bool:
    """Return whether a sentence goes on from one that was for later: "also the bed light" is not for now either."""
    text, code = sentence.turn.text, sentence.language.code
    said = [content.content for content in sentence.chat_log.content if isinstance(content, UserContent)][:-1]
    if not said or not refers_back(text, code):
        return False
    named = named_in(sentence.saying(" ".join((*said, text))))
    return put_off_before(said, text, code, dt_util.now(), named) is not None


async def async_by_intent(sentence: Sentence, command: str, seconds: int) -> Result:
    """Make a wish of a command that one of Home Assistant's sentences leaves for a timer."""
    moment = SaidMoment(at=dt_util.now() + timedelta(seconds=seconds), seconds=seconds, words=sentence.turn.text)
    try:
        return await _async_from(sentence, Timed(rest=command, moment=moment, words=sentence.turn.text))
    except NotUnderstood:
        return NotMine(put_off=NotForNow(words=sentence.turn.text))


async def _async_from(sentence: Sentence, timed: Timed) -> Result:
    """Return what comes of one reading. Raises `NotUnderstood`."""
    if not sentence.turn.profile.wishes:
        return await async_told(sentence, "planned_off", when=timed.words)
    what = await async_wished(sentence, timed)
    what = await async_with_then(sentence, timed, what)
    if what.is_whether:
        timed = replace(timed, clauses=())
    if what.planned is not None and (refused := what.planned.refused) is not None:
        return refused
    if what.planned is not None and await _async_is_argument(sentence, timed, what.planned):
        return NotMine(put_off=NotForNow())
    if what.planned is not None and (lacks := what.planned.lacks) is not None:
        said = await explain_fields(replace(sentence.saying(what.planned.text), earlier=(lacks,)))
        return said if isinstance(said, Done) and sentence.stage is Stage.NO_MODEL else NotMine(put_off=NotForNow())
    end = next((clause for clause in timed.clauses if clause.until), None)
    if what.kind is WishKind.ACTION and (timed.back is not None or end is not None):
        return await _async_for_a_while(sentence, timed, what)
    if timed.moment is not None and timed.back is not None:
        raise NotUnderstood(timed.back.words, NOT_WHEN)  # "at ten ... for an hour": only what is done has an end
    when = await async_when_of(sentence, timed)
    wish = made_of(sentence, what, when)
    try:
        check_asks(sentence.hass, sentence.turn, what.planned.calls if what.planned is not None else ())
    except ToolError as err:
        return Refused(error=err, recognised=Recognised(name=MAKES, slots={}))
    return await async_made(sentence, [wish], await async_promise(sentence.hass, sentence.turn, wish))


async def _async_is_argument(sentence: Sentence, timed: Timed, planned: Planned) -> bool:
    """Return whether a length is a value of a script of the owner's: "water the plants for nine minutes"."""
    runs = any(item.startswith(SCRIPT) for step in planned.steps for item in step.targets)
    if timed.back is None or not (runs or planned.lacks is not None):
        return False
    return bool((await async_plan(sentence, sentence.turn.text)).steps)


# Making


def made_of(sentence: Sentence, what: Wished, when: When, *, ends: bool = False) -> Wish:
    """Return the wish for what is to be done or told; `ends`: whether that ends what is done now."""
    planned = what.planned
    wish = new_wish(sentence, what.kind, what.words, what.text, when)
    if planned is None:
        return wish
    wish = replace(wish, steps=planned.steps, asks=planned.asks, ends=ends)
    return replace(wish, registered=registered(sentence.hass, wish))


def new_wish(sentence: Sentence, kind: WishKind, words: str, text: str, when: When) -> Wish:
    """Return a wish of who speaks, without steps."""
    wish = Wish.of(sentence.turn, kind, when, words, text, message=message_number(sentence.chat_log))
    return replace(wish, registered=registered(sentence.hass, wish))


async def async_made(sentence: Sentence, wishes: Sequence[Wish], said: str) -> Result:
    """Make wishes, all or none, and say so; or why not. They take the place of the same that was wished before.

    The end of something is made before its beginning: it never stays without one.
    """
    hass, turn, policy = sentence.hass, sentence.turn, sentence.means.policy
    recognised = Recognised(name=MAKES, slots={})
    targets = tuple(item for wish in wishes for item in wish.entity_ids)
    note = Note(understanding=Understanding(intents=(MAKES,), targets=targets, score=1.0))
    try:
        for wish in wishes:
            check_wish(hass, turn, wish)
    except ToolError as err:
        return Refused(error=err, recognised=recognised, note=note)
    made, earlier = list[Wish](), said_again(known_wishes(sentence), wishes)
    for wish in sorted(wishes, key=lambda one: not one.ends):
        result = await policy.async_call_by_code(turn, MakeWish(wish), {}, sentence.chat_log, known=False)
        if result is None:
            return Refused(error=NeedsConfirmation(), recognised=recognised, note=note)
        if result.error:
            if made:
                await policy.async_call_by_code(turn, CancelWishes(made), {}, sentence.chat_log, known=False)
            return await async_told(sentence, "confirm_failed")
        made.append(wish)
    if earlier:
        await policy.async_call_by_code(turn, CancelWishes(earlier), {}, sentence.chat_log, known=False)
    return Done(said=spoken(turn, said), note=note)


async def _async_for_a_while(sentence: Sentence, timed: Timed, what: Wished) -> Result:
    """Do something now, or at its time, and wish for its end. Raises `NotUnderstood`."""
    hass, turn, planned = sentence.hass, sentence.turn, what.planned
    assert planned is not None
    back = steps_back(hass, planned.calls) if not any(step.command for step in planned.steps) else ()
    if not back:
        raise NotUnderstood(timed.words, NO_END)
    end = await _async_end_of(sentence, timed)
    ended = replace(what, planned=Planned(text=planned.text, steps=back))
    ended = replace(ended, words=await async_done(hass, turn.language, effects_of(back)))
    wish = made_of(sentence, ended, end, ends=True)
    try:
        ending = await async_ending(sentence, wish)
        wish = replace(wish, asks=check_asks(hass, turn, [ending]))
        is_later = timed.moment is not None or any(not clause.until for clause in timed.clauses)
        check_asks(hass, turn, planned.calls if is_later else ())
        check_wish(hass, turn, wish)
    except ToolError as err:
        return Refused(error=err, recognised=Recognised(name=MAKES, slots={}))
    promise = await async_end_promise(hass, turn, wish)
    if is_later:
        begun = made_of(sentence, what, await async_when_of(sentence, replace(timed, back=None)))
        if timed.back is not None and timed.back.seconds and begun.when.at is not None:
            at = begun.when.at + timedelta(seconds=timed.back.seconds)
            wish = replace(wish, when=replace(end, at=at, wall=""))
            promise = await async_end_promise(hass, turn, wish)
        elif begun.when.at is None and timed.back is not None and timed.back.seconds:
            raise NotUnderstood(timed.back.words, TWO_WHENS)
        elif begun.when.at is not None and wish.when.at is not None and wish.when.at <= begun.when.at:
            raise NotUnderstood(timed.words, ENDS_FIRST)
        return await async_made(sentence, [begun, wish], f"{await async_promise(hass, turn, begun)} {promise}")
    text = "" if what.is_kept and are_so(hass, planned.calls) else planned.text
    return await async_now(sentence, timed, text, wish, promise)


async def async_now(sentence: Sentence, timed: Timed, text: str, wish: Wish, promise: str) -> Result:
    """Do something now, where a text for it is given, and wish for its end, in place of another end of the same."""
    turn, policy = sentence.turn, sentence.means.policy
    earlier = replaced_ends(known_wishes(sentence), wish) if wish.ends else []
    if earlier:
        wish = replace(wish, steps=earlier[0].steps)  # it ends with what was before all of them
    replaces = [CancelWishes(earlier)] if earlier else []
    if not text:
        made = await async_made(sentence, [wish], promise)
        if isinstance(made, Done) and not made.has_failed:
            for ended in replaces:
                await policy.async_call_by_code(turn, ended, {}, sentence.chat_log, known=False)
        return made
    done = (await async_answer_of(sentence.saying(text), lambda reader: reader.plans)).result
    if isinstance(done, Refused) and isinstance(done.error, NeedsConfirmation):
        for tool in (MakeWish(wish), *replaces):  # at no moment is there no end
            policy.confirmations.add(turn, Call(tool=tool, arguments={}, plan=await tool.plan(sentence.hass, {}, turn)))
        return done
    if not isinstance(done, Done) or done.has_failed:
        return done if isinstance(done, Done | Refused) else NotMine(put_off=NotForNow(words=timed.words))
    made = await async_made(sentence, [wish], promise)
    if not isinstance(made, Done):
        return made
    for tool in replaces:
        await policy.async_call_by_code(turn, tool, {}, sentence.chat_log, known=False)
    first = done.said.text if isinstance(done.said, Answer) else speech_of(done.said)
    response = done.said.response if isinstance(done.said, Answer) and done.said.response else done.said
    said = f"{first.rstrip(' .')}. {promise}" if first else promise
    if isinstance(response, Answer):
        return Done(said=replace(response, text=said), note=done.note)
    response.async_set_speech(said)
    return Done(said=response, note=done.note)


async def async_ending(sentence: Sentence, wish: Wish) -> Call:
    """Return what a wish does as a call that was judged as if it were made now. Raises `ToolError` for what may not be done."""
    plan = await async_plan_of(sentence.hass, effects_of(wish.steps))
    check_permission(sentence.hass, sentence.turn.user, plan)
    return Call(
        tool=MakeWish(wish), arguments={}, plan=plan, why=sentence.means.policy.decide(sentence.turn, None, plan).why
    )


async def _async_end_of(sentence: Sentence, timed: Timed) -> When:
    """Return when what is done for a while ends."""
    if timed.back is not None:
        return at_moment(sentence, timed.back)
    clause = end_of(timed)
    assert clause is not None
    watch = await async_watch(sentence, clause, is_event=True)
    return When(event=watch, delay=clause.delay, words=within(sentence, clause.words))
