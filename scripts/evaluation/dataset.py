"""Homes and requests from a folder.

The folder has `homes/*.json`, `assist_cases.jsonl` and `intent_cases.jsonl`, and an `evalset.py` that makes larger homes
of them (`<home>@mix1000`); without it there are only the homes as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
import importlib.util
import json
from pathlib import Path
from typing import Any

type Home = Mapping[str, Any]
"""`floors`, `areas`, `devices`, `entities`."""

AS_IT_IS = ""
FLAVOURS = ("own0", "mix1000", "sib1000")
"""The home with its own diagnostic entities; with other homes; with both, to 1,000 entities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One request."""

    home: str
    language: str
    text: str
    wanted: tuple[str, ...]
    """Entity ids that all have to be found."""
    ref: str
    """How the target is named, or the intent."""
    explicit: bool
    """Whether it means the same in a larger home."""
    area: str | None = None
    """Where the asking device is."""
    doubtful: bool = False
    """Whether a room or a name is said and other entities are wanted too: who derived the targets did not recognise it."""
    part: str
    """What the home or the sentence was hashed to: `a` was looked at while the ranking was written, `b` never."""


class Dataset:
    """The folder."""

    def __init__(self, folder: Path) -> None:
        """Look at it."""
        self._folder = folder
        self._module = _module(folder)
        self._merger = self._module.EvalSet(folder) if self._module else None

    def home(self, name: str, flavour: str) -> Home:
        """Return a home, enlarged unless `flavour` is empty."""
        if self._merger is not None:
            home: Home = self._merger.home(f"{name}@{flavour}" if flavour else name)
            return home
        return _read(self._folder / "homes" / f"{name}.json")

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the lines of `NAME.jsonl` as they are; none where there is no such file."""
        return _rows(self._folder / f"{name}.jsonl")

    @property
    def flavours(self) -> Sequence[str]:
        """Return the sizes that homes can be had in."""
        return FLAVOURS if self._merger is not None else (AS_IT_IS,)

    def _family(self, home: str) -> str:
        """Return what the versions of one home have in common: they are in the same half."""
        return str(self._module.root_of(home)) if self._module else home

    def _is_doubtful(self, row: Mapping[str, Any]) -> bool:
        slots, wanted = row.get("slots", {}), set(row["expected_entity_ids"])
        if isinstance(slots.get("name"), list) and len(wanted) > 1:  # one name in several spellings
            return True
        if not slots.get("area"):
            return False
        home = self.home(row["home"], AS_IT_IS)
        return len({item["area"] for item in home["entities"] if item["entity_id"] in wanted}) > 1

    def assist_cases(self) -> Iterator[Case]:
        """Yield the requests of people."""
        for row in _rows(self._folder / "assist_cases.jsonl"):
            yield Case(
                home=row["home"],
                language=row["lang"],
                text=row["utterance"],
                wanted=tuple(item["entity_id"] for item in row["expected"]),
                ref=row.get("ref", "?"),
                explicit=bool(row.get("explicit")),
                area=row.get("context_area"),
                part=_half(self._family(row["home"])),
            )

    def intent_cases(self) -> Iterator[Case]:
        """Yield the sentences of all languages that are about some entity."""
        for row in _rows(self._folder / "intent_cases.jsonl"):
            if row.get("expected_entity_ids"):
                yield Case(
                    home=row["home"],
                    language=row["lang"],
                    text=row["utterance"],
                    wanted=tuple(row["expected_entity_ids"]),
                    ref=row["intent"],
                    explicit=False,
                    area=row.get("context_area"),
                    doubtful=self._is_doubtful(row),
                    part=_half(row["group"]),
                )


def _module(folder: Path) -> Any:
    path = folder / "evalset.py"
    spec = importlib.util.spec_from_file_location("evalset", path) if path.exists() else None
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from (json.loads(line) for line in file)


def _read(path: Path) -> Home:
    home: Home = json.loads(path.read_text(encoding="utf-8"))
    return home


def _half(text: str) -> str:
    return "a" if sha1(text.encode()).digest()[-1] % 2 else "b"
