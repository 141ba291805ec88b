"""What a language calls the kinds of things in a home, and which of its words say nothing about them.

Three sources, the surest first: what people say as our data file of the language has it, Home Assistant's translations of domains, device
classes, states and attributes, and the sentences that Home Assistant understands. English is known beside every language.

In languages that decline words, a word may be cut at each ending that its language has: "света" is "свет", "okien" is "okno". Two
words are forms of one if something is left that they have in common.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
import itertools

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.translation import async_get_translations

from ..support.nearness import likeness
from ..support.text import fold, is_unspaced, normalized, runs
from .data import ENGLISH, Inflection, all_data, base_of, data_of
from .intent_words import SentenceWords, sentence_words

type Kinds = Mapping[str, float]
"""Kind of entity (`light`, `cover.blind`, `.temperature`) to how sure it is, 0 to 1."""

MAX_LANGUAGES = 6  # kept at a time
MAX_REMEMBERED = 2000  # words
LOAD_TIMEOUT = 20.0  # seconds; translations are read from disk

_VERB = 0.8
_BESIDE_CLASS = 0.75
_CLASS_OF = {".tv": "media_player", ".speaker": "media_player"}
_FALLBACK = 0.8  # what an English word counts in another language
_ATTRIBUTE = 0.5  # "brightness" says light, but not as surely as "lamp"
_STATE = 0.35
_CLASS_STATE = 0.7  # "charging", "wet": few classes have such a state
_OF_SEVERAL = 0.6  # "carbon" of "carbon monoxide"
_FORM = 0.88  # likeness of two forms of one word
_ENDING = 2  # letters that a form of a noun may be longer
_TELLING = 4  # letters of a word that says something by itself
_BINARY = 0.85  # a sensor of either sort is a sensor
_FAR = 5  # letters of a word of a third language that counts: short ones mean something else here
_LONG_ENOUGH = 3  # letters of a word for a thing
_PART = 0.85  # "Küchenlicht" ends in a word for lights
_SENTENCE = 0.9
_DECLINED = 0.95  # "света" is "свет", but now and then two nouns share a form

type Stems = tuple[frozenset[str], ...]
"""Of each word of a phrase."""

_LEAST_STEM = 3  # letters: what is left of a word must still tell it from others
_LEAST_NAMED = 4  # the same where it may be any word that the home has

_VOWELS = frozenset("aeiouyаеиоуыэюяіъ")


class Forms:
    """Words and phrases of a language, found again in any of their forms."""

    def __init__(self, base: str = "", phrases: Iterable[str] = (), *, adjectives: bool = False) -> None:
        """Take folded words, or several with spaces between; `base` is the code of the language without a region.

        With `adjectives` those that are made of a word count as its forms as well.
        """
        self._base = base
        self._said = roots_of if adjectives else stems_of
        self._by_stem: dict[str, list[tuple[str, Stems]]] = {}
        for phrase in sorted(phrases) if _rules(base).endings else ():
            stems = tuple(stems_of(base, word) for word in phrase.split())
            for stem in stems[0]:
                self._by_stem.setdefault(stem, []).append((phrase, stems))

    def of(self, word: str) -> list[str]:
        """Return the single words that a folded word is a form of; maybe itself among them."""
        return [phrase for length, phrase in self.starting([word], 0) if length == 1]

    def starting(self, spoken: Sequence[str], start: int) -> Iterator[tuple[int, str]]:
        """Yield what a text says from one of its folded words on: how many words, and the word or phrase."""
        if not self._by_stem:
            return
        seen: set[str] = set()
        for stem in sorted(self._said(self._base, spoken[start])):
            for phrase, stems in self._by_stem.get(stem, ()):
                said = zip(spoken[start : start + len(stems)], stems, strict=False)
                if phrase in seen or start + len(stems) > len(spoken):
                    continue
                if not any(wanted.isdisjoint(self._said(self._base, word)) for word, wanted in said):
                    seen.add(phrase)
                    yield len(stems), phrase


@lru_cache(maxsize=16384)
def stems_of(base: str, word: str) -> frozenset[str]:
    """Return what may be left of a folded word without its ending; the word alone where its language declines little."""
    rules = _rules(base)
    stems = _with_short({word, *(word.removesuffix(end) for end in rules.endings)}, rules)
    for one, other in rules.same_sounds:
        stems = {stem.replace(one, other) for stem in stems}
    return frozenset(stems) or frozenset({word})


@lru_cache(maxsize=16384)
def roots_of(base: str, word: str) -> frozenset[str]:
    """Return the stems of a folded word, and of the nouns that it may be an adjective of."""
    stems, rules = stems_of(base, word), _rules(base)
    cut = {stem.removesuffix(end) for stem in stems for end in rules.adjective_endings if stem.endswith(end)}
    return stems.union(_with_short(cut, rules))


@lru_cache(maxsize=16384)
def keys_of(base: str, word: str) -> frozenset[str]:
    """Return what a folded word and its other forms have in common; the word itself is among it."""
    if word.isdigit():
        return frozenset({word})
    if _rules(base).endings:
        return stems_of(base, word) | {word}
    ends = tuple(data_of(base).plurals) or ("s", "es")
    return frozenset({word, *(word[: -len(end)] for end in ends if word.endswith(end) and len(word) - len(end) > 2)})


def forms_of(base: str, word: str) -> Iterator[str]:
    """Yield what a folded word may be called in another form: hundreds of them, few of which exist."""
    rules = _rules(base)
    for stem in roots_of(base, word) if rules.endings else ():
        if len(stem) >= _LEAST_NAMED:
            yield stem
            yield from (stem + end for end in rules.endings)
            yield from (stem[:-1] + vowel + stem[-1] for vowel in rules.fleeting_vowels)


@lru_cache(maxsize=32)
def _rules(base: str) -> Inflection:
    rules = data_of(base).inflection
    return replace(rules, endings=tuple(dict.fromkeys(fold(normalized(end)) for end in rules.endings)))


def _with_short(stems: set[str], rules: Inflection) -> set[str]:
    """Return the stems that are long enough, each also without the vowel that stands before its last consonant."""
    short = set(stems)
    for stem in stems:
        for vowel in rules.fleeting_vowels:
            before = stem[: -len(vowel) - 1]
            if len(before) > 1 and stem[-len(vowel) - 1 : -1] == vowel and not {before[-1], stem[-1]} & _VOWELS:
                short.add(before + stem[-1])
                break
    return {stem for stem in short if len(stem) >= _LEAST_STEM}


@dataclass(frozen=True)
class Language:
    """The words of one language; all folded."""

    code: str = ""
    kinds: Mapping[str, Kinds] = field(default_factory=dict)
    """What a word, or several with spaces between, is called."""
    asking: Mapping[str, float] = field(default_factory=dict)
    """How much a word asks (1) rather than orders (-1)."""
    fillers: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()
    """Words of everyday requests: each means itself, never a name that looks like it."""
    everything: frozenset[str] = frozenset()
    places: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """A room as it is called, to what else it is called, in this language and in others."""
    any_room: frozenset[str] = frozenset()
    """Words in the names of rooms that say only that it is one, of all languages."""
    nouns: frozenset[str] = frozenset()
    """The words that name a kind; the others point to it."""
    forms: Forms = field(default_factory=Forms, repr=False)
    """Names of kinds and words for what they do, in all forms."""
    place_forms: Forms = field(default_factory=Forms, repr=False)
    things: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """A thing as it is called, to the single words of what else it is called, in this language and in others."""
    thing_forms: Forms = field(default_factory=Forms, repr=False)
    _known: dict[str, Kinds] = field(default_factory=dict, repr=False, compare=False)

    def kinds_of(self, word: str) -> Kinds:
        """Return what kinds a folded word may stand for: as it is, in another form, or as part of a compound."""
        if (known := self.kinds.get(word)) is not None:
            return known
        if (known := self._known.get(word)) is None:
            if len(self._known) >= MAX_REMEMBERED:
                self._known.clear()
            known = self._known[word] = self._look(word)
        return known

    def is_noun(self, word: str) -> bool:
        """Return whether a folded word names a kind: a noun, a form of one, or a compound that ends in one."""
        if word in self.nouns:
            return True
        if word in self.kinds or word in self.fillers:
            return False
        if any(form in self.nouns for form in self.forms.of(word)):
            return True
        forms = (noun for noun in self._by_start.get(word[:3], ()) if noun in self.nouns)
        return any(likeness(word, noun) >= _FORM for noun in forms) or bool(self.noun_at_end(word)[1])

    def noun_at_end(self, word: str) -> tuple[int, str]:
        """Return the place and the text of the longest noun for a kind at the end of a folded compound, in any form."""
        for cut in range(_ENDING + 1):
            end = word[: len(word) - cut]
            nouns = (n for n in self._long_nouns.get(end[-3:], ()) if len(n) + 2 < len(end) and end.endswith(n))
            if noun := max(nouns, key=len, default=""):
                return len(end) - len(noun), noun
        return 0, ""

    def nouns_for(self, kind: str) -> list[str]:
        """Return the single words that name a kind."""
        return self._nouns_for.get(kind, [])

    def rooms(self, spoken: list[str]) -> Iterator[tuple[int, int, frozenset[str]]]:
        """Yield the rooms in a text: first word, how many, what else it is called."""
        for length in range(1, 5):
            for start in range(len(spoken) - length + 1):
                if others := self._room(" ".join(spoken[start : start + length])):
                    yield start, length, others
        for start in range(len(spoken)):
            for length, name in self.place_forms.starting(spoken, start):
                yield start, length, self.places[name]

    def _room(self, said: str) -> frozenset[str]:
        """Return what else a room is called, also in another form: "kökets" for "köket"."""
        if (found := self.places.get(said)) is None and " " not in said and len(said) > _TELLING:
            forms = sorted(name for name in self.places if name[:3] == said[:3] and likeness(name, said) >= _FORM)
            found = self.places.get(next(iter(forms), ""))
        return found or frozenset()

    def other_names(self, spoken: list[str]) -> Iterator[tuple[int, int, frozenset[str]]]:
        """Yield the things in a text: first word, how many, words of what else they are called."""
        for start in range(len(spoken)):
            for length in range(1, min(4, len(spoken) - start) + 1):
                if others := self.things.get(" ".join(spoken[start : start + length])):
                    yield start, length, others
            for length, name in self.thing_forms.starting(spoken, start):
                yield start, length, self.things[name]
            if (said := spoken[start]) not in self.things and len(said) > _TELLING:
                near = (name for name in self._things_by_start.get(said[:3], ()) if likeness(name, said) >= _FORM)
                for name in itertools.islice(near, 1):  # "oppvaskmaskinen" is a form of "oppvaskmaskin"
                    yield start, 1, self.things[name]

    def names_thing(self, spoken: list[str]) -> bool:
        """Return whether one of the folded words, or several, names what a home has: a kind, a room or a thing."""
        return (
            any(self.is_noun(word) for word in spoken)
            or any(word for run in spoken if is_unspaced(run) for word, _ in self.inside(run))
            or any(name for run in spoken if is_unspaced(run) for name in self.named_inside(run))
            or next(self.rooms(spoken), None) is not None
            or next(self.other_names(spoken), None) is not None
        )

    def phrases(self, spoken: list[str]) -> Iterator[tuple[int, int, Kinds]]:
        """Yield the kinds named by several words of a text: first word, how many, kinds."""
        for length in range(2, self._longest + 1):
            for start in range(len(spoken) - length + 1):
                if kinds := self.kinds.get(" ".join(spoken[start : start + length])):
                    yield start, length, kinds
        for start in range(len(spoken)):
            for length, phrase in self.forms.starting(spoken, start):
                if length > 1:
                    yield start, length, self.kinds[phrase]

    def inside(self, run: str) -> Iterator[tuple[str, Kinds]]:
        """Yield the words for kinds inside a run of a script without spaces, the longest at each place."""
        start = 0
        while start < len(run):
            for end in range(min(len(run), start + 8), start, -1):
                if kinds := self.kinds.get(run[start:end]):
                    yield run[start:end], kinds
                    start = end - 1
                    break
            start += 1

    def named_inside(self, run: str) -> Iterator[str]:
        """Yield the rooms and things inside a folded run of a script without spaces, the longest at each place."""
        start = 0
        while start < len(run):
            ends = range(min(len(run), start + self._longest_name), start, -1)
            end = next((end for end in ends if run[start:end] in self.places or run[start:end] in self.things), start)
            if end > start:
                yield run[start:end]
            start = max(end, start + 1)

    def has_everything(self, spoken: list[str]) -> bool:
        """Return whether one of the folded words means all of something."""
        return any(
            word in self.everything or (any(part in word for part in self.everything) and is_unspaced(word))
            for word in spoken
        )

    def _look(self, word: str) -> Kinds:
        if forms := self.forms.of(word):
            return _declined({}, (self.kinds[form] for form in forms))
        best: Kinds = {}
        sure = 0.0
        for other in self._by_start.get(word[:3], ()):
            if (how_much := likeness(word, other)) > max(sure, 0.79):
                best, sure = self.kinds[other], how_much
        if not best:
            for noun in (*self._long_nouns.get(word[-3:], ()), *self._by_start.get(word[:3], ())):
                is_part = word.endswith(noun) or (noun in self.nouns and len(noun) > 4 and word.startswith(noun))
                if is_part and len(noun) > sure:
                    best, sure = self.kinds[noun], float(len(noun))
            sure = _PART
        return {kind: weight * sure for kind, weight in best.items()}

    @cached_property
    def base(self) -> str:
        """Return the code without a region."""
        return base_of(self.code)

    @cached_property
    def _nouns_for(self) -> Mapping[str, list[str]]:
        table: dict[str, list[str]] = {}
        for noun in self.nouns:
            for kind, weight in self.kinds.get(noun, {}).items():
                if weight >= 1 and " " not in noun:
                    table.setdefault(kind, []).append(noun)
        return table

    @cached_property
    def _longest(self) -> int:
        return min(4, max((phrase.count(" ") + 1 for phrase in self.kinds), default=1))

    @cached_property
    def _by_start(self) -> Mapping[str, list[str]]:
        return _grouped(word for word in self.kinds if len(word) > 2 and not is_unspaced(word))

    @cached_property
    def _things_by_start(self) -> Mapping[str, list[str]]:
        return _grouped(name for name in sorted(self.things) if len(name) > _TELLING and not is_unspaced(name))

    @cached_property
    def _longest_name(self) -> int:
        return max((len(name) for name in (*self.places, *self.things)), default=1)

    @cached_property
    def _long_nouns(self) -> Mapping[str, list[str]]:
        return _grouped((word for word in self.nouns if len(word) > 3), at_end=True)


def _grouped(words: Iterable[str], *, at_end: bool = False) -> dict[str, list[str]]:
    """Return single words by their first three letters, or their last."""
    table: dict[str, list[str]] = {}
    for word in words:
        if " " not in word:
            table.setdefault(word[-3:] if at_end else word[:3], []).append(word)
    return table


NO_LANGUAGE = Language()


class Languages:
    """Languages as they are needed; loaded in the executor, the last few kept."""

    def __init__(self, hass: HomeAssistant, domains: Collection[str]) -> None:
        """Take the domains whose names, classes and states in Home Assistant's translations are words for them."""
        self._hass = hass
        self._domains = domains
        self._loaded: OrderedDict[tuple[str, str], Language] = OrderedDict()
        """By code, and the code of the language that the home is set to: its rooms and things are named in that."""
        self._lock = asyncio.Lock()

    async def async_get(self, code: str) -> Language:
        """Return a language by its code (`de`, `pt-BR`); an unknown one has English words. Never raises."""
        key = code, base_of(self._hass.config.language)
        if (language := self._loaded.get(key)) is None:
            async with self._lock:
                if (language := self._loaded.get(key)) is None:
                    language = self._loaded[key] = await self._async_load(*key)
                while len(self._loaded) > MAX_LANGUAGES:
                    self._loaded.popitem(last=False)
        self._loaded.move_to_end(key)
        return language

    async def _async_load(self, code: str, home: str) -> Language:
        translated: dict[str, str] = {}
        try:
            async with asyncio.timeout(LOAD_TIMEOUT):
                for category in ("title", "entity_component"):
                    translated |= await async_get_translations(self._hass, code, category, self._domains)
        except HomeAssistantError, TimeoutError, OSError:
            translated = {}  # the sentences and the table are enough
        return await self._hass.async_add_executor_job(language_of, code, translated, home)


def language_of(code: str, translated: Mapping[str, str], home: str = ENGLISH) -> Language:
    """Return a language from its data, its sentences and Home Assistant's translations. Reads files.

    `home` is the code, without a region, of the language that the home is set to.
    """
    base = base_of(code)
    own, everywhere = data_of(base), all_data()
    sentences = _sentences(code)
    kinds = _named_kinds(own.synonyms, own.plurals)
    nouns = set(kinds)
    names = set(kinds)  # the surest nouns, which no number of sentences makes a filler
    for word, kind in _rows(own.verbs):
        _raise(kinds, word, {kind: _VERB})
    for word, kind, weight in _translations(translated):
        _raise(kinds, word, {kind: weight})
        # Home Assistant has titles in English where they are not translated: "fan" is no fan in Welsh, but a place
        known = sentences.kinds.get(word, {})
        if weight == 1.0 and 2 * known.get(kind, 0.0) >= max(known.values(), default=0.0):
            nouns.add(word)
            if "." not in kind:
                names.add(word)
    told = set(kinds)
    for word, known in sentences.kinds.items():
        _raise(kinds, word, {kind: weight * _SENTENCE for kind, weight in known.items()})
    forms = Forms(base, names)
    fillers = {word for word in sentences.fillers - names if not forms.of(word)} | set(_phrases(own.fillers))
    kinds = {word: known for word, known in kinds.items() if word in names or not fillers.issuperset(word.split())}
    everything = frozenset(_phrases((*own.everything, *everywhere[ENGLISH].everything)))
    nouns = (nouns | sentences.nouns) & kinds.keys() - everything
    told &= kinds.keys()
    forms = Forms(base, told | nouns)
    declined = {word: forms.of(word) for word in kinds if " " not in word}
    kinds |= {word: _declined(kinds[word], (kinds[noun] for noun in of)) for word, of in declined.items() if of}
    nouns |= {word for word, of in declined.items() if not nouns.isdisjoint(of)}
    for word in nouns:
        if kinds[word].get("sensor", 0.0) > _BINARY:
            _raise(kinds, word, {"binary_sensor": _BINARY})
    if base != ENGLISH:
        for word, kind in _rows(everywhere[ENGLISH].synonyms):
            if word not in nouns | sentences.fillers:
                _raise(kinds, word, {kind: _FALLBACK})
    places = _other_names(base, home, {code: data.rooms for code, data in everywhere.items()})
    things = _things(base, home)
    return Language(
        code=code,
        kinds=kinds,
        asking=sentences.asking,
        fillers=frozenset(fillers),
        common=frozenset(sentences.kinds) | frozenset(sentences.asking),
        everything=everything,
        places=places,
        any_room=frozenset(word for data in everywhere.values() for word in _phrases(data.room_words)),
        nouns=frozenset(nouns),
        forms=forms,
        place_forms=Forms(base, places, adjectives=True),
        things=things,
        thing_forms=Forms(base, things),
    )


def _things(base: str, home: str) -> dict[str, frozenset[str]]:
    """Return what devices are called, with what the same is called in the other languages: single words that say enough."""
    tables = {code: data.things for code, data in all_data().items()}
    for code in {ENGLISH, base, home} & tables.keys():  # words that tell each from the others: "coffee machine"
        usual = {
            key: [word for word in phrase_of(names[0]).split() if len(word) >= _TELLING]
            for key, names in tables[code].items()
        }
        often = Counter(word for words in usual.values() for word in words)
        own = {key: [word for word in words if often[word] == 1] or words for key, words in usual.items()}
        tables[code] = {key: [*names, *own[key]] for key, names in tables[code].items()}
    found = _other_names(base, home, tables)
    plain = {other for others in found.values() for other in others if " " not in other}
    telling = {other for other in plain if len(other) >= _LONG_ENOUGH or is_unspaced(other)}
    return {name: others & telling for name, others in found.items()}


def _declined(known: Kinds, nouns: Iterable[Kinds]) -> dict[str, float]:
    """Return what a word stands for that is a form of these nouns: what it is known to stand for, and what they do."""
    found = dict(known)
    for noun in nouns:
        for kind, sure in noun.items():
            found[kind] = max(found.get(kind, 0.0), _DECLINED * sure)
    return found


def _named_kinds(table: Mapping[str, Sequence[str]], plurals: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return what our own table calls what; the class first: "telly" is another media player only where none is a TV.

    Several are of the kinds of one: "doors" are locked as a door is, also where the table has them for sensors alone.
    """
    kinds: dict[str, dict[str, float]] = {}
    for word, kind in _rows(table):
        kinds.setdefault(word, {})[kind] = 1.0
    for known in kinds.values():
        domains = {kind.partition(".")[0] or _CLASS_OF.get(kind, "") for kind in known if "." in kind}
        known |= dict.fromkeys(domains & known.keys(), _BESIDE_CLASS)
    ones = {word: [kinds[one] for end in plurals if (one := word.removesuffix(end)) in kinds] for word in kinds}
    return {word: _declined(known, ones[word]) for word, known in kinds.items()}


def _sentences(code: str) -> SentenceWords:
    for name in dict.fromkeys((code, *_OTHER_NAMES.get(code, ()), code.split("-", maxsplit=1)[0])):
        if found := sentence_words(name):
            return found
    return SentenceWords()


_OTHER_NAMES = {
    "zh-Hans": ("zh-CN",), "zh": ("zh-CN",), "zh-Hant": ("zh-TW",), "no": ("nb",), "nn": ("nb",), "sr": ("sr-Latn",),
    "pt-br": ("pt-BR",), "zh-cn": ("zh-CN",), "zh-hk": ("zh-HK",), "zh-tw": ("zh-TW",), "es-419": ("es",),
}  # fmt: skip


def _raise(kinds: dict[str, dict[str, float]], word: str, more: Kinds) -> None:
    known = kinds.setdefault(word, {})
    for kind, weight in more.items():
        known[kind] = max(known.get(kind, 0.0), weight)


def _other_names(base: str, home: str, tables: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, frozenset[str]]:
    """Return what else rooms or things are called, by each of their names in a language.

    Devices keep the English names that they were sold with in homes where no one speaks English, one person says "lounge"
    where the other says "living room", and a guest asks in a language that nothing in the home is named in.
    """
    own = base if tables.get(base) else ENGLISH
    found: dict[str, frozenset[str]] = {}
    for key in tables[ENGLISH]:
        names = {code: set(_phrases(table.get(key, ()))) for code, table in tables.items()}
        far = {name for listed in names.values() for name in listed if len(name) >= _FAR or is_unspaced(name)}
        for name in names[own]:
            found[name] = found.get(name, frozenset()) | names[own] | names[ENGLISH] | names.get(home, set()) | far
    return found


def _rows(table: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    for kind, listed in table.items():
        for word in _phrases(listed):
            yield word, kind


def _phrases(listed: Iterable[str]) -> Iterator[str]:
    return filter(None, map(phrase_of, listed))


def phrase_of(text: str) -> str:
    """Return the words of a text, folded."""
    return " ".join(fold(run) for run in runs(text))


def _translations(translated: Mapping[str, str]) -> Iterable[tuple[str, str, float]]:
    """Yield (phrase, kind, weight) from translation keys such as `component.cover.entity_component.blind.name`."""
    for key, text in translated.items():
        match key.split("."):
            case ["component", domain, "title"]:
                kind, weight = domain, 1.0
            case ["component", domain, "entity_component", "_", "name"]:
                kind, weight = domain, 1.0
            case ["component", domain, "entity_component", class_, "name"]:
                kind, weight = f"{domain}.{class_}", 1.0
            case ["component", domain, "entity_component", "_", "state_attributes", _, "name"]:
                kind, weight = domain, _ATTRIBUTE
            case ["component", domain, "entity_component", "_", "state", _]:
                kind, weight = domain, _STATE
            case ["component", domain, "entity_component", class_, "state", _]:
                kind, weight = f"{domain}.{class_}", _CLASS_STATE
            case _:
                continue
        if phrase := phrase_of(text):
            yield phrase, kind, weight
            for word in phrase.split():
                if word != phrase and len(word) >= _TELLING:
                    yield word, kind, weight * _OF_SEVERAL
