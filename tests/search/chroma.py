"""A real Chroma server on loopback, as a process that can be killed."""

import json
from pathlib import Path
import subprocess
import time
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-chroma" / "bin" / "python"
_PROGRAM = "import chromadb_rust_bindings, sys; chromadb_rust_bindings.cli(['chroma', 'run', *sys.argv[1:]])"
"""The package's own command imports its client, which nobody needs here."""


class ChromaServer:
    """`chroma run` in a folder; started again, it has what it had."""

    def __init__(self, folder: Path) -> None:
        self.port = 0
        """Chosen at the first start; it stays the same."""
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self._process is not None:
            return
        self.port = self.port or free_port()
        arguments = ["--path", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [PYTHON, "-c", _PROGRAM, *arguments], cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, "chroma ended"
            assert time.monotonic() < deadline, "chroma does not answer"
            time.sleep(0.05)

    def clear(self) -> None:
        root = f"http://127.0.0.1:{self.port}/api/v2/tenants/default_tenant/databases/default_database/collections"
        with urlopen(root, timeout=10) as answer:
            names = [collection["name"] for collection in json.load(answer)]
        for name in names:
            urlopen(Request(f"{root}/{name}", method="DELETE"), timeout=10).close()

    def make(self, name: str) -> None:
        root = f"http://127.0.0.1:{self.port}/api/v2/tenants/default_tenant/databases/default_database/collections"
        body = json.dumps({"name": name}).encode()
        urlopen(Request(root, body, {"Content-Type": "application/json"}), timeout=10).close()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/api/v2/heartbeat", timeout=5) as answer:
                return bool(answer.status == 200)
        except URLError, OSError:
            return False
