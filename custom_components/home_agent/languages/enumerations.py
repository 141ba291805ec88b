"""What is said of several things at once: the items of an enumeration, and whether they are not to be put on a list."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
import re

from ..support.text import MAX_TEXT
from .data import code_of, data_of
from .phrases import is_order

MAX_ITEMS = 20


def parts_of(text: str, joins: Sequence[str]) -> list[str]:
    """Return the parts of a sentence between commas and words like "and"."""
    words = "|".join(re.escape(word) for word in joins)
    split = rf"\s*,\s*(?:(?:{words})\s+)?|\s+(?:{words})\s+" if words else r"\s*,\s*"
    said = " ".join(text.strip(" .!").split())  # a long run of spaces would be read from each of them
    return [part for part in re.split(split, said, flags=re.IGNORECASE) if part.strip()]


def cuts_of(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield a sentence as two parts, cut at each comma or word that joins more to what is wanted, without these words."""
    said = " ".join(text[:MAX_TEXT].strip(" .!").split())
    for found in _joining(code_of(language)).finditer(said):
        front, behind = said[: found.start()].strip(" ,"), said[found.end() :].strip(" ,")
        if front and behind:
            yield front, behind


@cache
def _joining(code: str) -> re.Pattern[str]:
    data = data_of(code)
    listed = sorted(
        {*data.follow_ups.joins, *data.planning.goes_on, *data.later.marks.get("then", ())}, key=len, reverse=True
    )
    words = "|".join(re.escape(word) for word in listed) or "(?!)"
    return re.compile(rf"(?:[,;]|(?<=\w) +(?=(?:{words}) ))(?: *(?:{words})(?!\w))*", re.IGNORECASE)


def items_in(said: str, language: str) -> list[str]:
    """Return the items of an enumeration, the last one after an "and"; none for a single one, or with a command."""
    joins = sorted(data_of(language).follow_ups.joins, key=len, reverse=True)
    items = parts_of(said, joins)
    first, comma, _ = said.partition(",")
    rest = said[len(first) :] if comma else said
    is_closed = any(re.search(rf"(?<!\w){re.escape(join)}(?!\w)", rest, re.IGNORECASE) for join in joins)
    if not is_closed or not 1 < len(items) <= MAX_ITEMS or any(is_order(item, language) for item in items):
        return []
    return list(dict.fromkeys(item.strip() for item in items))


@cache
def _denying(code: str) -> re.Pattern[str]:
    listed = "|".join(re.escape(word) for word in data_of(code).denies) or "(?!)"
    return re.compile(rf"(?<![\w-])(?:{listed})(?![\w-])")


def is_denied(text: str, language: str, names: Iterable[str] = ()) -> bool:
    """Return whether a sentence says that something is not to be put on a list; what stands in `names` says nothing of it."""
    said = text[:MAX_TEXT].casefold()
    for name in names:
        said = said.replace(name.casefold(), " _ ")
    return _denying(code_of(language)).search(said) is not None
