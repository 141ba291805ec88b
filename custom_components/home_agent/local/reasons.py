"""Commands with what is only said beside them: "unlock the door, someone is there", "if you don't mind, turn on the light".

What is done is the command; what stands beside it names nothing else.
"""

from dataclasses import replace
from functools import partial

from ..languages.ellipses import names_nothing
from ..languages.later import (
    LaterKind,
    asides_in,
    is_conditional,
    is_put_off,
    later_in,
    says_now,
    without_asides,
)
from ..languages.phrases import begins_otherwise, is_altered, is_order, is_question, says_doing
from ..languages.reasons import Reasoned, led_in, reasons_in, told_first
from .coverage import LeftOut
from .frames import answer_by_brain
from .intent_policy import answer_strictly
from .later import named_in
from .reading import Said, SentenceReading
from .sentences import Ask, Done, NotMine, Refused, Result, Sentence, async_answer_of
from .things import ARTICLE, StateOf, Things


async def answer_reasoned(sentence: Sentence) -> Result:
    """Do a command that its reason follows, or that stands behind what is only told."""
    text, code = sentence.turn.text, sentence.language.code
    if is_put_off(text, code, named_in(sentence)):
        return NotMine()
    behind = [reasoned for reasoned in reasons_in(text, code) if is_order(reasoned.command, code)]
    for reasoned in (*behind, *told_first(text, code)):
        if not await async_says_why(sentence, reasoned):
            continue
        alone = sentence.saying(reasoned.command)
        for read in (answer_strictly, answer_by_brain):
            result = await read(alone)
            if isinstance(result, Done | Refused):
                return result
            if isinstance(result, LeftOut) or (isinstance(result, NotMine) and result.mismatch is not None):
                break
    return NotMine()


async def answer_led_in(sentence: Sentence) -> Result:
    """Do a command behind what only leads to it: "I'll be home in ten minutes, turn on the heating now"."""
    text, code = sentence.turn.text, sentence.language.code
    asides = asides_in(text, code)
    if asides:
        if any(is_altered(aside, code, (), asks=False) and not is_conditional(aside, code) for aside in asides):
            return NotMine()
        commands = [without_asides(text, code)]
    elif led := [*led_in(text, code)]:
        commands = [one.command for one in led if await _async_leads(sentence, one)]
    else:
        return NotMine()
    if is_question(text, code):
        return NotMine()
    named = named_in(sentence)
    for command in commands:
        if names_nothing(command, code) or is_put_off(command, code, named):
            continue
        if sentence.turn.record.planned is not None and says_now(command, code):
            continue  # what is for now is no part of a wish
        heard = await async_answer_of(replace(sentence.saying(command), earlier=()), asked=lambda reader: reader.plans)
        if isinstance(heard.result, Done | Refused | Ask):
            return heard.result
    return NotMine()


async def _async_leads(sentence: Sentence, led: Reasoned) -> bool:
    """Return whether the first part asks for nothing, and puts nothing off: what has a time in it needs a "now" behind it."""
    reason, code, named = led.reason, sentence.language.code, named_in(sentence)
    if is_order(reason, code, named) or begins_otherwise(reason, code) or says_doing(reason, code):
        return False
    if found := later_in(reason, code, named):
        is_event = any(one.kind in (LaterKind.EVENT, LaterKind.REPEATED, LaterKind.WAIT) for one in found)
        if is_event or not says_now(led.command, code) or not is_order(led.command, code, named):
            return False
    elif is_altered(reason, code, named, asks=False):
        return False
    return await async_says_why(sentence, led)


async def async_says_why(sentence: Sentence, reasoned: Reasoned) -> bool:
    """Return whether the second part is nothing but a reason: it names no place, and nothing that the command does not name."""
    check = partial(_names_no_other, command=reasoned.command)
    return await sentence.means.brain.async_read(check, sentence.saying(reasoned.reason))


def _names_no_other(
    text: str,
    things: Things,
    state_of: StateOf,
    *,
    area_id: str | None = None,
    before: Said | None = None,
    command: str,
) -> bool:
    reason, said = SentenceReading(text, things, state_of), SentenceReading(command, things, state_of)
    known = {key for word in said.words for key in things.keys(word)}
    others = (word for word in reason.words if len(word) > ARTICLE and things.keys(word).isdisjoint(known))
    return not reason.place_spans and not any(things.named(word) for word in others)
