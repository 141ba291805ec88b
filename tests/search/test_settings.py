"""What the owner set."""

from typing import Any

import pytest

from custom_components.home_agent.settings.memory import MemorySettings
from custom_components.home_agent.settings.search import (
    DocumentMatch,
    RetrievalSettings,
    collection_names,
    is_collection_name,
)


def match(distance: float, similarity: float | None) -> DocumentMatch:
    return DocumentMatch(id="a", text="", metadata={}, distance=distance, similarity=similarity)


def test_nothing_stored_is_the_default() -> None:
    assert RetrievalSettings.from_options({}) == RetrievalSettings()


def test_defaults_are_those_of_the_specification() -> None:
    settings = RetrievalSettings()
    assert (settings.chroma_host, settings.chroma_port, settings.collection) == ("localhost", 8000, "home_entities")
    assert (settings.top_k, settings.embedding_model) == (5, "text-embedding-3-small")
    assert (settings.similarity_threshold, settings.embedding_keep_alive) == (0.2, "5m")
    assert (settings.additional_collections, settings.additional_top_k) == ((), 5)
    assert settings.additional_l2_threshold == 250.0


def test_stored_settings_and_those_of_a_newer_version() -> None:
    stored = {"store": "chroma", "chroma_port": 8700, "additional_collections": "manuals, notes,,manuals", "new": 1}
    settings = RetrievalSettings.from_options({"retrieval": stored})
    assert (settings.store, settings.chroma_port) == ("chroma", 8700)
    assert settings.additional_collections == ("manuals", "notes")


def test_keys_are_in_no_text_of_the_settings() -> None:
    stored = {"chroma_token": "secret-1", "embedding_key": "secret-2"}
    assert "secret" not in repr(RetrievalSettings.from_options({"retrieval": stored}))


@pytest.mark.parametrize(
    ("found", "near"),
    [(match(0.8, 0.2), True), (match(0.81, 0.19), False), (match(100.0, None), True), (match(100.1, None), False)],
)
def test_what_is_near_is_said_by_the_space_of_the_collection(found: DocumentMatch, near: bool) -> None:
    settings = RetrievalSettings(embedding="endpoint", additional_l2_threshold=100.0)
    assert settings.is_near(found) is near


@pytest.mark.parametrize("name", ["abc", "home_entities", "a.b-c_1", "a" * 512])
def test_collection_name(name: str) -> None:
    assert is_collection_name(name)


@pytest.mark.parametrize("name", ["", "ab", "a" * 513, "my notes", "küche", "a/b", "_ab", "ab-"])
def test_no_collection_name(name: str) -> None:
    assert not is_collection_name(name)


def test_list_of_names() -> None:
    assert collection_names(" a , b,a ,") == ("a", "b")


@pytest.mark.parametrize(("preset", "url", "outside"), [
    ("openai", "https://api.openai.com/v1", True), ("custom", "https://embed.example.com/v1", True),
    ("ollama", "http://192.168.1.10:11434/v1", False), ("ollama", "http://nas.local:11434", False),
    ("ollama", "nas:11434", False), ("custom", "embed.example.com:8080", True),
])  # fmt: skip
def test_what_leaves_the_house(preset: str, url: str, outside: bool) -> None:
    settings = RetrievalSettings(embedding_preset=preset, embedding_url=url)
    assert settings.embedding_leaves_the_house is outside


@pytest.mark.parametrize(("stored", "key", "settings"), [
    ({"chroma_port": "x", "top_k": 7}, "retrieval", RetrievalSettings(top_k=7)),
    ({"additional_collections": 5, "top_k": 7.0}, "retrieval", RetrievalSettings(top_k=7)),
    (["x"], "retrieval", RetrievalSettings()),
    ({"fact_ttl": "x", "enabled": "yes", "top_k": 7}, "memory", MemorySettings(top_k=7)),
    ({"max_memories": True, "importance_decay": 0}, "memory", MemorySettings()),
])  # fmt: skip
def test_a_value_of_a_wrong_type_is_the_default(stored: Any, key: str, settings: Any) -> None:
    assert type(settings).from_options({key: stored}) == settings
