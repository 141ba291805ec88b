"""What is said of what waits in other words: in a form that is read as it is said plainly, or with the time of what was just spoken of."""

from collections.abc import Awaitable, Callable

from ..languages.data import data_of
from ..languages.phrases import SelfQuestion, asked_of
from ..languages.recasts import reworded
from ..policy.effects.wish_change import CANCEL_WISH
from ..policy.undo import async_answer_undo
from ..support.text import words_of
from .changing import answer_changed
from .further import answer_apart, answer_further, answer_same
from .planned import answer_planned
from .sentences import Done, NotMine, Result, Sentence
from .timers import answer_timer
from .wishes_meant import at_same_time, just_rung, known_wishes
from .wishing import answer_wish

_OF_WAITING: tuple[Callable[[Sentence], Awaitable[Result]], ...] = (answer_planned, answer_changed, answer_timer)
_MAKING: tuple[Callable[[Sentence], Awaitable[Result]], ...] = (
    answer_changed,
    answer_apart,
    answer_same,
    answer_wish,
    answer_further,
)


async def answer_reworded(sentence: Sentence) -> Result:
    """Answer what is said of what waits in another form."""
    if not known_wishes(sentence) and just_rung(sentence) is None:
        return NotMine()
    for plain in reworded(sentence.turn.text, sentence.language.code):
        for read in _OF_WAITING:
            result = await read(sentence.saying(plain))
            if not isinstance(result, NotMine):
                return result
    return NotMine()


async def answer_restored(sentence: Sentence) -> Result:
    """Take back that something was just canceled: "no, put it back"."""
    place, code = sentence.turn.conversation_id, sentence.language.code
    newest = next(iter(sentence.means.journal.newest_first(lambda one: one.conversation_id == place)), None)
    if newest is None or newest.undone or any(each.service != CANCEL_WISH for each in newest.effects):
        return NotMine()
    if not any(asked_of(plain, code) is SelfQuestion.UNDO for plain in reworded(sentence.turn.text, code)):
        return NotMine()
    answer = await async_answer_undo(
        sentence.hass, sentence.means.policy, sentence.means.journal, sentence.turn, sentence.chat_log, None
    )
    return Done(said=answer)


async def answer_at_same_time(sentence: Sentence) -> Result:
    """Read "at the same time" as the time of what was just spoken of."""
    nots = {word for said in data_of(sentence.language.code).planning.nots for word in words_of(said)}
    if (plain := at_same_time(sentence)) is None or not nots.isdisjoint(words_of(plain)):
        return NotMine()
    for read in _MAKING:
        result = await read(sentence.saying(plain))
        if not isinstance(result, NotMine):
            return result
    return NotMine()
