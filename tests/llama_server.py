"""A real model server: llama.cpp with a very small model, as `scripts/setup` makes it in `.llama`."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
import os
from pathlib import Path
import subprocess
import time

import pytest

from tests.ports import free_port

FOLDER = Path(__file__).parents[1] / ".llama"
TEMPLATE = Path(__file__).with_name("llama_tools.jinja")
START_LIMIT = 180.0  # seconds


def ready(port: int) -> bool:
    """Whether the server has loaded its model."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def require_llama() -> None:
    """Skip what needs a real server where a person wants to do without; fail where it was forgotten."""
    if os.environ.get("WITHOUT_LLAMA"):
        pytest.skip("WITHOUT_LLAMA is set: nothing runs against a real model server")
    if not (FOLDER / "llama-server").exists():
        pytest.fail("no .llama here: run scripts/setup, or set WITHOUT_LLAMA=1 to leave these tests out")


@dataclass(frozen=True, slots=True)
class Running:
    """A server."""

    port: int
    process: subprocess.Popen[bytes]


@contextmanager
def llama_server(
    log: Path, *, window: int = 8192, slots: int = 1, tools: bool = False, key: str | None = None, wait: bool = True
) -> Generator[Running]:
    """Run a server; with `wait` it is yielded once the model is loaded. The window is shared by the slots.

    The model's own chat template knows no tools, and leaves them out; with `tools` it is one that has them. With `key` it
    answers nobody without it.
    """
    port = free_port()
    command = [str(FOLDER / "llama-server"), "-m", str(FOLDER / "model.gguf"), "--host", "127.0.0.1"]
    command += ["--port", str(port)]
    command += ["-c", str(window), "-np", str(slots), "--jinja", "--no-warmup"]
    command += ["-t", "1"]  # two wait for each other on a busy machine, and are slower than one
    command += ["--chat-template-file", str(TEMPLATE)] if tools else []
    command += ["--api-key", key] if key else []
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            ends = time.monotonic() + START_LIMIT
            while wait and not ready(port):
                if process.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError(f"llama-server did not start:\n{log.read_text()[-4000:]}")
                time.sleep(0.1)
            yield Running(port, process)
        finally:
            process.kill()
