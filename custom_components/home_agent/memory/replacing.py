"""Whether a new memory makes an older one untrue: "we moved the bed to the attic" after "the bed is in the bedroom".

Told by words: both are about the same, and the new one says that something has changed (`memory` in the data of a language).
What is about the same shares two words that mean something, or one and a value of the same kind: a day, a time, a number. What is
not clear stays side by side; a model that extracted the new one may know better, and says so itself (`Draft.replaces`).
"""

from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
import re

from homeassistant.util.json import JsonValueType

from ..home.foreign import PERSON
from ..languages.claims import any_word
from ..languages.concepts import fillers_of, meaning_of, names_in
from ..languages.data import ENGLISH, code_of, data_of, number_words
from ..languages.vocabulary import stems_of
from ..support.nearness import likeness
from ..support.text import fold, is_unspaced, normalized, runs, words
from .filters import plain
from .record import Draft, Memory, MemorySource, marked

_ALIKE = 0.8  # from which likeness on two words are forms of one
_STRENGTH = {MemorySource.EXTRACTED: 0, MemorySource.SERVICE: 1, MemorySource.SAID: 2}
_BOTH = 2  # words that two memories have in common when they are about the same
_MOST = 60  # words that are compared
_HOURS, _MINUTES = 24, 59
_NONE = frozenset[str]()
EXCLUSIVE = frozenset({
    "family", "weekday", "month", "season", "colour", "country", "language", "room", "doctor", "fruit", "vegetables",
    "meat", "fish", "sweets", "hot_drinks", "alcohol", "animal", "music", "sport", "games", "tools", "furniture",
    "clothes", "appliance", "body", "documents",
})  # fmt: skip
"""Concepts whose things are never one another: who says "mum" does not mean "dad"."""
PARTS_OF_THE_DAY = frozenset({"morning", "noon", "evening", "night"})
_DENYING = frozenset({"allergy", "dislike", "forbidden"})  # concepts that say no without a negation
_COMPLAINTS = _DENYING | {"health", "senses", "diet", "handicap", "fear"}
_HEAD = 4  # letters at the end that two compounds have in common
_PERSONS = frozenset({"family", "partner", "child", "friend", "neighbour", "guest"})
_WHO_AND_WHEN = _PERSONS | PARTS_OF_THE_DAY | {"person", "time", "weekday", "month", "season", "visit"}
"""Concepts that say of whom and when something is, not what."""
_LEADING = re.compile(r"\d+")
_OWNERS = re.compile(r"(?<=\w)'s\b")
_DATE = re.compile(r"\b(\d{1,2})\.\s?(\d{1,2})\.(?!\d{2}\b:)")
_SHORT = 2  # letters of a word that says little: "am"
_CLOCK = re.compile(r"\b\d{1,2}[:.]\d{2}\b")
_DIGITS = re.compile(r"(?<![\d:.])\d+(?![\d:]|\.\d)")


@dataclass(frozen=True, slots=True)
class _Said:
    words: tuple[str, ...]  # folded, those that mean something, in their order
    kinds: frozenset[str]  # which kinds of values it has: `date`, `clock`, `number`, and frames of the language
    changes: bool
    begins_with_change: bool  # it begins with what happened, not with what it is about: "sold the car"


def supersedes(draft: Draft, new: Memory, old: Memory) -> bool:
    """Return whether a new memory makes an old one untrue; text from outside never does that to what a user said.

    If a model says so, both must be about the same subject: some models name all that they were shown.
    """
    if new.tainted and old.is_kept:
        return False
    said_so = old.id in draft.replaces and share_a_subject(new.content, old.content, new.language)
    return said_so or replaces(draft.content, old.content, draft.language)


def merged(old: Memory, new: Memory) -> Memory:
    """Return one memory of two that say the same: the richer text, the greater importance, the stronger source, the longer time.

    What a model extracted from text from outside does not change the words of what a user asked to keep, nor does what a user with
    fewer rights says.
    """
    stronger = _STRENGTH[new.source] >= _STRENGTH[old.source]
    richer = len(words(new.content)) > len(words(old.content))
    lesser = PERSON in new.tainted and PERSON not in old.tainted
    speaks = new if richer and not lesser and (stronger or not new.tainted) else old
    metadata: dict[str, JsonValueType] = dict(old.metadata)
    for key, value in new.metadata.items():
        before = metadata.get(key)
        if isinstance(before, list) and isinstance(value, list):
            value = [*before, *(item for item in value if item not in before)]
        metadata[key] = value
    expires_at = None
    if old.expires_at is not None and new.expires_at is not None:
        expires_at = max(old.expires_at, new.expires_at)
    return replace(
        old,
        type=new.type if new.is_kept else old.type,
        content=speaks.content,
        language=speaks.language,
        importance=max(old.importance, new.importance),
        source=new.source if stronger else old.source,
        last_accessed=new.last_accessed,
        expires_at=expires_at,
        is_transient=expires_at is not None,
        author=speaks.author,
        metadata=marked(metadata, speaks.tainted),
    )


def similarity(one: str, other: str, fillers: Collection[str] = ()) -> float:
    """Return the share of the shorter of two texts that is in the other one, 0 to 1; 0 if they differ in a number."""
    parts = [[word for item in words(text) if (word := fold(item)) not in fillers] for text in (one, other)]
    shorter, longer = sorted(parts, key=len)
    numbers = [{word for word in part if word.isdigit()} for part in parts]
    if not shorter or (numbers[0] and numbers[1] and numbers[0] != numbers[1]):
        return 0.0
    left, shared = list(longer), 0.0
    for word in shorter:
        best = max(left, key=lambda item: likeness(word, item), default="")
        if (alike := likeness(word, best)) >= _ALIKE:
            left.remove(best)
            shared += alike
    return shared / len(shorter)


def share_a_subject(one: str, other: str, language: str) -> bool:
    """Return whether two sentences share a telling word, or what such words are about, and not only a name, a person or a time.

    True for languages without spaces.
    """
    code = code_of(language)
    if is_unspaced(one) or is_unspaced(other):
        return True
    first, second = (
        {word: meaning_of(code, word) for word in content.words - content.names}
        for content in (_content(one, code), _content(other, code))
    )
    about, known = (
        frozenset[str]().union(*(meaning.concepts | meaning.wider for meaning in told.values())) - _WHO_AND_WHEN
        for told in (first, second)
    )
    if not about.isdisjoint(known):
        return True
    things, others = (
        [word for word, meaning in told.items() if not meaning or not meaning.concepts <= _WHO_AND_WHEN]
        for told in (first, second)
    )
    return any(_is_form(word, thing, code) for word in things for thing in others)


def replaces(new: str, old: str, language: str) -> bool:
    """Return whether one sentence makes an older one untrue: by a word that says so, or by another value where there is one at a time."""
    code = code_of(language)
    if _has_another_value(new, old, code):
        return True
    now, before = _said(new, code), _said(old, code)
    if not now.changes or not now.words or not before.words or _is_of_another_thing(new, old, code):
        return False
    shared = [
        place for place, word in enumerate(before.words) if any(_is_one_thing(word, one, code) for one in now.words)
    ]
    if not shared:  # all that the new one says is on one side of a life, and the older one is on the same
        telling, sides = [word for word in now.words if len(word) > _SHORT], now.kinds & before.kinds
        frames = [frame for name, frame in _frames(code).items() if name in sides]
        on_one_side = telling and any(all(frame.fullmatch(word) for word in telling) for frame in frames)
        return _same_speaker(new, old, code) and bool(on_one_side)
    about_it = 0 in shared or any(_is_one_thing(now.words[0], word, code) for word in before.words)
    if len(shared) >= _BOTH and _same_speaker(new, old, code):
        about_it = about_it or not (now.kinds & before.kinds).isdisjoint(data_of(code).memory.frames)
    if not about_it and not now.begins_with_change:
        return False
    if now.begins_with_change and len(shared) < _BOTH and _is_person(before.words[shared[0]], code):
        return not now.kinds.isdisjoint(before.kinds)  # whose it is says nothing of what it is
    if 0 in shared and len(before.words) > 1:  # "Oma Inge", "Oma Hilde"
        one, other = (_name_behind(text, before.words[0], code) for text in (old, new))
        if one and other and not _is_form(one, other, code):
            return False
    # If the subject is not shared, what was said of it is.
    return len(shared) >= _BOTH or now.begins_with_change or 0 not in shared or not now.kinds.isdisjoint(before.kinds)


def differs(one: str, other: str, language: str) -> bool:
    """Return whether two sentences that are alike say different things, as far as words can tell.

    Each has a word that the other has not (another person, another thing), they differ in a number or a negation, they relate the
    same words otherwise ("to Bonn", "from Bonn"), or say them of each other in another order ("fish but no meat"). One that only
    says more is the richer one.
    """
    code = code_of(language)
    about, known = _content(one, code), _content(other, code)
    if _denies_alone(about, known) or _denies_alone(known, about) or _apart(about.numbers, known.numbers):
        return True
    exclusive = about.exclusive.items()
    if _other_names(about, known, code) or any(
        _apart(item, known.exclusive.get(key, _NONE)) for key, item in exclusive
    ):
        return True  # another name, or things that are never one another
    texts = [[word for run in runs(dated(text, language))[:_MOST] if (word := fold(run))] for text in (one, other)]
    numbers = [{word for word in words if word[0].isdigit()} for words in texts]
    if numbers[0] != numbers[1] and all(numbers):
        return True
    denials = [_denials(code) & set(words) for words in texts]
    if bool(denials[0]) != bool(denials[1]):
        return True
    relations, names = _relations(code), about.names & known.names
    if _apart(*({relations[word] for word in words if word in relations} for words in texts)):
        return True
    if _apart(*({(n, relations.get(w, "")) for w, n in pairwise(["", *words]) if n in names} for words in texts)):
        return True  # another preposition before the same name
    fillers = fillers_of(code) - _denials(code)
    first, second = ([word for word in words if word not in fillers and not word[0].isdigit()] for words in texts)
    left, places, missing = dict(enumerate(second)), list[int](), 0
    for word in first:
        if (place := next((at for at, said in left.items() if _is_form(word, said, code)), None)) is None:
            missing += 1
        else:
            places.append(place)
            del left[place]
    return bool(missing and left) or places != sorted(places)


@dataclass(frozen=True, slots=True)
class _Content:
    words: frozenset[str]  # folded, without fillers, numbers and negations
    numbers: frozenset[str]
    names: frozenset[str]
    exclusive: Mapping[str, frozenset[str]]  # of concepts whose things are never one another: what is said of each
    denies: bool
    complains: bool  # it says what a person cannot do or stand, which needs no negation


@lru_cache(maxsize=512)
def _content(text: str, code: str) -> _Content:
    spelled, fillers, denials = number_words(code), fillers_of(code), _denials(code)
    names = names_in(text, code)
    said = _CLOCK.sub(_clock, _OWNERS.sub("", dated(text, code)))
    words: set[str] = set()
    numbers: set[str] = set()
    exclusive: dict[str, frozenset[str]] = {}
    denies = complains = False
    for run in runs(said)[:_MOST]:
        word = fold(run)
        digits = _LEADING.match(word)
        if digits or spelled.get(word, -1) >= 0:
            numbers.add(str(int(digits[0]) if digits else spelled[word]))
            continue
        meaning = meaning_of(code, word)
        denies = denies or word in denials
        complains = complains or not meaning.concepts.isdisjoint(_COMPLAINTS)
        for concept in meaning.concepts & EXCLUSIVE:
            groups = {group for group in meaning.groups if group.partition(":")[2].partition(".")[0] == concept}
            exclusive[concept] = exclusive.get(concept, _NONE) | groups
        if day := meaning.concepts & PARTS_OF_THE_DAY:
            exclusive["day"] = exclusive.get("day", _NONE) | day
        if word not in denials and (word not in fillers or meaning.concepts & EXCLUSIVE) and len(word) > 1:
            words.add(word)
    return _Content(frozenset(words), frozenset(numbers), names, exclusive, denies, complains)


def _denies_alone(one: _Content, other: _Content) -> bool:
    """Return whether one sentence denies what the other does not, and the other does not say so in other words."""
    return one.denies and not other.denies and not other.complains


def dated(text: str, language: str) -> str:
    """Return a text in lower case, with the names of months in dates that are in numbers: "22.3." as "22 märz"."""
    months = data_of(code_of(language)).concepts.get("month", ())[:12]

    def with_name(found: re.Match[str]) -> str:
        number = int(found[2])
        return f" {found[1]} {months[number - 1].split()[0].strip('*')} " if 0 < number <= len(months) else found[0]

    return _DATE.sub(with_name, plain(text))


def _clock(found: re.Match[str]) -> str:
    """Return a time of day as numbers without the minutes of a full hour, on a clock of twelve hours."""
    hour, minute = (int(part) for part in re.split("[:.]", found[0]))
    if hour > _HOURS or minute > _MINUTES:
        return found[0]
    return f" {hour % 12 or 12}{minute:02} " if minute else f" {hour % 12 or 12} "


def _apart[T](one: AbstractSet[T], other: AbstractSet[T]) -> bool:
    return bool(one - other) and bool(other - one)


def _other_names(one: _Content, other: _Content, code: str) -> bool:
    """Return whether each sentence has a name, and none is in the other one."""
    names = [name for name in one.names if not any(_is_form(name, word, code) for word in other.words)]
    others = [name for name in other.names if not any(_is_form(name, word, code) for word in one.words)]
    return bool(names) and bool(others) and len(names) == len(one.names)


def _same_speaker(one: str, other: str, code: str) -> bool:
    first, second = runs(plain(one))[:1], runs(plain(other))[:1]
    return first == second and bool(first) and fold(first[0]) in fillers_of(code)


def _name_behind(text: str, title: str, code: str) -> str:
    listed = re.findall(r"[^\W\d_]+", text)
    for word, following in pairwise(listed):
        if _is_form(fold(normalized(word)), title, code) and word[0].isupper() and following[0].isupper():
            return fold(normalized(following))
    return ""


def _has_another_value(new: str, old: str, code: str) -> bool:
    """Return whether two sentences are the same but for the value of something that has one at a time: a size, an age, an address.

    It stands in front of the value, or behind a number: "weighs 32 kilos", "32 years old".
    """
    single, besides = _patterns_of(code)[:2]
    one, other = runs(_OWNERS.sub("", plain(new)))[:_MOST], runs(_OWNERS.sub("", plain(old)))[:_MOST]
    rows = [[fold(run) for run in row] for row in (one, other)]
    begin = _same_from_start(rows[0], rows[1], code)
    end = _same_from_start(rows[0][begin:][::-1], rows[1][begin:][::-1], code)
    values = [row[begin : len(row) - end] for row in rows]
    if not begin or not all(values) or besides.search(" ".join(values[0])):
        return False
    spelled = number_words(code)
    if not set(values[0]).isdisjoint(set(values[1]) - fillers_of(code) - spelled.keys()):  # they differ in two places
        return False
    before, behind = " ".join(one[:begin]), " ".join(one[len(one) - end :])
    if not single.search(before) and not (single.search(behind) and all(value[0][0].isdigit() for value in values)):
        return False
    if bool(_denials(code) & set(values[0])) != bool(_denials(code) & set(values[1])):
        return False
    if rows[0][0] in fillers_of(code) and names_in(new, code) & set(rows[0][:begin]):  # "in Bonn lives Tom"
        return False
    numbers = [any(word[0].isdigit() or word in spelled for word in value) for value in values]
    return numbers[0] == numbers[1] and not any(_is_person(word, code) for value in values for word in value)


def _is_person(word: str, code: str) -> bool:
    return not meaning_of(code, word).concepts.isdisjoint(_PERSONS)


def _same_from_start(one: Sequence[str], other: Sequence[str], code: str) -> int:
    """Return how many words are the same before the first one that is not."""
    same = 0
    for word, known in zip(one, other, strict=False):
        if word != known and stems_of(code, word).isdisjoint(stems_of(code, known)):
            break
        same += 1
    return same


def _is_of_another_thing(new: str, old: str, code: str) -> bool:
    """Return whether nothing but the word "new" says that something has changed, and the older sentence is not of such a thing.

    "Our new cat" says nothing about the dog, and "the new towels" nothing about the blue ones.
    """
    fresh = _patterns_of(code)[2]
    said = plain(new)
    if not (found := fresh.search(said)) or _changes(code).search(fresh.sub(" ", said)):
        return False
    thing = [fold(run) for run in runs(said[found.end() :])[:1]]
    known = [fold(run) for run in runs(_OWNERS.sub("", plain(old)))[:_MOST]]
    fillers = fillers_of(code)
    for place, word in enumerate(known):
        if any(_is_one_thing(one, word, code) for one in thing):
            return place > 0 and known[place - 1] not in fillers and not names_in(old, code) & {known[place - 1]}
    return True


@cache
def _patterns_of(code: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return what finds words for what has one value, words that say that both hold, and "new"."""
    words = data_of(code).memory
    single, besides, fresh = (
        any_word([pattern.replace("ß", "ss") for pattern in patterns])
        for patterns in (words.single, words.besides, words.fresh)
    )
    return single, besides, fresh


@lru_cache(maxsize=512)
def _said(text: str, code: str) -> _Said:
    data, said = data_of(code), plain(text)
    changes = _changes(code)
    rest = changes.sub(" ", said)
    first = changes.search(said)
    fillers = fillers_of(code)
    listed = [word for run in runs(rest) if (word := fold(run)) not in fillers and (len(word) > 1 or word.isdigit())]
    kinds = {"clock": _CLOCK, "number": _DIGITS, "date": any_word(data.memory.dates), **_frames(code)}
    found = {name for name, pattern in kinds.items() if pattern.search(said)}
    words = tuple(dict.fromkeys(word for word in listed[:_MOST] if not word.isdigit()))
    before_first = [word for run in runs(said[: first.start()]) if (word := fold(run))] if first else []
    begins = first is not None and not [word for word in before_first if word not in fillers]
    return _Said(words, frozenset(found), first is not None, begins and bool(data.memory.changes))


def _is_form(one: str, other: str, code: str) -> bool:
    if one == other or likeness(one, other) >= _ALIKE:
        return True
    return not stems_of(code, one).isdisjoint(stems_of(code, other)) if data_of(code).inflection.endings else False


def _is_one_thing(word: str, known: str, code: str) -> bool:
    """Return whether two words are forms of one, or words for the same: not two compounds with one head ("reading glasses")."""
    if _is_form(word, known, code):
        return True
    shared = meaning_of(code, word).groups & meaning_of(code, known).groups
    return bool(shared) and word[-_HEAD:] != known[-_HEAD:]


@cache
def _changes(code: str) -> re.Pattern[str]:
    listed: Sequence[str] = data_of(code).memory.changes or data_of(ENGLISH).memory.changes
    return any_word(listed)


@cache
def _denials(code: str) -> frozenset[str]:
    """Return folded words that turn a sentence into its opposite."""
    return frozenset(fold(normalized(word)) for word in data_of(code).memory.negations)


@cache
def _relations(code: str) -> Mapping[str, str]:
    """Return folded prepositions, with one for all that say the same."""
    listed = [entry.split() for entry in data_of(code).memory.relations]
    return {fold(normalized(word)): fold(normalized(entry[0])) for entry in listed for word in entry}


@cache
def _frames(code: str) -> Mapping[str, re.Pattern[str]]:
    return {name: any_word(words) for name, words in data_of(code).memory.frames.items()}
