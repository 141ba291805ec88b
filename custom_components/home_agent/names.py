"""A list that an owner wrote: entity ids, domains, services, tools; `*` and `?` stand for anything."""

from collections.abc import Iterable
import fnmatch
import re

_WILD = re.compile(r"[*?]")


class Names:
    """What a list names."""

    def __init__(self, items: Iterable[str]) -> None:
        """Take the items as they were written; case and blanks around them do not matter."""
        written = {item.strip().casefold() for item in items} - {""}
        wild = sorted(item for item in written if _WILD.search(item))
        self._plain = written.difference(wild)
        self._wild = re.compile("|".join(fnmatch.translate(item) for item in wild)).match if wild else None

    def __contains__(self, name: str) -> bool:
        """Return whether it is named: itself, its domain, or a pattern it fits."""
        name = name.casefold()
        if name in self._plain or name.partition(".")[0] in self._plain:
            return True
        return self._wild is not None and self._wild(name) is not None

    def first(self, names: Iterable[str]) -> str | None:
        """Return the first that is named."""
        if not self._plain and self._wild is None:
            return None
        return next((name for name in names if name in self), None)

    def cover(self, names: Iterable[str]) -> bool:
        """Return whether there are any, and all of them are named."""
        candidates = tuple(names)
        return bool(candidates) and all(name in self for name in candidates)
