"""Commands that say why: "unlock the door, someone is there", "the kids are asleep, turn off the lamp".

What is done is the command; the reason, or what is told in front of it, names nothing else.
"""

from functools import partial

from ..languages.later import is_put_off
from ..languages.phrases import is_order
from ..languages.reasons import Reasoned, reasons_in, told_first
from .coverage import LeftOut
from .frames import answer_by_brain
from .intent_policy import answer_strictly
from .later import named_in
from .reading import Said, SentenceReading
from .sentences import Done, NotMine, Refused, Result, Sentence
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
