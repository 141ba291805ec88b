"""What the sentences of an answer say was done or is so, and whether the user's words ask for something to be done.

Whether it is true is not decided here: the words only say what a sentence is about (agent/claims.py asks the home). Questions,
offers, conditions and what is in quotation marks say nothing of that kind. English is known beside every language: models
fall back to it.

Nothing here takes longer than a few milliseconds, for any text: of a long text its beginning and its end are read, of a
long sentence as well, and no pattern looks further than that.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
import re

from ..support.nearness import likeness
from ..support.text import fold, is_unspaced, runs, written_digits
from .data import ENGLISH, base_of, code_of, data_of, unit_words

MAX_BEGIN, MAX_END = 6000, 2000  # characters of a text that are read
MAX_SENTENCE = 400  # characters of one sentence
MAX_SENTENCES = 60

_QUOTED = re.compile(r"“[^“”]*”|\"[^\"]*\"|«[^«»]*»|„[^„“”]*[“”]|「[^「」]*」|```.*?```", re.DOTALL)
_MARKUP = re.compile(r"[*_`#>]+")
_SENTENCE = re.compile(r"(?:[^.!?:\n。！？]|[.:](?=\d))+[.!?:\n。！？]*")
_CLAUSE = re.compile(r"(?:[^,;:.!?\n、，；。！？]|[.,:](?=\d))+")
_EDGES = " .!?;:,\n\t—–-。！？、，"
_ASKS = ("?", "？")
_A_REQUEST = 3  # words
_A_CLAUSE = 2  # words
_MAX_WORDS = 60  # of a clause
_A_RUN = 3  # characters of a clause in a script without spaces
_A_WORD = 4  # letters of a word that says something
_FORM = 0.8  # likeness of two forms of a word
_BOTH = 2  # the language and English
_SHOWN_BY = {"made": frozenset[str](), "switched": frozenset({"automation"})}
_PART_NAME = re.compile(r"<(\w+)>")
_NOTHING = re.compile(r"(?!)")
_CLOCK = re.compile(
    r"\b\d{1,2}(?::|\.|h)\d{2}\b(?! ?[°%])|\b\d{1,2} ?(?:h\b|uhr\b|o'clock\b|[ap]\.?m\b)|\d{1,2}[時时点點](?:\d|半|$)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A sentence of an answer that says what was done or what is so."""

    text: str
    """Casefolded, without markup."""
    acts: bool
    """It says that something was done."""
    states: frozenset[str]
    """What it says that things are, or were made: `on`, `off`, `open`, `closed`, `locked`, `unlocked`. Empty where it only denies."""
    numbers: tuple[float, ...]
    """Degrees and percents; empty where it only denies."""
    plain_numbers: tuple[float, ...]
    """All others."""
    shown_by: frozenset[str] | None = None
    """The domains whose states can show that it is true; None for all, none where an automation was made or deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claims:
    said: Sequence[re.Pattern[str]]
    automations: Sequence[tuple[frozenset[str], re.Pattern[str]]]
    """What says that something became of an automation, with the domains whose states show it."""
    wanted: re.Pattern[str]
    """Words of who wants an automation."""
    automation: re.Pattern[str]
    changed: re.Pattern[str]
    """What makes a sentence with that word tell of something new: "is created", "is now called"."""
    fresh: re.Pattern[str]
    """A new one by its words: it may be active already."""
    from_now: re.Pattern[str]
    regular: re.Pattern[str]
    """How often, or that it goes by itself: "every evening"."""
    not_new: re.Pattern[str]
    """What makes it tell of nothing new: plans, examples, what was earlier."""
    done: re.Pattern[str]
    """The whole first sentence that is more than an agreement: "Done." """
    denials: re.Pattern[str]
    """What a claim never has: negations, conditions, what was earlier."""
    denied: re.Pattern[str]
    """The same without "already"."""
    not_now: re.Pattern[str]
    """What makes it tell no state of now: the same without "already", and how something was, or always is."""
    states: Sequence[tuple[str, re.Pattern[str]]]
    looks_back: re.Pattern[str]
    """What makes the user's words about something else than an action of now: history, questions, thanks."""
    requests: re.Pattern[str]
    """Questions that are requests: "can you turn on the light?" """
    agreements: re.Pattern[str]
    thanks: re.Pattern[str]
    """Thanks behind a request are a courtesy; thanks alone are for something that was done."""


def told_in(answer: str, language: str) -> list[Told]:
    """Return the sentences that say what was done or what is so, in their order."""
    patterns = _claims_in(language)
    sentences = list(_sentences(answer))
    finished = _finished(sentences, patterns)
    found: list[Told] = []
    for raw in sentences:
        if raw.endswith(_ASKS):
            continue
        sentence = raw.strip(_EDGES)
        shown_by = _about_automation(sentence, patterns)
        acts = (
            raw is finished
            or shown_by is not None
            or any(
                not item.denials.search(sentence) and any(pattern.search(sentence) for pattern in item.said)
                for item in patterns
            )
        )
        now = _without_answer(sentence, language)
        states: frozenset[str] = frozenset()
        numbers: list[tuple[float, bool]] = []
        if not any(item.not_now.search(now) for item in patterns) and not _CLOCK.search(now):
            states = frozenset(kind for item in patterns for kind, pattern in item.states if pattern.search(now))
            numbers = list(_numbers(now))
        if acts or states or numbers:
            found.append(
                Told(
                    text=sentence,
                    acts=acts,
                    states=states,
                    numbers=tuple(value for value, has_unit in numbers if has_unit),
                    plain_numbers=tuple(value for value, has_unit in numbers if not has_unit),
                    shown_by=shown_by,
                )
            )
    return found


def _about_automation(sentence: str, patterns: Sequence[_Claims]) -> frozenset[str] | None:
    """Return which domains show what is said to have become of an automation, None if nothing is.

    Only what stands before can deny it: what follows is often when the automation runs.
    """
    for item in patterns:
        for shown_by, pattern in item.automations:
            found = pattern.search(sentence)
            if found and not item.denials.search(sentence, 0, found.end()):
                return shown_by
    return None


def wants_automation(text: str, language: str) -> bool:
    """Return whether the user's words may ask for an automation: for something that happens again and again."""
    said = _plain(bounded(text))
    return any(item.wanted.search(said) or item.automation.search(said) for item in _claims_in(language))


def tells_of_change(answer: str, language: str) -> bool:
    """Return whether a sentence tells of an automation as new or changed, in an answer to who wants one."""
    patterns = _claims_in(language)
    for sentence in _news(answer, patterns):
        for item in patterns:
            is_changed = item.automation.search(sentence) and item.changed.search(sentence)
            denials = item.denied if item.fresh.search(sentence) else item.denials
            if is_changed and not denials.search(sentence):
                return True
    return False


def tells_from_now(answer: str, text: str, language: str) -> bool:
    """Return whether a sentence tells what is so from now on, in an answer to the words of who wants an automation.

    What happens every evening is such a thing if the user asked for something that does.
    """
    patterns = _claims_in(language)
    asked = [raw for raw in _sentences(text) if not (raw.endswith(_ASKS) and looks_back(raw, language))]
    is_regular = any(item.regular.search(raw) for raw in asked for item in patterns)
    for sentence in _news(answer, patterns):
        for item in patterns:
            found = item.from_now.search(sentence)
            if found and not item.denials.search(sentence, 0, found.end()):
                return True
            found = item.regular.search(sentence) if is_regular else None
            if found:
                behind = sentence[found.end() :].partition(",")[0]  # what follows a comma is often when it happens
                if not item.denials.search(sentence[: found.end()] + behind):
                    return True
    return False


def _news(answer: str, patterns: Sequence[_Claims]) -> Iterator[str]:
    """Yield the sentences that neither ask nor tell of a plan or of what was earlier."""
    for raw in _sentences(answer):
        sentence = raw.strip(_EDGES)
        if not raw.endswith(_ASKS) and not any(item.not_new.search(sentence) for item in patterns):
            yield sentence


def answers_with_less(answer: str, language: str) -> bool:
    """Return whether a sentence asks, denies or sets a condition: then the answer does not say that all was done.

    Also where it is not known how the language denies.
    """
    if base_of(language) != code_of(language) or _claims_of(code_of(language)) is None:
        return True
    patterns = _claims_in(language)
    return any(raw.endswith(_ASKS) or any(item.denials.search(raw) for item in patterns) for raw in _sentences(answer))


def repeats(answer: str, text: str) -> bool:
    """Return whether a sentence of the answer repeats a word of the user, in any form."""
    asked = {
        fold(run) for run in runs(bounded(text, 600, 0)) if len(run) >= _A_WORD or run.isdigit() or is_unspaced(run)
    }
    said = [fold(run) for run in runs(bounded(answer, 600, 0))]
    return any(
        one == other or (len(one) > _A_WORD and likeness(one, other) >= _FORM) for one in asked for other in said
    )


def told_plainly(answer: str, language: str) -> list[str]:
    """Return the sentences about the present, for a language without words for states."""
    patterns = _claims_in(language)
    if any(claims.states for claims in (_claims_of(code_of(language)),) if claims) or len(patterns) < _BOTH:
        return []
    plain = [_without_answer(raw.strip(_EDGES), language) for raw in _sentences(answer) if not raw.endswith(_ASKS)]
    return [
        text for text in plain if not _CLOCK.search(text) and not any(item.not_now.search(text) for item in patterns)
    ]


def numbers_in(text: str) -> list[float]:
    """Return the numbers of a text, those of clocks left out."""
    return [value for value, _ in _numbers(_CLOCK.sub(" ", _plain(bounded(text))))]


def looks_back(text: str, language: str) -> bool:
    """Return whether the user asks, thanks or talks about earlier: an answer may then tell of what was done before."""
    said, patterns = _plain(bounded(text)), _claims_in(language)
    for item in patterns:
        if len((asked := item.thanks.sub("", said)).split()) >= _A_REQUEST:
            said = asked
    if said.endswith(_ASKS) and not any(item.requests.search(said) for item in patterns):
        return True
    return any(item.looks_back.search(said) for item in patterns)


def asks_for_action(text: str, language: str) -> bool:
    """Return whether a part of the user's words asks for something to be done, as far as words can tell.

    "Great, now lock the door" does, though "great" thanks; of a question only what stands last can ask for it, and behind "did
    you lock the door and" nothing does.
    """
    return not all(
        looks_back(part, language) and looks_back(_joined_parts(part, language)[0], language) for part in clauses(text)
    )


def parts_of(text: str, language: str) -> list[str]:
    """Return a text and the parts of it that may be requests of their own."""
    found = clauses(text)
    if not found or found[0].endswith(_ASKS):
        return found
    return list(dict.fromkeys([*found, *(joined for part in found[-1:] for joined in _joined_parts(part, language))]))


def _joined_parts(clause: str, language: str) -> list[str]:
    """Return what stands between the words that join requests; the clause itself where it is a question."""
    words = {word for code in (code_of(language), ENGLISH) for word in data_of(code).claims.joins}
    parts: list[list[str]] = [[]]
    for word in clause.split()[:_MAX_WORDS]:
        if word.casefold() in words:
            parts.append([])
        else:
            parts[-1].append(word)
    whole = [" ".join(part) for part in parts if len(part) >= _A_CLAUSE]
    return whole if whole and not clause.endswith(_ASKS) else [clause]


def has_words(language: str) -> bool:
    """Return whether it is known how the language says that something was done."""
    return _claims_of(code_of(language)) is not None and bool(data_of(language).claims.said)


def clauses(text: str) -> list[str]:
    """Return a text and its parts between commas and stops that are more than an interjection; the last keeps its question mark.

    Of a question only the last part is returned beside the whole.
    """
    said = bounded(text, 600, 400).strip()
    mark = "?" if said.endswith(_ASKS) else ""
    parts = [part.strip() for part in _CLAUSE.findall(said)]
    long = [part for part in parts if len(part.split()) >= _A_CLAUSE or (is_unspaced(part) and len(part) >= _A_RUN)]
    last = [f"{part}{mark}" for part in long[-1:]]
    return list(dict.fromkeys([said, *(last if mark else [*long[:-1], *last])]))[:12]


def bounded(text: str, begin: int = MAX_BEGIN, end: int = MAX_END) -> str:
    """Return a text that is not too long, or its beginning and its end."""
    return text if len(text) <= begin + end else f"{text[:begin]}\n{text[-end:]}"


def _sentences(answer: str) -> Iterator[str]:
    plain = _plain(_QUOTED.sub(" ", bounded(answer)))
    found = [part for part in _SENTENCE.findall(plain) if part.strip(_EDGES)]
    if len(found) > MAX_SENTENCES:
        found[MAX_SENTENCES // 2 : -MAX_SENTENCES // 2] = []
    for part in found:
        sentence = part.strip()
        long = len(sentence) > MAX_SENTENCE
        yield f"{sentence[: MAX_SENTENCE // 2]} {sentence[-MAX_SENTENCE // 2 :]}" if long else sentence


def _finished(sentences: Sequence[str], patterns: Sequence[_Claims]) -> str | None:
    """Return the first sentence that is more than an agreement, if it says that all is done."""
    for raw in sentences:
        sentence = raw.strip(_EDGES)
        if any(item.agreements.fullmatch(sentence) for item in patterns):
            continue
        done = any(item.done.fullmatch(sentence) and not item.denials.search(sentence) for item in patterns)
        parts = [part.strip() for part in _CLAUSE.findall(sentence)]
        if not done and len(parts) > 1:  # "done, good night"
            rest = [part for part in parts if not any(item.agreements.fullmatch(part) for item in patterns)]
            done = bool(rest) and any(
                item.done.fullmatch(rest[0]) and not item.denials.search(sentence) for item in patterns
            )
        return raw if done and not raw.endswith((":", *_ASKS)) else None
    return None


def _without_answer(sentence: str, language: str) -> str:
    """Return a sentence without the yes or no that it begins with: "no, the door is locked" says that it is."""
    head, comma, rest = sentence.partition(",")
    for mark in ("，", "、"):
        if not comma:
            head, comma, rest = sentence.partition(mark)
    return rest.strip() if comma and head.strip() in _answers(code_of(language)) else sentence


@cache
def _answers(code: str) -> frozenset[str]:
    own, english = data_of(code), data_of(ENGLISH)
    listed = (*own.yes, *own.no, *own.courtesies, *english.yes, *english.no)
    return frozenset(word.casefold() for word in listed)


@cache
def _number() -> re.Pattern[str]:
    units = unit_words()
    return re.compile(
        rf"(?<![\d.,:])(\d{{1,3}}(?:[.,]\d{{1,2}})?)(?![\d:.,]*\d)\s{{0,2}}([°º℃℉%％]|{units['%']}|{units['°']})?"
    )


def _numbers(text: str) -> Iterator[tuple[float, bool]]:
    """Yield the numbers of a sentence, and whether each has a unit of what is set."""
    for found in _number().finditer(text):
        digits = "".join(written_digits(sign) or "." for sign in found[1])
        yield float(digits), found[2] is not None


def _plain(text: str) -> str:
    return _MARKUP.sub("", text).replace("’", "'").casefold().strip()


def _claims_in(language: str) -> list[_Claims]:
    codes = dict.fromkeys((code_of(language), ENGLISH))  # models fall back to English in any language
    return [claims for code in codes if (claims := _claims_of(code)) is not None]


@cache
def _claims_of(code: str) -> _Claims | None:
    words = data_of(code).claims
    if not words.denials:
        return None
    starts = f"|^(?:{'|'.join(words.earlier_at_start)})\\b" if words.earlier_at_start else ""
    thanks = rf"(?<=\w)[\s,.!;–-]{{1,9}}(?:{'|'.join(words.thanks)})[\s.!]{{0,9}}$"
    still = [word for word in words.denials if word not in words.already]
    about = words.automations
    kept = [
        filled(f"<{part}>", words.parts)
        for part in ("kept", "kept_by_me", "toggled", "toggled_by_me")
        if part in words.parts
    ]
    automation = filled(r"\b<automation>", words.parts) if "automation" in words.parts else ""
    return _Claims(
        wanted=any_word(about.get("wanted", ())),
        automation=re.compile(automation) if automation else _NOTHING,
        fresh=re.compile(rf"{any_word(about['new']).pattern} {automation}") if about.get("new") else _NOTHING,
        changed=any_word([*about.get("new", ()), *kept]),
        from_now=any_word(about.get("from_now", ())),
        regular=any_word(about.get("regular", ())),
        not_new=any_word(about.get("not_new", ())),
        said=[re.compile(filled(pattern, words.parts)) for pattern in words.said],
        automations=[
            (shown_by, re.compile(filled(pattern, words.parts)))
            for kind, shown_by in _SHOWN_BY.items()
            for pattern in words.automations.get(kind, ())
        ],
        done=re.compile("|".join(filled(f"(?:{pattern})", words.parts) for pattern in words.done) or "(?!)"),
        denials=any_word(words.denials),
        denied=any_word(still),
        not_now=any_word((*still, *words.not_now)),
        states=[(kind, re.compile("|".join(listed))) for kind, listed in words.states.items()],
        looks_back=re.compile(f"{any_word(words.earlier).pattern}{starts}"),
        requests=re.compile(words.requests) if words.requests else _NOTHING,
        agreements=re.compile("|".join(words.agreements)) if words.agreements else _NOTHING,
        thanks=re.compile(thanks) if words.thanks else _NOTHING,
    )


def any_word(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return what finds one of these as a word; in a script without spaces words have no edges."""
    whole = [pattern for pattern in patterns if not is_unspaced(pattern)]
    inside = [pattern for pattern in patterns if is_unspaced(pattern)]
    return re.compile("|".join([*([rf"(?<!\w)(?:{'|'.join(whole)})(?!\w)"] if whole else []), *inside]) or "(?!)")


def filled(pattern: str, parts: Mapping[str, str | Sequence[str]]) -> str:
    """Return a pattern with the named parts in the places of their names; several alternatives are one group."""

    def part(match: re.Match[str]) -> str:
        named = parts[match[1]]
        return named if isinstance(named, str) else f"(?:{'|'.join(named)})"

    return _PART_NAME.sub(part, pattern)
