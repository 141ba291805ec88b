"""What is done later with the same thing: "turn on the lamp at eight", "and off again at eleven", "turn it off two hours later"."""

from collections.abc import Iterator
from dataclasses import replace

from homeassistant.util import dt as dt_util

from ..languages.changes import SaidTime, as_another, is_from_now, is_one_more, time_in, without_delay
from ..languages.data import data_of
from ..languages.phrases import is_question
from ..languages.planning import cancels_in, delay_in, denies
from ..languages.reminders import naming, plainly, reminder_in, without_words
from ..languages.said_moments import moment_in, says_day
from ..policy.intents import Recognised
from ..policy.wishing import check_asks, registered
from ..support.errors import ToolError
from ..wishes.when import When
from ..wishes.wish import Wish, WishKind
from .further import apart_from
from .later import names_of
from .planning import async_plan, services_of
from .promises import async_promise
from .sentences import NotMine, Refused, Result, Sentence
from .wishes_meant import spoken_of_last
from .wishing import MAKES, async_made, new_wish


async def answer_afterwards(sentence: Sentence) -> Result:
    """Do something else with what was just wished for, at another time; it is named by nothing but "it", or not at all."""
    turn, code, before = sentence.turn, sentence.language.code, spoken_of_last(sentence)
    if before is None or before.kind is not WishKind.ACTION or before.ends or names_of(sentence):
        return NotMine()
    if is_question(turn.text, code) or cancels_in(turn.text, code) or denies(turn.text, code):
        return NotMine()
    said = time_in(as_another(turn.text, code), code, dt_util.now())
    if said is None or reminder_in(said.rest, code) is not None:
        return NotMine()
    when = _when(sentence, said, before)
    names = [sentence.home.entities[item].names[0] for item in before.targets if item in sentence.home.entities]
    if when is None or len(names) != 1:
        return NotMine()
    rest = without_delay(said.rest, code) if said.is_length else said.rest
    for text in _naming(rest, names[0], code, is_bare=is_one_more(turn.text, code)):
        planned = await async_plan(sentence, text)
        if not planned.steps or planned.targets != before.targets or any(step.command for step in planned.steps):
            continue
        if services_of(planned.steps) == services_of(before.steps):
            break
        try:
            check_asks(sentence.hass, turn, planned.calls)
        except ToolError as err:
            return Refused(error=err, recognised=Recognised(name=MAKES, slots={}))
        wish = new_wish(sentence, WishKind.ACTION, planned.text, "", when)
        wish = replace(wish, steps=planned.steps, asks=planned.asks)
        wish = replace(wish, registered=registered(sentence.hass, wish))
        return await async_made(sentence, [wish], await async_promise(sentence.hass, turn, wish))
    return NotMine()


def _naming(rest: str, name: str, code: str, *, is_bare: bool) -> Iterator[str]:
    """Yield an order with the name of what it is for, in place of "it", and where it is named by nothing also beside it."""
    plain = without_words(rest, (*data_of(code).again, *data_of(code).follow_ups.then))
    yield from naming(plain, name, code)
    if is_bare and plain:
        yield from (f"{name} {plain}", f"{plain} {name}", plainly(f"{plain} {name}", code))


def _when(sentence: Sentence, said: SaidTime, before: Wish) -> When | None:
    """Return when it is done: at a time of day behind the first one, or so long after it."""
    code, begun = sentence.language.code, before.when.at
    if said.moment is None or said.moment.sun or begun is None:
        return None
    if said.is_length and not is_from_now(said, code):
        return apart_from(before, said.moment.seconds) if delay_in(sentence.turn.text, code) > 0 else None
    moment = said.moment
    if not said.is_length and not says_day(moment.words, code, dt_util.now()):
        found = moment_in(moment.words, code, dt_util.as_local(begun))
        moment = found if found is not None and not found.seconds else moment
    if dt_util.as_utc(moment.at) <= begun:
        return None
    return When(at=dt_util.as_utc(moment.at), wall=moment.wall, words=moment.words)
