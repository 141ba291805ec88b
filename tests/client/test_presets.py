"""Addresses as people type them."""

import pytest

from custom_components.home_agent.settings.endpoint import PRESETS, model_name, normalize_base_url, preset_for


@pytest.mark.parametrize(("typed", "meant"), [
    ("http://nas:11434", "http://nas:11434/v1"),
    ("http://nas:11434/", "http://nas:11434/v1"),
    ("http://nas:11434/v1", "http://nas:11434/v1"),
    ("http://nas:11434/v1//", "http://nas:11434/v1"),
    (" nas:11434 ", "http://nas:11434/v1"),
    ("nas", "http://nas/v1"),
    ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
    ("https://api.example.com/v1/chat/completions", "https://api.example.com/v1"),
    ("https://api.example.com/chat/completions/", "https://api.example.com"),
    ("https://api.example.com/v1/models", "https://api.example.com/v1"),
    ("https://api.example.com/v1?x=1#y", "https://api.example.com/v1"),
    ("http://[fd00::1]:8080", "http://[fd00::1]:8080/v1"),
])  # fmt: skip
def test_addresses_are_understood(typed: str, meant: str) -> None:
    assert normalize_base_url(typed) == meant
    assert normalize_base_url(meant + "/chat/completions") == meant


@pytest.mark.parametrize(("typed", "meant"), [
    ("https://x.openai.azure.com", "https://x.openai.azure.com"),
    ("https://x.openai.azure.com/", "https://x.openai.azure.com"),
    ("https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=1", "https://x.openai.azure.com"),
    ("https://x.openai.azure.com/openai/v1/", "https://x.openai.azure.com/openai/v1"),
])  # fmt: skip
def test_any_address_of_an_azure_resource_will_do(typed: str, meant: str) -> None:
    assert normalize_base_url(typed, "azure") == meant


CLOUD = {"openai", "anthropic", "gemini", "mistral", "groq", "deepseek", "openrouter", "azure"}


def test_suggested_addresses_are_complete() -> None:
    suggested = [preset for preset in PRESETS.values() if preset.base_url]
    assert {preset.key for preset in PRESETS.values()} - {preset.key for preset in suggested} == {"azure", "custom"}
    assert all(normalize_base_url(preset.base_url, preset.key) == preset.base_url for preset in suggested)
    assert {preset.key for preset in PRESETS.values() if preset.remote} == CLOUD
    assert {preset.key for preset in PRESETS.values() if preset.needs_key} == CLOUD


def test_what_is_asked_for_has_an_example() -> None:
    assert all(preset.example for preset in PRESETS.values())
    assert all(normalize_base_url(preset.example, preset.key) for preset in PRESETS.values())
    assert all(
        preset.service and preset.keys_at.startswith("https://") for preset in PRESETS.values() if preset.needs_key
    )
    assert preset_for("azure").example.endswith(".openai.azure.com")


@pytest.mark.parametrize(("model", "name"), [
    ("/models/foo-Q4.gguf", "foo Q4"), ("foo-Q4.gguf", "foo Q4"),
    ("C:\\llm\\Qwen2.5-7B-Instruct-Q4_K_M-00001-of-00002.gguf", "Qwen2.5 7B Instruct Q4_K_M"),
    ("/srv/models/llama-3", "llama 3"), ("models/gemini-2.5-flash", "gemini-2.5-flash"),
    ("meta-llama/llama-4-scout", "meta-llama/llama-4-scout"), ("qwen3:8b", "qwen3:8b"), ("/", "/"),
])  # fmt: skip
def test_a_file_has_a_name_that_can_be_read(model: str, name: str) -> None:
    assert model_name(model) == name


def test_an_unknown_preset_is_a_custom_endpoint() -> None:
    assert preset_for("of the future") is PRESETS["custom"]
