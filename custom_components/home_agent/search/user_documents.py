"""Documentation for whoever talks to an agent: what ships with the integration, and the owner's own.

An agent can have some of it in its system prompt, and a tool that reads one at a time. Files are read when the entry is set
up and by the action `reload`, never in a turn but by the tool; nothing outside of the two folders is ever read.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
import os
from pathlib import Path, PurePosixPath

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

FOLDER = ("home_agent", "docs")
"""The owner's, in Home Assistant's configuration."""
SHIPPED = Path(__file__).parents[1] / "docs" / "user"
VARIABLE = "DOCS_USER_DIR"
"""Environment variable that names another folder instead of the shipped one."""

MAX_LENGTH = 40_000  # characters of all documents in one prompt
MAX_NAMES = 100  # documents that a model is told of
HEADING = "## Documentation: {name}"
REST = "(The rest of the documentation is left out here.)"

_TOLD: HassKey[frozenset[tuple[str, str, str]]] = HassKey(f"{DOMAIN}_documents_told")
"""What the log has of documents that cannot be used, as long as it holds: agent, document, why. Kept when the entry is loaded anew."""


def is_document_name(name: str) -> bool:
    """Return whether a name can be that of a document: a path below the folder, with one of the endings."""
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
    """What an agent has in its system prompt."""

    text: str
    tokens: float
    """As `raw_estimate` counts them."""

    def within(self, tokens: float) -> str:
        """Return as much of the text as so many tokens hold, whole lines, and that there was more; the same for the same number."""
        if self.tokens <= tokens:
            return self.text
        room = max(0, int(len(self.text) * tokens / self.tokens) - len(REST))
        return f"{self.text[:room].rpartition('\n')[0].rstrip()}\n\n{REST}".lstrip()


class UserDocuments:
    """The documents of the home; owned by the entry."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Know where they are; `async_load` reads."""
        self._hass = hass
        self.folders = (Path(hass.config.path(*FOLDER)), Path(os.environ.get(VARIABLE) or SHIPPED))
        """In this order: the owner's own `USER_GUIDE.md` stands for the one that ships."""
        self.names: tuple[str, ...] = ()
        """Those that are there, as far as they were when they were last looked for; sorted."""
        self.of_profile: Mapping[str, SystemDocuments] = {}
        """What stands in the system prompt, by the profile's subentry id; nothing where there is none."""
        self._listeners: list[Callable[[], None]] = []

    @callback
    def async_listen(self, listener: Callable[[], None]) -> None:
        """Have a listener told whenever they were looked for."""
        self._listeners.append(listener)

    async def async_load(self, profiles: Iterable[Profile]) -> None:
        """Read what stands in system prompts; a document that cannot be used is told in Repairs and leaves the others."""
        profiles = list(profiles)
        wanted = {name: "" for profile in profiles for name in profile.system_documents}
        self.names, texts, wrong = await self._hass.async_add_executor_job(self._read, [*wanted])
        found: dict[str, SystemDocuments] = {}
        faults: dict[tuple[str, str, str], str] = {}
        for profile in profiles:
            names = dict.fromkeys(profile.system_documents)
            parts = [f"{HEADING.format(name=name)}\n\n{texts[name]}" for name in names if name in texts]
            if parts:
                found[profile.subentry_id] = _bounded(whole := "\n\n".join(parts))
                if len(whole) > MAX_LENGTH:
                    faults[profile.name, "", ""] = (
                        f"its documents are longer than {MAX_LENGTH} characters; the rest is left out"
                    )
            missing = ", ".join(name for name in names if name in wrong)
            issues.async_set(
                self._hass,
                issues.SYSTEM_DOCUMENTS,
                profile.subentry_id,
                bool(missing),
                profile=profile.name,
                documents=missing,
                folder="/".join(FOLDER),
            )
            for name, error in wrong.items():
                if name in names:
                    text = await async_error_text(self._hass, LOCALE_EN, error)
                    faults[profile.name, name, str(error.translation_key)] = text
        told = self._hass.data.get(_TOLD, frozenset())
        for fault in faults.keys() - told:
            LOGGER.warning("Agent %s: %s", fault[0], faults[fault])
        self._hass.data[_TOLD] = frozenset(faults)
        self.of_profile = found
        for listener in self._listeners:
            listener()

    async def async_read(self, name: str) -> str:
        """Return a document as it is now. Raises `KnowledgeError` for what is none, is not there or cannot be read."""
        return await self._hass.async_add_executor_job(self._text, name)

    def _read(self, wanted: Iterable[str]) -> tuple[tuple[str, ...], dict[str, str], dict[str, KnowledgeError]]:
        names = sorted({name for folder in self.folders for name in documents_in(folder)})
        texts: dict[str, str] = {}
        wrong: dict[str, KnowledgeError] = {}
        for name in wanted:
            try:
                texts[name] = self._text(name)
            except KnowledgeError as err:
                wrong[name] = err
        return tuple(names), texts, wrong

    def _text(self, name: str) -> str:
        if not is_document_name(name):
            raise KnowledgeError("knowledge_path", path=name)
        path = str(PurePosixPath(name))
        for folder in self.folders:
            if path in documents_in(folder):
                return document_text(folder, path, self._hass.config.language)
        raise KnowledgeError("knowledge_no_file", path=name)


def _bounded(text: str) -> SystemDocuments:
    """Return a text no longer than the most."""
    documents = SystemDocuments(text, raw_estimate(text.encode("utf-8", "replace")))
    if len(text) <= MAX_LENGTH:
        return documents
    short = documents.within(documents.tokens * MAX_LENGTH / len(text))
    return replace(documents, text=short, tokens=raw_estimate(short.encode("utf-8", "replace")))
