"""Tables of words as they are used: a row per thing, a column per language, words with commas between."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .words import fold, runs

_FAR = 5  # letters of a word of a third language that counts: short ones mean something else here


def names_in(base: str, languages: Sequence[str], rows: Iterable[Sequence[str]]) -> Mapping[str, frozenset[str]]:
    """Return what else places or things are called, by each of their names in a language."""
    places: dict[str, frozenset[str]] = {}
    for row in rows:
        by_language = {code: set(listed_in(listed)) for code, listed in zip(languages, row, strict=True)}
        near = by_language.get(base, set()) | by_language["en"]
        far = {name for names in by_language.values() for name in names if len(name) >= _FAR}
        for name in by_language.get(base, by_language["en"]):
            places[name] = places.get(name, frozenset()) | near | far
    return places


def listed_in(listed: str) -> Iterator[str]:
    """Yield the words or phrases of a cell."""
    return filter(None, map(phrase_of, listed.split(",")))


def phrase_of(text: str) -> str:
    """Return the words of a text, folded."""
    return " ".join(fold(run) for run in runs(text))
