"""Addresses as people type them."""

import pytest

from custom_components.home_agent.settings.endpoint import PRESETS, normalize_base_url, preset_for


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
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
    ],
)
def test_addresses_are_understood(typed: str, meant: str) -> None:
    assert normalize_base_url(typed) == meant
    assert normalize_base_url(meant + "/chat/completions") == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("https://x.openai.azure.com", "https://x.openai.azure.com"),
        ("https://x.openai.azure.com/", "https://x.openai.azure.com"),
        (
            "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=1",
            "https://x.openai.azure.com",
        ),
        ("https://x.openai.azure.com/openai/v1/", "https://x.openai.azure.com/openai/v1"),
    ],
)
def test_any_address_of_an_azure_resource_will_do(typed: str, meant: str) -> None:
    assert normalize_base_url(typed, "azure") == meant


def test_suggested_addresses_are_complete() -> None:
    suggested = [preset for preset in PRESETS.values() if preset.base_url]
    assert len(suggested) == len(PRESETS) - 2
    assert all(normalize_base_url(preset.base_url, preset.key) == preset.base_url for preset in suggested)
    assert {preset.key for preset in PRESETS.values() if preset.remote} == {"openai", "openrouter", "azure"}


def test_an_unknown_preset_is_a_custom_endpoint() -> None:
    assert preset_for("of the future") is PRESETS["custom"]
