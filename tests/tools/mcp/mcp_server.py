"""A server built with the official SDK, of whichever generation is installed, on loopback and with a loop of its own.

Run as a program: `python -m tests.tools.mcp.mcp_server PORT TRANSPORT TOKEN FOLDER CERTIFICATE`. A process apart, because the SDK's server
lives in anyio and starlette, whose tasks would count as leftovers of the test.
"""

import asyncio
from collections.abc import Callable
from importlib import import_module
import json
from pathlib import Path
import socket
import subprocess
import sys
import time
from typing import Any

from tests.ports import free_port

HUGE = "x" * 50_000


class McpServer:
    """A process that serves tools."""

    def __init__(
        self,
        folder: Path,
        *,
        transport: str = "streamable_http",
        token: str = "",
        port: int = 0,
        certificate: Path | None = None,
    ) -> None:
        self._folder = folder
        self._transport = transport
        self._token = token
        self._certificate = certificate
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        scheme = "https" if self._certificate else "http"
        return f"{scheme}://127.0.0.1:{self.port}/{'sse' if self._transport == 'sse' else 'mcp'}"

    def forget(self) -> None:
        (self._folder / "calls").unlink(missing_ok=True)
        (self._folder / "requests").unlink(missing_ok=True)

    @property
    def requests(self) -> int:
        """How many requests arrived, the refused ones included."""
        path = self._folder / "requests"
        return path.stat().st_size if path.exists() else 0

    @property
    def calls(self) -> list[dict[str, Any]]:
        path = self._folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def start(self) -> None:
        arguments = ["-m", "tests.tools.mcp.mcp_server", str(self.port), self._transport, self._token or "-"]
        arguments += [str(self._folder), str(self._certificate or "-")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen([sys.executable, *arguments], stdout=log, stderr=log)
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError((self._folder / "log").read_text())

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _serve(port: int, transport: str, token: str, folder: Path, certificate: str) -> None:  # noqa: C901 - one small function per tool
    import_module("homeassistant")  # first of all: it puts httpx2 in the place of httpx where it does
    types: Any = import_module("mcp.types")
    try:
        module = import_module("mcp.server.mcpserver")
        server: Any = module.MCPServer("House library")
    except ImportError:
        module = import_module("mcp.server.fastmcp")
        server = module.FastMCP("House library")

    def tool[**P, R](**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
        decorate: Callable[[Callable[P, R]], Callable[P, R]] = server.tool(**options)
        return decorate

    def hints(**values: bool) -> Any:
        return types.ToolAnnotations(**values)

    def note(name: str, **arguments: Any) -> None:
        with (folder / "calls").open("a") as file:
            file.write(json.dumps({"name": name, **arguments}) + "\n")

    @tool(annotations=hints(readOnlyHint=True), description="Look a book up.\u202e")
    def find_book(title: str, limit: int = 3) -> str:
        note("find_book", title=title)
        return f"Found {title}: shelf 4.\x1b[31m"

    @tool(annotations=hints(readOnlyHint=False), title="Lend a book")
    def lend_book(title: str) -> str:
        note("lend_book", title=title)
        return f"Lent {title}"

    @tool(annotations=hints(readOnlyHint=True, destructiveHint=True))
    def burn_books() -> str:
        note("burn_books")
        return "ashes"

    @tool()
    def unsaid() -> str:
        note("unsaid")
        return "?"

    @tool(annotations=hints(readOnlyHint=True))
    def huge() -> str:
        return HUGE

    @tool(annotations=hints(readOnlyHint=True), structured_output=False)
    def cover() -> Any:
        image = types.ImageContent(type="image", data="QUJD", mimeType="image/png")
        return [types.TextContent(type="text", text="The cover:"), image]

    @tool(annotations=hints(readOnlyHint=True))
    def catalogue() -> str:
        return json.dumps({"books": [{"title": "Emil"}, {"title": "Lotta"}]})

    @tool(annotations=hints(readOnlyHint=True))
    def fails() -> str:
        raise ValueError("the shelf fell down")

    @tool(annotations=hints(readOnlyHint=True))
    def repeats_key() -> str:
        return f"Your key is {token}"

    @tool(annotations=hints(readOnlyHint=True))
    async def slow(pause: float = 0.3) -> str:
        note("slow")
        await asyncio.sleep(pause)
        note("slow done")
        return "done"

    @tool(name="ha.query", annotations=hints(readOnlyHint=True))
    def dotted() -> str:
        return "dotted"

    async def grow(ctx: Any) -> str:
        server.add_tool(lambda: "grown", name="grown", description="New.", annotations=hints(readOnlyHint=True))
        await ctx.session.send_tool_list_changed()
        return "ok"

    grow.__annotations__["ctx"] = module.Context
    tool(annotations=hints(readOnlyHint=True))(grow)

    app = server.sse_app() if transport == "sse" else server.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            with (folder / "requests").open("a") as file:
                file.write("x")
            if headers.get(b"host", b"").startswith(
                b"mcp.example.com:"
            ):  # the SDK's server is sure of its own names alone
                scope["headers"] = [*{**headers, b"host": f"127.0.0.1:{port}".encode()}.items()]
            if token != "-" and headers.get(b"authorization") != f"Bearer {token}".encode():
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b"no"})
                return
        await app(scope, receive, send)

    tls = {} if certificate == "-" else {"ssl_certfile": certificate, "ssl_keyfile": certificate}
    import_module("uvicorn").run(guarded, host="127.0.0.1", port=port, log_level="warning", **tls)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2], sys.argv[3], Path(sys.argv[4]), sys.argv[5])
