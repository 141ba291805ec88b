"""Exact counts where a tokenizer and its file are already there; never a download, never an error."""

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha1, sha256
from importlib import import_module
from pathlib import Path
import socket
import sys
from types import ModuleType

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client.exact import load_counter
from custom_components.home_agent.client.tokens import LONG, TokenEstimator
from tests.house import set_up
from tests.llm_server import LLMServer

URL = "https://example.invalid/tiny.tiktoken"
TOKENS = [*(bytes([number]) for number in range(256)), b"no", b"on", b"noon"]
FILE = b"".join(b64encode(token) + b" %d\n" % rank for rank, token in enumerate(TOKENS))
PLUGIN = f'''
from tiktoken.load import load_tiktoken_bpe

def tiny():
    ranks = load_tiktoken_bpe("{URL}", expected_hash="{sha256(FILE).hexdigest()}")
    return {{"name": "tiny", "pat_str": r"\\w+|\\W", "mergeable_ranks": ranks, "special_tokens": {{}}}}

ENCODING_CONSTRUCTORS = {{"tiny": tiny}}
'''


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes | None], None]:
    """Return a function that keeps the file of an encoding `tiny` for the model `scripted`; without one, none is there."""
    tiktoken = pytest.importorskip("tiktoken")
    plugins = tmp_path / "plugins" / "tiktoken_ext"
    plugins.mkdir(parents=True)
    (plugins / "tiny_encodings.py").write_text(PLUGIN)
    tiktoken_ext = import_module("tiktoken_ext")
    monkeypatch.setattr(tiktoken_ext, "__path__", [*tiktoken_ext.__path__, str(plugins)])
    monkeypatch.setitem(tiktoken.model.MODEL_TO_ENCODING, "scripted", "tiny")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)

    def keep_file(data: bytes | None) -> None:
        if data is not None:
            (tmp_path / sha1(URL.encode(), usedforsecurity=False).hexdigest()).write_bytes(data)

    return keep_file


def test_the_file_that_is_there_is_used(keep: Callable[[bytes | None], None]) -> None:
    keep(FILE)
    for model in ("scripted", "openai/scripted"):
        count = load_counter(model)
        assert count
        assert count("noon noon x") == 5


@pytest.mark.parametrize("data", [None, b"", FILE[:-20], b"<html>"], ids=["none", "empty", "cut", "page"])
def test_without_it_nobody_is_asked_for_it(
    keep: Callable[[bytes | None], None], tmp_path: Path, data: bytes | None
) -> None:
    keep(data)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert load_counter("scripted") is None
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_model_that_the_library_does_not_know(keep: Callable[[bytes | None], None]) -> None:
    keep(FILE)
    assert load_counter("qwen3:8b") is None


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert load_counter("gpt-4o") is None


def test_a_library_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", ModuleType("tiktoken"))
    assert load_counter("gpt-4o") is None


def test_long_texts_are_estimated() -> None:
    estimator = TokenEstimator()
    estimator.exact = lambda text: 7
    assert estimator.estimate("a" * LONG) == 7
    assert estimator.estimate("a" * (LONG + 1)) > 100


def test_a_tokenizer_that_fails_is_not_asked_again() -> None:
    asked = []

    def fail(text: str) -> int:
        asked.append(text)
        raise ValueError(text)

    estimator = TokenEstimator()
    estimator.exact = fail
    assert estimator.estimate("noon") == estimator.estimate("noon") > 0
    assert len(asked) == 1


async def test_it_is_looked_for_in_the_background(
    hass: HomeAssistant, llm_server: LLMServer, keep: Callable[[bytes | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(FILE)
    entry = await set_up(hass, llm_server)
    await hass.async_block_till_done(wait_background_tasks=True)
    (endpoint,) = entry.runtime_data.endpoints.values()
    assert endpoint.client.estimator.estimate("noon noon x") == 5
