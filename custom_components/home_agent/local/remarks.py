"""What only says how something is: nothing is done, and no reader that acts is asked."""

from ..languages.remarks import tells
from ..support.localize import async_text
from .sentences import Done, NotMine, Result, Sentence, Stage, spoken


async def answer_remark(sentence: Sentence) -> Result:
    """Leave what only tells something to a model, or answer it with nothing done."""
    turn = sentence.turn
    if not tells(turn.text, sentence.language.code):
        return NotMine()
    if sentence.stage is Stage.NO_MODEL:
        return Done(said=spoken(turn, await async_text(sentence.hass, turn.language, "local_remark")))
    return NotMine(is_talk=True)
