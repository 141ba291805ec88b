"""Counts tokens exactly, where the library `tiktoken` and the file of the model's encoding are already there.

Neither is installed or downloaded: the library's own loader would fetch a missing file, so its file is read here. Models that
the library does not know, which is all but OpenAI's, are estimated.
"""

from base64 import b64decode
from collections.abc import Callable, Mapping
from hashlib import sha1, sha256
from importlib import import_module
from os import environ
from pathlib import Path
import pkgutil
from tempfile import gettempdir
from types import FunctionType
from typing import Any

from ..const import LOGGER

type Counter = Callable[[str], int]
"""Returns the tokens of a text."""


def load_counter(model: str) -> Counter | None:
    """Return how the tokens of a model are counted, None where that is not known. Reads files, and takes a moment."""
    try:
        tiktoken: Any = import_module("tiktoken")
    except ImportError:
        return None
    try:
        name = tiktoken.encoding_name_for_model(model.rpartition("/")[2])
        encoding = tiktoken.Encoding(**_parameters(name))
    except Exception as err:  # noqa: BLE001 - whatever is wrong with it, tokens are estimated then
        LOGGER.debug("Tokens of %s are estimated: %s", model, type(err).__name__)
        return None
    LOGGER.debug("Tokens of %s are counted as %s", model, name)
    return lambda text: len(encoding.encode_ordinary(text))


def _parameters(name: str) -> Mapping[str, Any]:
    """Return what makes an encoding. Raises `FileNotFoundError` when its file is not there, `LookupError` when unknown."""
    plugins: Any = import_module("tiktoken_ext")
    for module in pkgutil.iter_modules(plugins.__path__, f"{plugins.__name__}."):
        constructor = getattr(import_module(module.name), "ENCODING_CONSTRUCTORS", {}).get(name)
        if constructor is not None:
            # The same code with another loader: one that never goes to the network.
            copy = FunctionType(constructor.__code__, {**constructor.__globals__, "load_tiktoken_bpe": _ranks})
            parameters: Mapping[str, Any] = copy()
            return parameters
    raise LookupError(name)


def _ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Return the ranks in the file that was kept of an address: a line for each, base64 and a number."""
    folder = environ.get("TIKTOKEN_CACHE_DIR") or environ.get("DATA_GYM_CACHE_DIR") or f"{gettempdir()}/data-gym-cache"
    data = (Path(folder) / sha1(url.encode(), usedforsecurity=False).hexdigest()).read_bytes()
    if expected_hash is None or sha256(data).hexdigest() != expected_hash:
        raise ValueError("expected_hash")
    pairs = (line.split() for line in data.splitlines() if line)
    return {b64decode(token): int(rank) for token, rank in pairs}
