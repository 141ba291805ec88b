"""Documentation for users of an agent, in its system prompt or read by a tool: shipped documents, and the owner's own.

Files are read at set-up, by the action `reload` and by the tool; nothing outside the two folders is read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
import os
from pathlib import Path, PurePosixPath
from typing import Self

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.translation import LOCALE_EN
from homeassistant.util.hass_dict import HassKey

from ..client.messages import raw_estimate
from ..settings.profile import Profile
from ..support import issues
from ..support.const import DOMAIN, LOGGER
from ..support.errors import KnowledgeError
from ..support.localize import async_error_text
from .files import DOCUMENT_ENDINGS, document_text, documents_in

FOLDER = ("home_agent", "docs")  # the owner's folder in Home Assistant's configuration
SHIPPED = Path(__file__).parents[1] / "docs" / "user"
FOR_AGENTS = Path(__file__).parents[1] / "docs" / "agents"
"""Documents that are for agents alone: only what an agent names as its own is read there, and nothing lists them."""
VARIABLE = "DOCS_USER_DIR"  # environment variable that names another folder instead of the shipped one

MAX_LENGTH = 40_000  # characters of all documents in one prompt
MAX_NAMES = 100  # documents in the tool's description
HEADING = "## Documentation: {name}"
REST = "(The rest of the documentation is left out here.)"

_TOLD: HassKey[frozenset[tuple[str, str, str]]] = HassKey(f"{DOMAIN}_documents_told")
"""Logged errors (agent, document, reason) that still hold; kept across reloads."""


def is_document_name(name: str) -> bool:
    """Return whether a name is a valid document's: a relative path with one of the endings."""
    path = PurePosixPath(name)
    return (
        not path.is_absolute()
        and ".." not in path.parts
        and not any(part.startswith(".") for part in path.parts)
        and name.isprintable()
        and "\\" not in name
        and name.casefold().endswith(DOCUMENT_ENDINGS)
    )


@dataclass(frozen=True, slots=True)
class SystemDocuments:
    """Documents in an agent's system prompt."""

    text: str
    tokens: float  # `raw_estimate` of the text

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the documents with this text."""
        return cls(text, raw_estimate(text.encode("utf-8", "replace")))

    def within(self, tokens: float) -> str:
        """Return the text cut to so many tokens, in whole lines and with a note; always the same for a number."""
        if self.tokens <= tokens:
            return self.text
        room = max(0, int(len(self.text) * tokens / self.tokens) - len(REST))
        return f"{self.text[:room].rpartition('\n')[0].rstrip()}\n\n{REST}".lstrip()


class UserDocuments:
    """The documents of the home; owned by the entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Prepare; `async_load` reads."""
        self._hass = hass
        self.folders = (Path(hass.config.path(*FOLDER)), Path(os.environ.get(VARIABLE) or SHIPPED))
        """By precedence: the owner's `USER_GUIDE.md` replaces the shipped one."""
        self.names: tuple[str, ...] = ()  # existing documents at the last load, sorted
        self.of_profile: Mapping[str, SystemDocuments] = {}
        """Documents in the system prompt, by the profile's subentry id; without profiles that have none."""
        self._listeners: list[Callable[[], None]] = []

    @callback
    def async_listen(self, listener: Callable[[], None]) -> None:
        """Call a listener after each load."""
        self._listeners.append(listener)

    async def async_load(self, profiles: Iterable[Profile]) -> None:
        """Read the documents of system prompts; an unusable one is left out, with an issue in Repairs."""
        profiles = list(profiles)
        wanted = {name: "" for profile in profiles for name in profile.system_documents}
        self.names, texts, wrong = await self._hass.async_add_executor_job(self._read, [*wanted])
        found: dict[str, SystemDocuments] = {}
        faults: dict[tuple[str, str, str], str] = {}
        for profile in profiles:
            names = dict.fromkeys(profile.system_documents)
            parts = [f"{HEADING.format(name=name)}\n\n{texts[name]}" for name in names if name in texts]
            if parts:
                documents = SystemDocuments.of("\n\n".join(parts))
                if (length := len(documents.text)) > MAX_LENGTH:
                    documents = SystemDocuments.of(documents.within(documents.tokens * MAX_LENGTH / length))
                    too_long = f"its documents are longer than {MAX_LENGTH} characters; the rest is left out"
                    faults[profile.name, "", ""] = too_long
                found[profile.subentry_id] = documents
            missing = ", ".join(name for name in names if name in wrong)
            about = {"profile": profile.name, "documents": missing, "folder": "/".join(FOLDER)}
            key, of = issues.SYSTEM_DOCUMENTS, profile.subentry_id
            issues.async_set(self._hass, key, of, bool(missing), data=None, **about)
            for name, error in wrong.items():
                if name in names:
                    reason = await async_error_text(self._hass, LOCALE_EN, error)
                    faults[profile.name, name, str(error.translation_key)] = reason
        told = self._hass.data.get(_TOLD, frozenset())
        for fault in faults.keys() - told:
            LOGGER.warning("Agent %s: %s", fault[0], faults[fault])
        self._hass.data[_TOLD] = frozenset(faults)
        self.of_profile = found
        for listener in self._listeners:
            listener()

    async def async_read(self, name: str) -> str:
        """Return the current text of a document. Raises `KnowledgeError` for an invalid name, a missing or unreadable file."""
        return await self._hass.async_add_executor_job(self._text, name, self.folders)

    def _read(self, wanted: Iterable[str]) -> tuple[tuple[str, ...], dict[str, str], dict[str, KnowledgeError]]:
        names = sorted({name for folder in self.folders for name in documents_in(folder)})
        texts: dict[str, str] = {}
        wrong: dict[str, KnowledgeError] = {}
        for name in wanted:
            try:
                texts[name] = self._text(name, (*self.folders, FOR_AGENTS))
            except KnowledgeError as err:
                wrong[name] = err
        return tuple(names), texts, wrong

    def _text(self, name: str, folders: Iterable[Path]) -> str:
        if not is_document_name(name):
            raise KnowledgeError("knowledge_path", path=name)
        path = str(PurePosixPath(name))
        for folder in folders:
            if path in documents_in(folder):
                return document_text(folder, path, self._hass.config.language)
        raise KnowledgeError("knowledge_no_file", path=name)
