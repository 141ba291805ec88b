"""A wish that takes the place of another one, or is made smaller: "no wait, tell me when the dryer is done", "not the lamp, only the TV"."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
import re

from ..languages.changes import does_something, leaves_so, trimmed
from ..languages.data import data_of
from ..languages.later import later_in
from ..languages.phrases import is_order, is_question, is_remark
from ..languages.planning import kinds_in
from ..languages.reminders import reminder_in
from ..policy.wishing import registered
from ..support.text import MAX_TEXT, words_of
from ..wishes.wish import Step, Wish, WishKind
from .later import named_in
from .planned import async_cancel
from .planning import services_of
from .promises import async_promise
from .sentences import Done, NotMine, Result, Sentence
from .wishes_meant import at_same_time, is_called, is_said_in, just_spoken_of, known_wishes, told_before
from .wishing import answer_wish, async_made, new_wish

_BETWEEN = re.compile(r"[,;.!?:]+\s+|\s[-–—]\s+")
_MOST_PARTS = 4


async def answer_instead(sentence: Sentence) -> Result:
    """Make a wish in place of the one that was just spoken of: both want the same, or the other one is named."""
    text, spoken_of = sentence.turn.text, just_spoken_of(sentence, known_wishes(sentence))
    if len(spoken_of) != 1 or len(text) > MAX_TEXT or is_question(text, sentence.language.code):
        return NotMine()
    [old] = spoken_of
    if (timed := at_same_time(sentence)) is not None:
        sentence = sentence.saying(timed)
    for plain, is_named in _instead(sentence, old):
        waited = known_wishes(sentence)
        result = await answer_wish(sentence.saying(plain))
        if not isinstance(result, Done):
            continue
        made = [wish for wish in known_wishes(sentence) if wish not in waited]
        if len(made) == 1 and old in known_wishes(sentence) and (is_named or _is_alike(old, made[0])):
            cancelled = await async_cancel(sentence, [old])
            return result if isinstance(cancelled, Done) else cancelled
        return result
    return NotMine()


def _is_alike(old: Wish, new: Wish) -> bool:
    """Return whether two wishes want the same: to be told, or something of the same things."""
    return old.kind is new.kind and (old.kind is not WishKind.ACTION or not set(old.targets).isdisjoint(new.targets))


def _instead(sentence: Sentence, old: Wish) -> Iterator[tuple[str, bool]]:
    """Yield what a sentence wishes instead of another wish, and whether that is named in it."""
    text, code = sentence.turn.text.strip(" .!?"), sentence.language.code
    for phrase in sorted(data_of(code).planning.instead_of, key=len, reverse=True):
        said = re.escape(phrase)
        if (match := re.fullmatch(rf"(?:.{{0,20}}\W)?{said} (?P<old>[^,;]+?),\s*(?P<new>.+)", text, re.IGNORECASE)) or (
            match := re.fullmatch(rf"(?P<new>.+?),?\s+{said} (?P<old>[^,;]+)", text, re.IGNORECASE)
        ):
            if _is_named(sentence, match["old"], old):
                yield _without_lead(match["new"], code), True
    parts = [part for part in _BETWEEN.split(text) if part.strip()]
    if not 1 < len(parts) <= _MOST_PARTS:
        return
    if (denied := _denied(parts[0], code)) is not None and _is_of(sentence, denied, old):
        yield _without_but(", ".join(parts[1:]), code), True
        return
    is_named = (named := _denied(parts[-1], code)) is not None and _is_named(sentence, named, old)
    rest = parts[:-1] if is_named else parts
    wanted = _without_lead(", ".join(rest), code)
    if wanted and (is_named or wanted != ", ".join(rest)):
        yield wanted, is_named


def _is_of(sentence: Sentence, denied: str, wish: Wish) -> bool:
    """Return whether what is denied is what a wish does: it says what is done, and names nothing else."""
    code = sentence.language.code
    said = [word for word in _names(denied, code)[0] if not does_something(word, code)]
    is_order = any(does_something(word, code) for word in words_of(denied))
    return (is_order or bool(said)) and wish.kind is WishKind.ACTION and is_said_in(sentence, said, wish)


def _without_but(text: str, code: str) -> str:
    """Return a text without the word in front that sets it against what is denied: "but", "sondern"."""
    for phrase in sorted((*data_of(code).planning.but_at, *data_of(code).planning.goes_on), key=len, reverse=True):
        if (match := re.match(rf"{re.escape(phrase)}(?!\w)", text, re.IGNORECASE)) is not None:
            return text[match.end() :].strip()
    return text


def _without_lead(text: str, code: str) -> str:
    """Return a text without what only says in front that it takes another's place: "no wait, ..."."""
    parts = _BETWEEN.split(text)
    while len(parts) > 1 and leaves_so(parts[0], code):
        parts.pop(0)
    return ", ".join(parts)


def _denied(part: str, code: str) -> str | None:
    """Return what a part of a sentence denies: "not the lamp"; None where it denies nothing."""
    nots = {word for said in data_of(code).planning.nots for word in words_of(said)}
    words = part.split()
    left = [word for word in words if nots.isdisjoint(words_of(word))]
    return " ".join(left) if left and len(left) < len(words) else None


def _names(text: str, code: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the words of a text that name something, and the kinds of wishes that it names."""
    data = data_of(code)
    listed = (*data.harmless, *data.courtesies, *data.prepositions, *data.planning.last, *data.planning.corrects)
    nothing = {word for said in listed for word in words_of(said)}
    kinds, words = kinds_in(words_of(trimmed(text, code)), code)
    kinds |= kinds_in(words_of(text), code)[0]
    return tuple(word for word in words if word not in nothing), kinds


def _is_named(sentence: Sentence, text: str, wish: Wish) -> bool:
    """Return whether a text names a wish, by its words, its kind or its time."""
    names, kinds = _names(text, sentence.language.code)
    if kinds and wish.kind.value not in kinds:
        return False
    if later_in(text, sentence.language.code):
        return True
    return bool(names or kinds) and is_said_in(sentence, names, wish)


# Less than before


async def answer_left_out(sentence: Sentence) -> Result:
    """Leave out what a sentence denies of what was just spoken of: "no, not the lamp, I'll do that", "the lamp not, only the TV"."""
    text, code = sentence.turn.text, sentence.language.code
    spoken_of = [
        wish
        for wish in just_spoken_of(sentence, known_wishes(sentence))
        if wish.kind is WishKind.ACTION and not wish.ends
    ]
    parts = [part for part in _BETWEEN.split(text.strip(" .!?")) if part.strip()]
    if (told := told_before(sentence)) is not None and told.then is not None:
        return NotMine()  # it was asked which
    if not spoken_of or len(parts) > _MOST_PARTS or is_question(text, code) or later_in(text, code, named_in(sentence)):
        return NotMine()
    for at, part in enumerate(parts):
        denied = _denied(part, code)
        names = _names(denied, code)[0] if denied is not None else ()
        others = [other for number, other in enumerate(parts) if number != at]
        if not names or not all(_is_nothing_more(sentence, other, spoken_of) for other in others):
            continue
        left = [(wish, _targets_called(sentence, names, wish)) for wish in spoken_of]
        meant = [(wish, targets) for wish, targets in left if targets]
        if len(meant) == 1:
            return await _async_less(sentence, *meant[0])
    return NotMine()


def _is_nothing_more(sentence: Sentence, part: str, spoken_of: Sequence[Wish]) -> bool:
    """Return whether a part of a sentence wants nothing else: it corrects, states something, or names what stays."""
    code = sentence.language.code
    if leaves_so(part, code) or is_remark(part, code) or _is_of_speaker(part, code):
        return True
    names = _names(part, code)[0]
    if not names or any(_targets_called(sentence, names, wish) for wish in spoken_of):
        return True
    if is_order(part, code) or reminder_in(part, code) is not None:
        return False
    return not named_in(sentence.saying(part))


def _is_of_speaker(part: str, code: str) -> bool:
    """Return whether a part of a sentence is about what people do themselves: "I'll do that"."""
    selves = {word for said in data_of(code).asides.selves for word in words_of(said)}
    return not selves.isdisjoint(words_of(part))


def _targets_called(sentence: Sentence, names: Sequence[str], wish: Wish) -> tuple[str, ...]:
    """Return those of the things of a wish that words name; of several that have the same words, none."""
    found = [item for item in wish.targets if is_called(sentence, names, _only(wish, (item,)))]
    return tuple(found) if len(found) == 1 or len(found) == len(wish.targets) == 1 else ()


def _only(wish: Wish, targets: Sequence[str]) -> Wish:
    """Return a wish for some of its things."""
    steps = list[Step]()
    for step in wish.steps:
        rows = [{**row, "entity_ids": [item for item in row["entity_ids"] if item in targets]} for row in step.effects]  # type: ignore[union-attr]
        rows = [row for row in rows if row["entity_ids"]]
        own = tuple(item for item in step.targets if item in targets)
        if own and (rows or not step.effects):
            steps.append(replace(step, effects=tuple(rows), targets=own))
    return replace(wish, steps=tuple(steps))


async def _async_less(sentence: Sentence, wish: Wish, denied: Sequence[str]) -> Result:
    """Cancel a wish, or make it for what is left of its things."""
    left = [item for item in wish.targets if item not in denied]
    if not left:
        return await async_cancel(sentence, [wish])
    if any(step.command or not step.effects for step in wish.steps):
        return NotMine()
    less = _only(wish, left)
    if {item for _, item in services_of(less.steps)} != {*left}:
        return NotMine()
    made = replace(new_wish(sentence, wish.kind, wish.words, wish.text, wish.when), steps=less.steps, asks=wish.asks)
    made = replace(made, registered=registered(sentence.hass, made))
    result = await async_made(sentence, [made], await async_promise(sentence.hass, sentence.turn, made))
    if not isinstance(result, Done) or result.has_failed:
        return result
    cancelled = await async_cancel(sentence, [wish])
    return result if isinstance(cancelled, Done) else cancelled
