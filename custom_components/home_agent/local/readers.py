"""The kinds of sentences that the home answers, in the order in which they are tried.

A new kind is a function from a `Sentence` to a `Result`, and a line in `READERS`.
"""

from ..policy.teaching import async_answer_teaching
from ..turn.turn import Answer
from .afterwards import answer_afterwards
from .asked_when import answer_asked_when
from .automation_meant import answer_of_automation
from .beside import answer_beside
from .changing import answer_changed
from .frames import answer_by_brain
from .further import answer_apart, answer_corrected, answer_further, answer_same
from .fuzzy import answer_fuzzily
from .instead import answer_instead, answer_left_out
from .intent_policy import answer_by_trigger, answer_strictly, answer_strictly_as_question, refuse_group
from .later import answer_when
from .learned import async_answer_learned
from .lists import add_items, read_list
from .moods import answer_mood, answer_remark, answer_request
from .now_and_later import answer_now_and_later
from .planned import answer_not_planned, answer_planned, answer_which_planned
from .questions import answer_question
from .reasons import answer_led_in, answer_reasoned
from .refusals import answer_reply_to_nothing, answer_thanks, explain, explain_fields
from .repeated import answer_asked_for
from .rewording import answer_at_same_time, answer_restored, answer_reworded
from .routes import SEMANTIC
from .sentences import Done, Note, NotMine, Reader, Result, Sentence, Stage, message_number
from .timers import answer_timer, answer_timer_intent
from .which import answer_choice, answer_mismatch
from .wishing import answer_wish


async def teach(sentence: Sentence) -> Result:
    """Teach a thing a name."""
    means = sentence.means
    return _answered(
        await async_answer_teaching(sentence.hass, means.policy, means.names, sentence.turn, sentence.chat_log)
    )


async def answer_learned(sentence: Sentence) -> Result:
    """Do what was learned from a model for these words."""
    hass, turn, means = sentence.hass, sentence.turn, sentence.means
    return _answered(
        await async_answer_learned(hass, turn, sentence.chat_log, means.phrases, means.policy, sentence.home)
    )


async def answer_by_route(sentence: Sentence) -> Result:
    """Run what the sentence surely means among the routes; before a model only what has examples of the owner's."""
    turn, routes, first = sentence.turn, sentence.means.routes, sentence.stage is Stage.BEFORE_MODEL
    if first and (turn.profile.routing in SEMANTIC or not routes.has_examples()):
        return NotMine()
    heard = message_number(sentence.chat_log)
    match = await routes.async_match(turn, sentence.language, sentence.home, owned_only=first, heard=heard)
    answer = await routes.async_answer(turn, sentence.chat_log, match) if match is not None else None
    if answer is not None or turn.record.understanding is None:
        return _answered(answer)
    return NotMine(note=Note(understanding=turn.record.understanding))


def _answered(answer: Answer | None) -> Result:
    return Done(said=answer) if answer is not None else NotMine()


_UNANSWERED, _ALONE = frozenset({Stage.NO_ANSWER, Stage.NO_MODEL}), frozenset({Stage.NO_MODEL})

READERS = (
    Reader(answer_by_trigger),
    Reader(answer_choice, after_question=True),
    Reader(answer_which_planned),
    Reader(answer_asked_when),
    Reader(teach, of_hidden=True),  # "when I say …, I mean …" waits for nothing
    Reader(answer_asked_for),
    Reader(answer_of_automation),
    Reader(answer_left_out),
    Reader(answer_planned),
    Reader(answer_changed),
    Reader(answer_timer),
    Reader(answer_restored, of_later=True),
    Reader(answer_reworded),
    Reader(answer_instead),
    Reader(answer_at_same_time),
    Reader(answer_apart),
    Reader(answer_afterwards),
    Reader(answer_same),
    Reader(answer_now_and_later),
    Reader(answer_wish),
    Reader(answer_further, of_later=True),
    Reader(answer_corrected, of_later=True),
    Reader(answer_beside, of_later=True),
    Reader(answer_remark, of_later=True),
    Reader(answer_strictly, of_later=True, plans=True),
    Reader(answer_timer_intent, of_later=True),
    Reader(answer_mood, plans=True),
    Reader(answer_by_brain, plans=True),
    Reader(answer_request, plans=True),
    Reader(answer_reasoned, plans=True),
    Reader(answer_led_in, of_later=True, plans=True),
    Reader(refuse_group),
    Reader(add_items, of_later=True, plans=True),
    Reader(answer_learned, plans=True),
    Reader(answer_by_route, of_later=True, plans=True),
    Reader(answer_strictly_as_question, _UNANSWERED, of_later=True, tells=True),
    Reader(answer_question, _UNANSWERED, of_talk=True, of_later=True, tells=True),
    Reader(read_list, _UNANSWERED, of_later=True, tells=True),
    Reader(answer_reply_to_nothing, _ALONE, of_hidden=True, of_later=True),
    Reader(answer_thanks, _UNANSWERED, of_hidden=True, of_talk=True, of_later=True),
    Reader(answer_not_planned, _ALONE, of_later=True),
    Reader(explain_fields, _ALONE, of_hidden=True, of_later=True),
    Reader(answer_when, _ALONE, of_later=True),
    Reader(answer_mismatch, _UNANSWERED, of_hidden=True),
    Reader(answer_fuzzily, _UNANSWERED, of_hidden=True),
    Reader(explain, _ALONE, of_hidden=True, of_talk=True, of_later=True),
)
