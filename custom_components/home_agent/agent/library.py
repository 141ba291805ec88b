"""What is looked up for a question: the index of the home, documents and memories, with one store and one embedder for all."""

from dataclasses import dataclass, field
from typing import Any, Self

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback

from ..home.snapshot import Home
from ..languages.vocabulary import Languages
from ..local.learned import LearnedPhrases
from ..memory.memories import Memories
from ..memory.recall import MemoryMeans
from ..search.index import HomeIndex
from ..search.knowledge import Knowledge
from ..search.vectors import Vectors
from ..support.issues import RetrievalIssues
from ..support.kept import KeptThings
from .configuration import Configuration


@dataclass(slots=True, kw_only=True)
class Library:
    """The parts that the settings of search and of memory are for; they stay, and take new settings with `async_use`."""

    hass: HomeAssistant
    entry: ConfigEntry[Any]
    languages: Languages
    vectors: Vectors
    finder: HomeIndex
    knowledge: Knowledge
    memories: Memories
    phrases: LearnedPhrases
    _left: list[Vectors] = field(
        default_factory=list
    )  # of before a change; they are closed when their searches have ended

    @classmethod
    def of(
        cls,
        hass: HomeAssistant,
        entry: ConfigEntry[Any],
        kept: KeptThings,
        home: Home,
        languages: Languages,
        configuration: Configuration,
    ) -> Self:
        """Return the library of a configuration; no server is asked, and nothing is read."""
        vectors = Vectors.from_settings(hass, configuration.retrieval, RetrievalIssues(hass))
        library = cls(
            hass=hass,
            entry=entry,
            languages=languages,
            vectors=vectors,
            finder=HomeIndex(hass, entry, home, vectors, languages),
            knowledge=Knowledge(hass, entry, vectors, languages, configuration.memory.collection),
            memories=kept.of(Memories),
            phrases=kept.of(LearnedPhrases),
        )
        library._remember(configuration)
        return library

    async def async_start(self) -> None:
        """Set all of it going, until the entry is unloaded."""
        self.entry.async_on_unload(self._async_close)
        self.finder.async_start()
        self.knowledge.async_start()
        await self.memories.async_start()

    async def _async_close(self) -> None:
        for vectors in (self.vectors, *self._left):
            await vectors.async_close()

    def prepared(self, now: Configuration) -> Vectors:
        """Return the store and embedder for a configuration, the present ones where they stay. Raises for unusable settings."""
        if self.vectors.serve(now.retrieval) and not self._left_by(now):
            return self.vectors
        return Vectors.from_settings(self.hass, now.retrieval, RetrievalIssues(self.hass))

    async def async_leave(self, now: Configuration) -> None:
        """Delete what is kept where a configuration keeps nothing any more; nothing else is written there."""
        await self.vectors.async_leave(self.vectors.settings.store, self._left_by(now))

    def _left_by(self, now: Configuration) -> set[str]:
        """Return the collections that a configuration leaves."""
        before, after = self.vectors.settings, now.retrieval
        if before.place != after.place:
            return {before.collection, *self.knowledge.added.filled, *self.memories.collections}
        left = self.memories.collections - ({now.memory.collection} if after.embeds else set())
        return left if before.collection == after.collection else {before.collection, *left}

    @callback
    def async_use(self, now: Configuration, vectors: Vectors) -> None:
        """Look up by a configuration from now on, with the vectors that were prepared for it."""
        if vectors is not self.vectors:
            self._left.append(self.vectors)
            self.vectors = vectors
            RetrievalIssues(self.hass).async_forget()
            self.finder.async_use(vectors)
        vectors.settings = now.retrieval
        self._remember(now)
        self.knowledge.async_use(vectors, now.memory.collection)

    async def async_go_on(self) -> None:
        """Close what `async_use` has left when its searches have ended, and set going what was changed."""
        while self._left:  # first: what is written now may be in the place of what their searches read
            await self._left[0].async_end()
            del self._left[0]
        self.finder.async_catch_up()
        self.knowledge.async_catch_up()
        await self.memories.async_start()

    @callback
    def _remember(self, now: Configuration) -> None:
        self.memories.async_use(
            MemoryMeans(settings=now.memory, vectors=self.vectors, languages=self.languages, entry=self.entry)
        )
        self.phrases.async_learn(now.memory.learns_after)
