"""Which of the wishes that wait are meant: by what they were said with, what they are for, when they are due, and what was told of last."""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from datetime import timedelta
import re

from homeassistant.components.conversation import UserContent
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..languages.bare_numbers import minutes_in
from ..languages.changes import SaidTime, time_in
from ..languages.data import data_of
from ..languages.later import LaterKind, later_in
from ..languages.phrases import ReplyKind, is_order, is_question, read_answer
from ..languages.planning import kinds_in
from ..languages.said_moments import SaidMoment, moment_in, says_day
from ..languages.vocabulary import keys_of
from ..support.const import DOMAIN
from ..support.text import MAX_TEXT, words_of
from ..wishes.wish import Wish, WishKind
from ..wishes.wishes import wishes_of
from .sentences import MAX_REMEMBERED, Result, Sentence, message_number

_LEAST_STEM = 4  # letters
_NEAR = timedelta(minutes=1)
_RINGS = timedelta(minutes=2)
"""So long after a timer or an alarm is up "stop" means it."""
_HALF_DAY = 12  # hours
AROUND = timedelta(hours=6)
"""A bare hour beside a wish that has a time is the next one from so long before that time."""


type DoesWith = Callable[[Sentence, Sequence[Wish]], Awaitable[Result]]
"""Does something with wishes, in answer to a sentence that says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldWishes:
    """The wishes that an answer has told of, for the message that follows it."""

    number: int
    """The message that was answered."""
    owner: str | None
    ids: tuple[str, ...]
    then: DoesWith | None = None
    """What is done with those that are meant, where it was asked which."""


TOLD: HassKey[dict[str, ToldWishes]] = HassKey(f"{DOMAIN}_planned_told")
"""By conversation."""


def known_wishes(sentence: Sentence) -> list[Wish]:
    """Return the wishes that the speaker may know of."""
    return wishes_of(sentence.hass).known_to(sentence.turn)


def note_told(sentence: Sentence, wishes: Sequence[Wish], then: DoesWith | None = None) -> None:
    """Keep which wishes the answer to a sentence tells of, and what is done with one of them where it asks which."""
    told, user = sentence.hass.data.setdefault(TOLD, {}), sentence.turn.user
    told.pop(sentence.turn.conversation_id, None)
    told[sentence.turn.conversation_id] = ToldWishes(
        number=message_number(sentence.chat_log),
        owner=user.id if user is not None else None,
        ids=tuple(wish.id for wish in wishes),
        then=then,
    )
    if len(told) > MAX_REMEMBERED:
        del told[next(iter(told))]


def told_before(sentence: Sentence) -> ToldWishes | None:
    """Return what the answer to the message before this one told of, to who speaks now."""
    told, user = sentence.hass.data.get(TOLD, {}).get(sentence.turn.conversation_id), sentence.turn.user
    is_next = told is not None and told.number == message_number(sentence.chat_log) - 1
    return told if told is not None and is_next and told.owner == (user.id if user is not None else None) else None


def just_made(sentence: Sentence, waiting: Sequence[Wish]) -> list[Wish]:
    """Return what the message before this one, in this conversation, made.

    None of what was made before that message was said: then the conversation began anew since, as at a restart.
    """
    place = sentence.turn.conversation_id, message_number(sentence.chat_log) - 1
    said = [content.created for content in sentence.chat_log.content if isinstance(content, UserContent)]
    made = [wish for wish in waiting if (wish.conversation_id, wish.message) == place]
    if len(said) < 2 or abs(dt_util.utcnow() - said[-1]) > _NEAR:  # the clock was set
        return made
    return [wish for wish in made if said[-2] <= wish.made]


def just_spoken_of(sentence: Sentence, waiting: Sequence[Wish]) -> list[Wish]:
    """Return what the message before this one made, changed or was told of, in the order in which it was told."""
    if made := just_made(sentence, waiting):
        return made
    told, known = told_before(sentence), {wish.id: wish for wish in waiting}
    return [known[item] for item in told.ids if item in known] if told is not None else []


def just_canceled(sentence: Sentence) -> list[Wish]:
    """Return what the message before this one canceled."""
    told, cancelled = told_before(sentence), wishes_of(sentence.hass).cancelled
    waiting = {wish.id for wish in known_wishes(sentence)}
    found = [cancelled[item] for item in told.ids if item in cancelled] if told is not None else []
    return [wish for wish in found if wish.id not in waiting and wish.is_known_to(sentence.turn)]


def spoken_of_last(sentence: Sentence) -> Wish | None:
    """Return the wish that was just spoken of, of several the one that was made last."""
    return max(just_spoken_of(sentence, known_wishes(sentence)), key=lambda wish: wish.made, default=None)


def in_order(sentence: Sentence, waiting: Sequence[Wish]) -> list[Wish]:
    """Return the wishes among which one may be named by its place: those that were told, else those that this conversation made.

    These only where they are due in the order in which they were made; else it is not known which is the first.
    """
    told = told_before(sentence)
    if told is not None and len(told.ids) > 1:
        return just_spoken_of(sentence, waiting)
    made = [wish for wish in waiting if wish.conversation_id == sentence.turn.conversation_id]
    made.sort(key=lambda wish: wish.message)
    due = [wish.when.at for wish in made if wish.when.at is not None]
    return made if len(due) == len(made) and due == sorted(due) else []


def just_rung(sentence: Sentence) -> Wish | None:
    """Return the timer or alarm of the speaker that was up a moment ago."""
    turn, now = sentence.turn, dt_util.utcnow()
    users = (turn.user.id, None) if turn.user is not None else (None,)
    found = [rung for user in users if (rung := wishes_of(sentence.hass).rung.get(user)) is not None]
    lately = [(wish, at) for wish, at in found if wish.is_known_to(turn) and now - at < _RINGS]
    return max(lately, key=lambda one: one[1])[0] if lately else None


def forget_rung(sentence: Sentence, wish: Wish) -> None:
    """Forget that a timer or an alarm was up: it was stopped, and the next "stop" means another one."""
    wishes_of(sentence.hass).rung.pop(wish.user_id, None)


def of_kinds(wishes: Sequence[Wish], kinds: Container[str]) -> list[Wish]:
    """Return the wishes of some kinds; all where none is named."""
    return [wish for wish in wishes if not kinds or wish.kind.value in kinds]


# By their words


def is_said_in(sentence: Sentence, names: Sequence[str], wish: Wish) -> bool:
    """Return whether all that is named was said in a wish or is what it is for, maybe in another form: "éteindre" and "éteins"."""
    base, said_then = sentence.language.base, _words(sentence, wish)
    return all(any(_is_form(base, word, said) for said in said_then) for word in names)


def is_called(sentence: Sentence, names: Sequence[str], wish: Wish) -> bool:
    """Return whether all that is named are names of what a wish is for, or of where that is."""
    base = sentence.language.base
    called = [word for name in called_of(sentence, wish) for word in words_of(name)]
    return bool(names) and all(any(_is_form(base, word, one) for one in called) for word in names)


def _is_form(base: str, word: str, said: str) -> bool:
    """Return whether two words are forms of one."""
    stem = max(_LEAST_STEM, len(said) - 3)
    return not keys_of(base, word).isdisjoint(keys_of(base, said)) or word[:stem] == said[:stem]


def called_of(sentence: Sentence, wish: Wish) -> list[str]:
    """Return the names of what a wish is for, and of where that is."""
    home = sentence.home
    entities = [home.entities[item] for item in wish.targets if item in home.entities]
    areas = [home.areas[one.area_id] for one in entities if one.area_id is not None and one.area_id in home.areas]
    return [*(name for one in entities for name in one.names), *(name for one in areas for name in one.names)]


def _words(sentence: Sentence, wish: Wish) -> tuple[str, ...]:
    """Return all words that a wish was made with, and the names of what it is for and of where that is."""
    said = (wish.words, wish.text, wish.when.said, *called_of(sentence, wish))
    return tuple(dict.fromkeys(word for text in said for word in words_of(text)))


def meant_of(sentence: Sentence, names: Sequence[str], waiting: Sequence[Wish]) -> list[Wish]:
    """Return which wishes are meant: those that share most words with what is named, all where nothing is.

    A wish is not meant if something in the home is named that it does not name.
    """
    base = sentence.language.base
    entities, areas = sentence.home.entities.values(), sentence.home.areas.values()
    called = [*(each.names for each in entities), *(each.names for each in areas)]
    known = {key for names_of in called for name in names_of for word in words_of(name) for key in keys_of(base, word)}
    scores: dict[str, int] = {}
    for wish in waiting:
        said = _words(sentence, wish)
        other = [
            word
            for word in names
            if not any(_is_form(base, word, each) for each in said)
            and (len(word) < _LEAST_STEM or not any(word in each for each in said))  # a part of "Keukenlicht"
        ]
        is_other = any(not known.isdisjoint(keys_of(base, word)) for word in other)
        scores[wish.id] = 0 if is_other else len(names) - len(other)
    best = max(scores.values(), default=0)
    return [wish for wish in waiting if scores[wish.id] == best] if best or not names else []


# By their time


def at_time(sentence: Sentence, wishes: Sequence[Wish], said: SaidTime) -> list[Wish]:
    """Return the wishes that are due at a time that is named."""
    if said.day is not None:
        return [wish for wish in wishes if wish.when.at and dt_util.as_local(wish.when.at).date() == said.day]
    moment = said.moment
    assert moment is not None
    if moment.sun:
        return [wish for wish in wishes if wish.when.sun == moment.sun and wish.when.offset == moment.offset]
    if moment.seconds:
        span = timedelta(seconds=moment.seconds)
        spans = [(wish, {dt_util.utcnow() + span, wish.made + span}) for wish in wishes if wish.when.at is not None]
        return [wish for wish, ends in spans if any(abs(wish.when.at - end) < _NEAR for end in ends)]  # type: ignore[operator]
    is_dated = any(one.kind is LaterKind.DAY for one in later_in(moment.words, sentence.language.code))
    due = [(wish, dt_util.as_local(wish.when.at)) for wish in wishes if wish.when.at is not None]
    due = [(wish, at) for wish, at in due if not is_dated or at.date() == moment.at.date()]
    other = moment_in(moment.words, sentence.language.code, dt_util.now() + timedelta(hours=_HALF_DAY))
    hours = {moment.at.hour, other.at.hour} if other is not None else {moment.at.hour}  # "nine" may be of both halves
    return [wish for wish, at in due if at.hour in hours and at.minute == moment.at.minute]


def on_its_day(sentence: Sentence, moment: SaidMoment, before: Wish) -> SaidMoment:
    """Return a bare hour as it is said behind what waits for another day: "and the radio at seven" after "tomorrow at six"."""
    code, at = sentence.language.code, dt_util.as_local(before.when.at) if before.when.at is not None else dt_util.now()
    if moment.seconds or moment.sun or at.date() == dt_util.now().date() or says_day(moment.words, code, dt_util.now()):
        return moment
    found = moment_in(moment.words, code, max(dt_util.now(), at - AROUND))
    is_near = found is not None and not found.seconds and abs(found.at - at) <= AROUND
    return found if found is not None and is_near else moment


def at_same_time(sentence: Sentence) -> str | None:
    """Return what was said with the time of what was just spoken of in place of "at the same time"; None where that is not said."""
    text, spoken_of = sentence.turn.text, just_spoken_of(sentence, known_wishes(sentence)) or just_canceled(sentence)
    moments = {wish.when.at if wish.when.wall else None for wish in spoken_of}
    at = next(iter(moments), None)
    if at is None or len(moments) > 1 or len(text) > MAX_TEXT:
        return None
    said = f"{dt_util.as_local(at):%Y-%m-%d %H:%M}"
    for phrase in sorted(data_of(sentence.language.code).planning.same_time, key=len, reverse=True):
        plain, count = re.subn(rf"(?<!\w){re.escape(phrase)}(?!\w)", said, text, flags=re.IGNORECASE)
        if count:
            return plain if count == 1 else None
    return None


# By an answer


def chosen(sentence: Sentence, asked: Sequence[Wish]) -> Sequence[Wish] | None:
    """Return which of some wishes an answer means, none of them for a no; None for other words. A remark may stand behind it."""
    found, code = _chosen(sentence, asked), sentence.language.code
    front, sign, behind = sentence.turn.text.partition(",")
    if found is None and sign and not is_order(behind, code) and not is_question(behind, code):
        found = _chosen(sentence.saying(front), asked)
    return found


def _chosen(sentence: Sentence, asked: Sequence[Wish]) -> Sequence[Wish] | None:
    """Return which of some wishes a whole answer means, none of them for a no; None for other words.

    They are chosen by their place in what was read out, by their time, or by words that one of them has and no other.
    """
    turn, code = sentence.turn, sentence.language.code
    data = data_of(code)
    if _is_one_of(sentence, turn.text, data.choices.none) or read_answer(turn.text, turn.language).kind is ReplyKind.NO:
        return ()
    if _is_one_of(sentence, turn.text, (*data.choices.all, *(data.follow_ups.both if len(asked) == 2 else ()))):
        return asked
    placed = by_place(sentence, turn.text, asked)
    said = time_in(turn.text, code, dt_util.now())
    timed = at_time(sentence, asked, said) if said is not None else []
    placed = placed or by_length(sentence, asked)
    if placed and timed and [*timed] != [*placed]:
        return timed if len(timed) == 1 and later_in(turn.text, code) else None
    if placed:
        return placed
    rest = _plain(sentence, said.rest if timed and said is not None else turn.text)
    kinds, names = kinds_in(rest, code)
    if not (timed or kinds or names):
        return None
    found = [wish for wish in of_kinds(timed or asked, kinds) if is_said_in(sentence, names, wish)]
    return found if len(found) == 1 else None


def by_place(sentence: Sentence, text: str, told: Sequence[Wish]) -> list[Wish]:
    """Return the wish that a text names by its place among those that were told: "the second one"."""
    words = data_of(sentence.language.code).choices
    if len(told) < 2:
        return []
    for wish, phrases in zip(told, words.ordinals, strict=False):
        if _is_one_of(sentence, text, phrases):
            return [wish]
    return [*told[-1:]] if _is_one_of(sentence, text, words.last) else []


def by_length(sentence: Sentence, asked: Sequence[Wish]) -> list[Wish]:
    """Return the one that an answer means by how long it has: "the shorter one", "the ten minute one", "the one for ten"."""
    text, code = sentence.turn.text, sentence.language.code
    words, due = (
        data_of(code).planning,
        sorted((wish for wish in asked if wish.when.at is not None), key=lambda wish: wish.when.at or wish.made),
    )
    for place, phrases in ((0, words.soonest), (-1, words.farthest)):
        if due and _is_one_of(sentence, text, phrases):
            return [due[place]]
    span = timedelta(minutes=minutes_in(text, code))
    found = [wish for wish in due if wish.kind is WishKind.TIMER and wish.when.at is not None]
    return [wish for wish in found if span and abs((wish.when.at or wish.made) - wish.made - span) < _NEAR]


def _is_one_of(sentence: Sentence, text: str, phrases: Sequence[str]) -> bool:
    said, left = words_of(text), _plain(sentence, text)
    return any(words_of(phrase) in (said, left) for phrase in phrases)


def _plain(sentence: Sentence, text: str) -> tuple[str, ...]:
    """Return the words of an answer that say which one."""
    data = data_of(sentence.language.code)
    beside = {word for listed in (*data.choices.beside, *data.courtesies) for word in words_of(listed)}
    return tuple(word for word in words_of(text) if word not in beside)
