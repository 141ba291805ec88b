"""Documents of the owner: files of the folder and what an action added, as the passages that can be found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, Self

from ..client.wire import dump
from ..retrieval.base import Document
from .passage import Passage
from .passages import Section, split

COLLECTION = "knowledge"
"""Where documents go that name no collection."""
ORIGIN = "document"
"""Metadata of a passage: the key of its document."""
STAMP = "stamp"
"""Metadata of a passage: what its document looked like when it was read."""
COUNT = "passages"
"""Metadata of a passage: how many its document has."""
_INTERNAL = frozenset({ORIGIN, STAMP, COUNT})
MAX_TEXT = 4000  # characters of one passage that somebody else wrote
MAX_NAMES, MAX_NAME = 24, 60  # values of one passage, characters of a name
MAX_VALUE = 500  # characters of a title, a source, a value

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document that an action added, or what it said about a file; kept in Home Assistant's storage."""

    collection: str = COLLECTION
    title: str = ""
    source: str = ""
    text: str = ""
    path: str = ""
    """A file of the folder, whose text is read there; empty when the text is here."""
    outside: bool = False
    """Others wrote it: a conversation that reads it is careful from then on."""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What it is known by: a new document with the same key takes its place."""
        return file_key(self.path) if self.path else f"text:{self.collection}/{self.title}"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return an entry as it was kept. Raises `KeyError`, `TypeError` or `ValueError` for what is none."""
        return cls(
            collection=str(data["collection"]),
            title=str(data["title"]),
            source=str(data["source"]),
            text=str(data["text"]),
            path=str(data["path"]),
            outside=bool(data["outside"]),
            metadata=dict(data["metadata"]),
        )


def file_key(path: str) -> str:
    """Return what a file of the folder is known by."""
    return f"file:{path}"


def entry_of_file(path: str) -> Entry:
    """Return what is known about a file that no action spoke of."""
    return Entry(path=path, title=readable(PurePosixPath(path).stem), source=readable(path))


def readable(path: str) -> str:
    """Return a path as text: names that old systems wrote have bytes in them that are none."""
    return path.encode(errors="replace").decode()


def mark_of(entry: Entry, stamp: str) -> str:
    """Return what changes when a document does: `stamp` is what its file looks like, empty without one."""
    return f"{stamp}-{_hash(dump(asdict(entry)))}"


def documents_of(entry: Entry, sections: Sequence[Section], mark: str) -> tuple[Document, ...]:
    """Return the passages of a document, in its order."""
    key = entry.key
    base = _hash(f"{entry.collection}\n{key}".encode(errors="surrogatepass"))
    pieces = split(sections)
    documents: list[Document] = []
    for number, section in enumerate(pieces):
        said = _metadata(entry, section)
        text = f"{section.heading}\n{section.text}" if section.heading else section.text
        metadata = said | {ORIGIN: key, STAMP: mark, COUNT: len(pieces)}
        digest = _hash(text.encode() + b"\0" + dump(said))
        documents.append(Document(id=f"{base}-{number}", text=text, metadata=metadata, digest=digest))
    return tuple(documents)


def is_whole(documents: Sequence[Document], mark: str) -> bool:
    """Return whether these are all passages of a document that looks like this."""
    return all(item.metadata.get(STAMP) == mark and item.metadata.get(COUNT) == len(documents) for item in documents)


def in_order(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Return the passages of a document in its order."""
    return tuple(sorted(documents, key=lambda item: int(item.id.rpartition("-")[2])))


def _hash(content: bytes) -> str:
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def _metadata(entry: Entry, section: Section) -> dict[str, str | int | float | bool]:
    """Return what a model is told with a passage: the owner's own first, then where it stands."""
    said: dict[str, str | int | float | bool] = {
        name: value for name, value in entry.metadata.items() if isinstance(value, (str, int, float, bool))
    }
    told = {"title": entry.title, "source": entry.source or entry.path, "heading": section.heading}
    return (
        said | {name: value for name, value in told.items() if value} | ({"page": section.page} if section.page else {})
    )


def passages_of(documents: Iterable[tuple[Entry, Sequence[Document]]]) -> dict[str, Passage]:
    """Return the passages of documents as they are found, by id."""
    return {item.id: _passage_of(entry, item) for entry, items in documents for item in items}


def _passage_of(entry: Entry, document: Document) -> Passage:
    return Passage(
        id=document.id,
        text=document.text,
        source=entry.source or entry.path or entry.title,
        collection=entry.collection,
        distance=0.0,
        metadata=as_told(document.metadata),
        outside=entry.outside,
    )


def passage_of_others(
    collection: str, item: str, text: str, metadata: Mapping[str, Any], distance: float = 0.0
) -> Passage:
    """Return what another program wrote as a passage."""
    return Passage(
        id=f"{collection}/{item}",
        text=text[:MAX_TEXT],
        source=collection,
        collection=collection,
        distance=distance,
        metadata=as_told(metadata),
        outside=True,
    )


def as_told(metadata: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
    """Return the metadata of a passage without what only this room needs, and of what others wrote not all too much."""
    told = ((name, value) for name, value in metadata.items() if name not in _INTERNAL and value is not None)
    return {
        str(name)[:MAX_NAME]: value if isinstance(value, (int, float, bool)) else str(value)[:MAX_VALUE]
        for name, value in islice(told, MAX_NAMES)
    }
