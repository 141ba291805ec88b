"""Vectors that come from letters."""

import subprocess
import sys

from homeassistant.core import HomeAssistant
import numpy as np
import pytest

from custom_components.home_agent.search.embeddings import DIMENSION, LexicalEmbedder, vectors_of

SENTENCES = ("Kitchen ceiling light", "Küchenlampe", "台所の照明", "אור במטבח", "💡", "", "x" * 500)


def likeness(one: str, other: str) -> float:
    """Return the cosine of two texts."""
    first, second = vectors_of([one, other])
    return float(first @ second)


async def test_one_normalised_row_per_text(hass: HomeAssistant) -> None:
    vectors = await LexicalEmbedder(hass).async_embed(SENTENCES)
    assert vectors.shape == (len(SENTENCES), DIMENSION)
    assert vectors.dtype.name == "float32"
    lengths = np.linalg.norm(vectors, axis=1)
    assert lengths == pytest.approx([1, 1, 1, 1, 1, 0, 1], abs=1e-5)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("turn on the kitchen lights", "Kitchen light", "Bedroom fan"),
        ("Deckenlampe in der Küche", "kueche kuche Deckenlampen", "Garage Tor"),
        ("thermostat bedrom", "Bedroom thermostat", "Living room television"),
        ("台所の照明をつけて", "台所 照明", "寝室 扇風機"),
        ("ВКЛЮЧИ СВЕТ", "свет в гостиной", "кондиционер"),
    ],
)
def test_nearer_is_what_shares_words_or_parts_of_them(text: str, near: str, far: str) -> None:
    assert likeness(text, near) > likeness(text, far) + 0.1


def test_same_words_in_another_order_are_the_same() -> None:
    assert likeness("light kitchen ceiling", "ceiling kitchen light") == pytest.approx(1.0, abs=1e-5)


def test_same_on_every_machine_and_in_every_run() -> None:
    program = (
        "from custom_components.home_agent.search.embeddings import vectors_of\n"
        "print(vectors_of(['Kitchen ceiling light'])[0].tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, timeout=60
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {vectors_of(["Kitchen ceiling light"])[0].tobytes().hex().encode() + b"\n"}


async def test_many_texts_do_not_hold_the_house_up(hass: HomeAssistant) -> None:
    vectors = await LexicalEmbedder(hass).async_embed([f"Light number {number}" for number in range(1000)])
    assert vectors.shape == (1000, DIMENSION)
