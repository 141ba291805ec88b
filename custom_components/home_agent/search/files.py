"""Files in the owner's folder of documents, and their text: slow, and nothing outside the folder, also not by links."""

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from itertools import islice
import os
from pathlib import Path, PurePosixPath
import stat
import time

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.importlib import async_import_module
from homeassistant.requirements import async_process_requirements

from ..support.const import DOMAIN
from ..support.errors import KnowledgeError
from .passages import DocumentSection, sections_of_markdown

MODULE, REQUIREMENT = "pypdf", "pypdf>=6.0,<8"  # installed with the first PDF file; it is pure Python
MAX_PAGES = 2000
MAX_SECONDS = 120  # of one file; some are made to take without end
MARKDOWN, TEXT, PDF = (".md", ".markdown"), (".txt", ".text"), (".pdf",)
DOCUMENT_ENDINGS = (".md", ".txt")
MAX_TEXT_BYTES = 5_000_000
MAX_DOCUMENT_BYTES = 1_000_000
MAX_PDF_BYTES = 50_000_000
MAX_FILES = 2000
MAX_DEPTH = 8  # folders within folders

_SAMPLE = 100_000  # bytes to guess an encoding from
_OTHER_SCRIPT = 0.4  # share of letters outside ASCII that languages in Latin letters do not reach
_ASCII = bytes(range(0x80))
_NO_LETTERS = bytes(code for code in range(0x80) if not chr(code).isalpha())
_LATIN_PAGES = {
    **dict.fromkeys(("bs", "cs", "hr", "hu", "pl", "ro", "sk", "sl"), "cp1250"), "tr": "cp1254",
    **dict.fromkeys(("et", "lt", "lv"), "cp1257"), "vi": "cp1258",
}  # fmt: skip
_OTHER_PAGES = {
    "el": "cp1253", "he": "cp1255", **dict.fromkeys(("ar", "fa", "ur"), "cp1256"), "th": "cp874", "ja": "cp932", "ko": "cp949",
    "zh": "gb18030",
}  # fmt: skip
"""By the home's language; others are taken for Cyrillic, which has the most old files."""


async def async_load_pdf_library(hass: HomeAssistant) -> None:
    """Install and load the PDF library. Raises `KnowledgeError` if that fails."""
    try:
        await async_process_requirements(hass, DOMAIN, [REQUIREMENT], is_built_in=False)
        await async_import_module(hass, MODULE)
    except (HomeAssistantError, ImportError) as err:
        raise KnowledgeError("knowledge_pdf", detail=type(err).__name__) from err


def sections_of_pdf(content: bytes, path: str) -> list[DocumentSection]:
    """Return the text of each page, within `MAX_SECONDS`. Raises `KnowledgeError` for a broken file."""
    from pypdf import PdfReader

    began = time.monotonic()
    sections: list[DocumentSection] = []
    try:
        for number, page in enumerate(PdfReader(BytesIO(content)).pages, start=1):
            sections.append(DocumentSection(page.extract_text() or "", page=number))
            if number == MAX_PAGES or time.monotonic() - began > MAX_SECONDS:
                break
    except Exception as err:  # the library raises any error for a broken file
        raise KnowledgeError("knowledge_unreadable", path=path, detail=type(err).__name__) from err
    return sections


def files_in(folder: Path) -> dict[str, str]:
    """Return a stamp (size and time) of each document by its sorted path, without links, hidden and other files."""
    found: dict[str, str] = {}
    for path, entry in _walk(folder, PurePosixPath(), 0):
        with suppress(OSError):  # gone in between
            about = entry.stat(follow_symlinks=False)
            found[str(path)] = f"{about.st_size}-{about.st_mtime_ns}"
    return dict(sorted(found.items()))


def _walk(folder: Path, below: PurePosixPath, depth: int) -> Iterator[tuple[PurePosixPath, os.DirEntry[str]]]:
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        path = below / entry.name
        if entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
            yield from _walk(Path(entry.path), path, depth + 1)
        elif entry.is_file(follow_symlinks=False) and path.suffix.casefold() in (*MARKDOWN, *TEXT, *PDF):
            yield path, entry


def path_within(folder: Path, name: str) -> str:
    """Return the path of a file in the folder, in the form of `files_in`. Raises `KnowledgeError` for others."""
    path = PurePosixPath(name.strip())
    if path.is_absolute() or ".." in path.parts or not path.parts or "\x00" in name:
        raise KnowledgeError("knowledge_path", path=name)
    if str(path) not in islice(files_in(folder), MAX_FILES):
        raise KnowledgeError("knowledge_no_file", path=name)
    return str(path)


def sections_of(folder: Path, path: str, language: str = "en") -> list[DocumentSection]:
    """Return the text of a file in the folder. Raises `KnowledgeError` if it is too large, broken or empty."""
    kind = PurePosixPath(path).suffix.casefold()
    content = _content(folder, path, MAX_PDF_BYTES if kind in PDF else MAX_TEXT_BYTES)
    if kind in PDF:
        sections = sections_of_pdf(content, path)
    else:
        text = _decoded(content, path, language)
        sections = list(sections_of_markdown(text)) if kind in MARKDOWN else [DocumentSection(text)]
    if not any(section.text.replace("\x00", "").strip() for section in sections):
        raise KnowledgeError("knowledge_empty", path=path)
    return sections


def documents_in(folder: Path) -> list[str]:
    """Return the paths of plain texts in a folder (`.md`, `.txt`), sorted, without links and hidden files."""
    return [path for path in islice(files_in(folder), MAX_FILES) if path.casefold().endswith(DOCUMENT_ENDINGS)]


def document_text(folder: Path, path: str, language: str = "en") -> str:
    """Return the content of a plain text in the folder. Raises `KnowledgeError` if it is too large, broken or empty."""
    text = _decoded(_content(folder, path, MAX_DOCUMENT_BYTES), path, language).replace("\x00", "").strip()
    if not text:
        raise KnowledgeError("knowledge_empty", path=path)
    return text


def _content(folder: Path, path: str, limit: int) -> bytes:
    """Return the content. Raises `KnowledgeError` for more than `limit` bytes, and if `content_of` raises."""
    try:
        content = content_of(folder, path, limit)
    except OSError as err:
        raise KnowledgeError("knowledge_unreadable", path=path, detail=type(err).__name__) from err
    if len(content) > limit:
        raise KnowledgeError("knowledge_too_large", path=path, limit=str(limit // 1_000_000))
    return content


def content_of(folder: Path, path: str, limit: int) -> bytes:
    """Return the content, at most `limit` bytes and one. Raises `OSError` for links, also in the path, and for no plain file."""
    *folders, name = PurePosixPath(path).parts
    where = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for below in folders:
            inner = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=where)
            os.close(where)
            where = inner
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=where)
    finally:
        os.close(where)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("not a plain file")
        return file.read(limit + 1)


def _decoded(content: bytes, path: str, language: str) -> str:
    """Return the text from UTF-8, UTF-16 with its mark, or an old Windows code page. Raises `KnowledgeError` if binary."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    with suppress(UnicodeDecodeError):
        return content.decode(encoding)
    if b"\x00" in content:
        raise KnowledgeError("knowledge_unreadable", path=path, detail="binary")
    sample, base = content[:_SAMPLE], language.partition("-")[0]
    is_latin = len(sample.translate(None, _ASCII)) <= _OTHER_SCRIPT * len(sample.translate(None, _NO_LETTERS))
    code_page = _LATIN_PAGES.get(base, "cp1252") if is_latin else _OTHER_PAGES.get(base, "cp1251")
    return content.decode(code_page, errors="replace")
