"""A server that speaks the protocol by hand, as the official SDK would not: it means harm."""

import asyncio
import json
from typing import Any

from aiohttp import web

from tests.tools.custom.rest_server import Answer

TOOL: dict[str, Any] = {"name": "ask", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


class Hostile:
    """Does as a server should until a tool is called."""

    def __init__(self) -> None:
        self.called: Answer | None = None
        self.result: dict[str, Any] = said("Fine.")
        self.tools: list[dict[str, Any]] = [TOOL]
        self.bodies: list[str] = []
        self.calls: list[str] = []
        """Names of the tools that were called."""
        self.port = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def start(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/mcp", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405)
        body = (await request.read()).decode()
        self.bodies.append(body)
        asked = json.loads(body)
        info = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
        match asked["method"]:
            case "initialize":
                return _json(asked, result=info)
            case "tools/list":
                return _json(asked, result={"tools": self.tools})
            case "tools/call":
                self.calls.append(asked["params"]["name"])
                if self.called is not None:
                    return await self.called(request)
                return _json(asked, **({"result": self.result} if "content" in self.result else {"error": self.result}))
        return web.Response(status=202)


def _json(asked: dict[str, Any], **members: Any) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "id": asked["id"], **members})


def said(text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def stream(chunk: bytes, times: int = 10**9) -> Answer:
    """Return an answer that sends the same again and again."""

    async def send(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            for _ in range(times):
                await response.write(chunk)
                await asyncio.sleep(0)
        except ConnectionResetError:
            pass
        return response

    return send
