"""Commands that wait for a timer of Home Assistant's: what is waiting is told, and cancelled.

A user hears of their own ones and cancels these; a satellite, which has no user, those that were said to satellites.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.components.intent.timers import TimerInfo, TimerManager
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..languages.data import data_of
from ..languages.phrases import ReplyKind, read_answer
from ..languages.planning import Planning, PlanningKind, keeps_planned, planning_of
from ..languages.vocabulary import keys_of
from ..policy.intents import Recognised
from ..support.const import DOMAIN
from ..support.errors import ToolError
from ..support.localize import async_text
from ..support.text import words_of
from ..turn.plan import ActionClass, Plan
from ..turn.turn import Turn, zone_of_turn
from .sentences import MAX_REMEMBERED, Done, NotMine, Refused, Result, Sentence, Stage, message_number, spoken

PLANNED: HassKey[dict[str, Planned]] = HassKey(f"{DOMAIN}_planned")
"""By the id of its timer: who left a command for later. Kept until Home Assistant ends, as its timers are."""
ASKED: HassKey[dict[str, tuple[int, str | None, tuple[str, ...]]]] = HassKey(f"{DOMAIN}_planned_asked")
"""By conversation: the message that was answered with a question which command is to be cancelled, whose it was, and the timers."""
_CANCEL = "HassCancelTimer"
_MOST = 5  # commands of one sentence
_LEAST_STEM = 4  # letters


@dataclass(frozen=True, slots=True)
class Planned:
    """Who left a command for later, and with which message of which conversation."""

    user_id: str | None
    conversation_id: str
    message: int
    at: datetime


def note_planned(sentence: Sentence, command: str) -> None:
    """Keep who said a command for which a timer has just been set."""
    hass, turn = sentence.hass, sentence.turn
    planned, timers = hass.data.setdefault(PLANNED, {}), _timers(hass)
    waiting = {timer.id for timer in timers}
    for gone in planned.keys() - waiting:
        del planned[gone]
    new = [timer.id for timer in timers if timer.id not in planned and timer.conversation_command == command]
    for timer_id in new[-1:]:
        user_id = turn.user.id if turn.user is not None else None
        planned[timer_id] = Planned(user_id, turn.conversation_id, message_number(sentence.chat_log), dt_util.utcnow())


async def answer_which_planned(sentence: Sentence) -> Result:
    """Cancel what is chosen of the commands that the message before this one was asked about; another sentence is not an answer."""
    place, number = sentence.turn.conversation_id, message_number(sentence.chat_log)
    user = sentence.turn.user
    said, owner, ids = sentence.hass.data.setdefault(ASKED, {}).pop(place, (0, None, ()))
    asked = [timer for timer in _visible(sentence.hass, sentence.turn) if timer.id in ids]
    if said != number - 1 or owner != (user.id if user is not None else None) or not asked:
        return NotMine()
    meant = _chosen(sentence, sorted(asked, key=lambda timer: timer.seconds_left))
    if meant is None or keeps_planned(sentence.turn.text, sentence.turn.language):
        return NotMine()
    if not meant:
        text = await async_text(sentence.hass, sentence.turn.language, "never_mind")
        return Done(said=spoken(sentence.turn, text))
    return await _async_cancel(sentence, meant)


def _chosen(sentence: Sentence, asked: Sequence[TimerInfo]) -> Sequence[TimerInfo] | None:
    """Return which of some commands an answer means, none of them for a no; None for other words.

    They are chosen by their place in what was read out, or by words that one of them has and no other.
    """
    data, said = data_of(sentence.language.code), words_of(sentence.turn.text)
    words = data.choices
    beside = {word for text in (*words.beside, *data.courtesies) for word in words_of(text)}
    left = tuple(word for word in said if word not in beside)

    def is_one_of(phrases: Sequence[str]) -> bool:
        return any(words_of(phrase) in (said, left) for phrase in phrases)

    if is_one_of(words.none) or read_answer(sentence.turn.text, sentence.turn.language).kind is ReplyKind.NO:
        return ()
    if is_one_of((*words.all, *(data.follow_ups.both if len(asked) == 2 else ()))):
        return asked
    for timer, phrases in zip(asked, words.ordinals, strict=False):
        if is_one_of(phrases):
            return (timer,)
    if is_one_of(words.last):
        return asked[-1:]
    named = [timer for timer in asked if left and _is_said_in(sentence, left, timer)]
    return named if len(named) == 1 else None


async def _async_ask_which(sentence: Sentence, timers: Sequence[TimerInfo]) -> Done:
    """Ask which of some commands is to be cancelled; the next message may answer it."""
    asked, user = sentence.hass.data.setdefault(ASKED, {}), sentence.turn.user
    asked.pop(sentence.turn.conversation_id, None)
    ids = tuple(timer.id for timer in timers)
    owner = user.id if user is not None else None
    asked[sentence.turn.conversation_id] = message_number(sentence.chat_log), owner, ids
    if len(asked) > MAX_REMEMBERED:
        del asked[next(iter(asked))]
    return await _async_told(sentence, "planned_which", timers)


async def answer_planned(sentence: Sentence) -> Result:
    """Tell which commands wait, or cancel them."""
    turn, waiting = sentence.turn, _visible(sentence.hass, sentence.turn)
    planning, just = planning_of(turn.text, turn.language), _just_said(sentence, waiting)
    names = _names(sentence, planning) if planning is not None else []
    cancels = planning is not None and planning.kind is PlanningKind.CANCEL
    denies = read_answer(turn.text, turn.language).kind is ReplyKind.NO and not _is_polite(sentence)
    denies = denies and not keeps_planned(turn.text, turn.language)
    if just and (denies or (cancels and planning is not None and not planning.is_all and not names)):
        return await _async_cancel(sentence, just)
    if planning is None or (not waiting and sentence.stage is Stage.BEFORE_MODEL):
        return NotMine()
    if planning.kind is PlanningKind.LIST:
        return await _async_told(sentence, "planned_list" if waiting else "planned_none", waiting)
    if not names and not planning.is_sure:
        return NotMine()
    if not waiting:
        return NotMine() if names else await _async_told(sentence, "planned_nothing", ())
    if planning.is_needless:
        meant = [timer for timer in waiting if _is_said_in(sentence, names, timer)]
    else:
        meant = _meant(sentence, names, waiting)
    if planning.is_latest and not planning.is_all:
        meant = meant[-1:]
    elif not names and not planning.is_all and _is_followed(sentence, meant):  # "that" may be what was done since
        return await _async_ask_which(sentence, meant)
    if len(meant) > 1 and not planning.is_all:
        return await _async_ask_which(sentence, meant)
    return await _async_cancel(sentence, meant) if meant else NotMine()


async def answer_not_planned(sentence: Sentence) -> Result:
    """Say that there is nothing to cancel where something was named that does not wait; ask which where others wait."""
    planning = planning_of(sentence.turn.text, sentence.turn.language)
    if planning is None or planning.kind is not PlanningKind.CANCEL or not planning.is_sure:
        return NotMine()
    waiting = _visible(sentence.hass, sentence.turn)
    return await _async_ask_which(sentence, waiting) if waiting else await _async_told(sentence, "planned_nothing", ())


def _timers(hass: HomeAssistant) -> list[TimerInfo]:
    """Return the timers that end with a command, in the order in which they were set."""
    manager: TimerManager | None = hass.data.get(TIMER_DATA)
    return [timer for timer in [*manager.timers.values()] if timer.conversation_command] if manager else []


def _visible(hass: HomeAssistant, turn: Turn) -> list[TimerInfo]:
    """Return the commands that wait and that the speaker may know of."""
    planned, user = hass.data.get(PLANNED, {}), turn.user
    found: list[TimerInfo] = []
    for timer in _timers(hass):
        known = planned.get(timer.id)
        owner = known.user_id if known is not None else None
        is_own = owner == user.id if user is not None else owner is None
        is_shared = user is not None and user.is_admin and owner is None
        if (is_own or is_shared) and (not turn.within or timer.conversation_agent_id == turn.agent_id):
            found.append(timer)
    return found


def _just_said(sentence: Sentence, waiting: Sequence[TimerInfo]) -> list[TimerInfo]:
    """Return what the message before this one, in this conversation, left for later."""
    planned, number = sentence.hass.data.get(PLANNED, {}), message_number(sentence.chat_log)
    place = sentence.turn.conversation_id, number - 1
    known = ((timer, planned.get(timer.id)) for timer in waiting)
    return [timer for timer, one in known if one is not None and (one.conversation_id, one.message) == place]


def _is_followed(sentence: Sentence, timers: Sequence[TimerInfo]) -> bool:
    """Return whether something was done in this conversation since one of these was left for later in it."""
    planned, place = sentence.hass.data.get(PLANNED, {}), sentence.turn.conversation_id
    known = [one for timer in timers if (one := planned.get(timer.id)) is not None and one.conversation_id == place]
    if not known:
        return False
    since = min(one.at for one in known)
    done = sentence.means.journal.newest_first(lambda _: True)
    return any(action.conversation_id == place and action.when > since and action.touched for action in done)


def _is_polite(sentence: Sentence) -> bool:
    """Return whether a no is a "no thanks": nothing more is wanted."""
    said, data = f" {' '.join(words_of(sentence.turn.text)[1:])} ", data_of(sentence.language.code)
    courteous = any(f" {' '.join(words_of(text))} " in said for text in (*data.courtesies, *data.polite))
    return courteous and planning_of(sentence.turn.text, sentence.turn.language) is None


def _names(sentence: Sentence, planning: Planning) -> list[str]:
    """Return those of the words that name something; where a wish is denied also "on" and "up"."""
    data = data_of(sentence.language.code)
    listed = () if planning.is_needless else (*data.prepositions, *data.no)
    nothing = {word for text in (*data.harmless, *data.courtesies, *listed) for word in words_of(text)}
    return [word for word in planning.words if word not in nothing]


def _is_said_in(sentence: Sentence, names: Sequence[str], timer: TimerInfo) -> bool:
    """Return whether all that is named was said in a command, maybe in another form: "éteindre" and "éteins"."""
    base, command = sentence.language.base, words_of(timer.conversation_command or "")

    def is_form(word: str, said: str) -> bool:
        stem = max(_LEAST_STEM, len(said) - 3)
        return not keys_of(base, word).isdisjoint(keys_of(base, said)) or word[:stem] == said[:stem]

    return all(any(is_form(word, said) for said in command) for word in names)


def _meant(sentence: Sentence, names: Sequence[str], waiting: Sequence[TimerInfo]) -> list[TimerInfo]:
    """Return which commands are meant: those that share most words with what is named, all where nothing is.

    A command is not meant if something in the home is named that it does not name.
    """
    base = sentence.language.base
    entities, areas = sentence.home.entities.values(), sentence.home.areas.values()
    called = [*(each.names for each in entities), *(each.names for each in areas)]
    known = {key for names_of in called for name in names_of for word in words_of(name) for key in keys_of(base, word)}
    scores: dict[str, int] = {}
    for timer in waiting:
        command = words_of(timer.conversation_command or "")
        keys = {key for word in command for key in keys_of(base, word)}
        other = [
            word
            for word in names
            if keys.isdisjoint(keys_of(base, word))
            and (len(word) < _LEAST_STEM or not any(word in each for each in command))  # a part of "Keukenlicht"
        ]
        is_other = any(not known.isdisjoint(keys_of(base, word)) for word in other)
        scores[timer.id] = 0 if is_other else len(names) - len(other)
    best = max(scores.values())
    return [timer for timer in waiting if scores[timer.id] == best] if best or not names else []


async def async_take_back(sentence: Sentence) -> Result:
    """Cancel what the message before this one left for later: nothing was done that could be undone."""
    just = _just_said(sentence, _visible(sentence.hass, sentence.turn))
    return await _async_cancel(sentence, just) if just else NotMine()


async def _async_cancel(sentence: Sentence, timers: Sequence[TimerInfo]) -> Done | Refused:
    try:
        sentence.means.policy.authorize(sentence.turn, Plan(action=ActionClass.WRITE))
    except ToolError as err:
        return Refused(error=err, recognised=Recognised(name=_CANCEL, slots={}))
    told = await _async_told(sentence, "planned_cancelled", timers)
    manager: TimerManager = sentence.hass.data[TIMER_DATA]
    for timer in timers:
        if timer.id in manager.timers:  # it may have ended while the words were looked up
            manager.cancel_timer(timer.id)
    return told


async def _async_told(sentence: Sentence, key: str, timers: Sequence[TimerInfo]) -> Done:
    zone = zone_of_turn()
    told: list[str] = []
    for timer in sorted(timers, key=lambda timer: timer.seconds_left)[:_MOST]:
        when = (dt_util.utcnow() + timedelta(seconds=timer.seconds_left)).astimezone(zone)
        told.append(f"{timer.conversation_command} ({when:%H:%M})")
    items = ", ".join([*told, *(["…"] if len(timers) > _MOST else [])])
    placeholders = {"items": items} if timers else {}
    text = await async_text(sentence.hass, sentence.turn.language, key, **placeholders)
    return Done(said=spoken(sentence.turn, text))
