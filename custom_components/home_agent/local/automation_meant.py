"""What is said of the automation that was just made, proposed or asked about, and means no wish: "cancel that", "make it half past seven"."""

from homeassistant.util import dt as dt_util

from ..home.wording import quoted
from ..languages.changes import SaidChange, SaidTime, change_in, correction_in
from ..languages.data import data_of
from ..languages.phrases import is_question
from ..languages.planning import PlanningKind, planning_of
from ..policy.effects.automation_change import AutomationChange
from ..policy.undo import NAME as UNDO
from .asked_when import times_of
from .automation_asked import asked_before
from .later import async_told
from .planned import names_in
from .sentences import NotForNow, NotMine, Result, Sentence, Stage
from .wishes_meant import just_spoken_of, known_wishes


async def answer_of_automation(sentence: Sentence) -> Result:
    """Ask again about an automation with another time; of one that is made say what changes it, so that no wish is touched."""
    asked = asked_before(sentence)
    alias = asked.alias if asked is not None else _made_last(sentence)
    if not alias:  # so it is for nearly all that is said
        return NotMine()
    change = _change(sentence)
    if change is not None and asked is not None and asked.parts and change.new.moment is not None:
        for time in _times(sentence, change.new):
            result = await asked.asks(sentence, time.join(asked.parts))
            if not isinstance(result, NotMine):
                return result
    if change is None and not _cancels(sentence):
        return NotMine()
    if just_spoken_of(sentence, known_wishes(sentence)):
        return NotMine()
    if sentence.stage is not Stage.NO_MODEL:
        return NotMine(put_off=NotForNow(words=sentence.turn.text, follows=True))
    return await async_told(sentence, "automation_spoken_of", automation=quoted(alias, sentence.turn.language))


def _times(sentence: Sentence, said: SaidTime) -> list[str]:
    """Return a time in the ways in which it may be said within a sentence: "half past seven" is "at half past seven"."""
    times, ats = times_of(sentence, said), data_of(sentence.language.code).times.get("at", ())
    if any(time.casefold().startswith(f"{at} ") for time in times for at in ats):
        return times
    return [*(f"{at} {time}" for at in ats for time in times), *times]


def _change(sentence: Sentence) -> SaidChange | None:
    """Return the other time that a sentence says, and nothing else: "make it nine", "no, at nine", "rather at nine"."""
    text, code, now = sentence.turn.text, sentence.language.code, dt_util.now()
    if is_question(text, code):
        return None
    for change in (change_in(text, code, now), correction_in(text, code, now)):
        if change is None or change.words or change.kinds or change.old is not None:
            continue
        if change.moves or change.sets or change.is_instead or change.corrects:
            return change
    return None


def _cancels(sentence: Sentence) -> bool:
    """Return whether a sentence cancels something that it does not name: "cancel that"."""
    planning = planning_of(sentence.turn.text, sentence.turn.language)
    if planning is None or planning.kind is not PlanningKind.CANCEL or planning.kinds or planning.is_all:
        return False
    return not planning.is_weak and planning.is_sure and not names_in(sentence, planning)


def _made_last(sentence: Sentence) -> str:
    """Return what the automation is called that was made, changed or proposed; "" if something else was done here since."""
    place, user_id = sentence.turn.conversation_id, sentence.turn.context.user_id
    done = sentence.means.journal.newest_first(lambda action: action.user_id == user_id)
    last = next((action for action in done if action.conversation_id == place), None)
    if last is None or last.undone is not None or last.tool == UNDO:
        return ""
    return next((effect.alias for effect in last.effects if isinstance(effect, AutomationChange)), "")
