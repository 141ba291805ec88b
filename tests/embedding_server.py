"""An embedding endpoint on loopback: OpenAI's `/v1/embeddings` and Ollama's `/api/embed`.

In tests, through the fixture `embedding_server`. Its vectors are made of letters (search/embeddings.py), so that
texts with words in common are near. What is planned is answered first: a reply of tests/llm_server.py, or a function that is
given the texts and returns their vectors.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
import json
from typing import Any

from aiohttp import web

from tests.llm_server import Reply

type Make = Callable[[Sequence[str]], list[list[float]]]


class EmbeddingServer:
    """The server; see the module."""

    def __init__(self, dimension: int = 32) -> None:
        """Plan nothing."""
        self.dimension = dimension
        """How long the vectors are."""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.peers: list[object] = []
        """The client's end of each connection."""
        self.delay = 0.0
        """Seconds until each answer."""
        self._plan: deque[Reply | Make] = deque()
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def base_url(self) -> str:
        """Address that a client is configured with."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        """Everything that was to be embedded so far."""
        return [text for body in self.requests for text in body["input"]]

    def plan(self, *replies: Reply | Make) -> None:
        """Queue replies."""
        self._plan.extend(replies)

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/embeddings", self._on_request)
        app.router.add_post("/api/embed", self._on_request)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close every connection."""
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector per text, not normalised."""
        return [[3 * value for value in row] for row in _folded(texts, self.dimension)]

    async def _on_request(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.paths.append(request.path)
        self.peers.append(request.transport.get_extra_info("peername") if request.transport else None)
        if self.delay:
            await asyncio.sleep(self.delay)
        planned = self._plan.popleft() if self._plan else self.vectors
        if isinstance(planned, Reply):
            if planned.silent:
                await asyncio.Event().wait()
            return web.Response(
                status=planned.status,
                body=planned.body,
                content_type=planned.content_type,
                headers=planned.headers,
            )
        rows = planned(body["input"])
        if request.path == "/api/embed":
            answer: dict[str, Any] = {"model": body["model"], "embeddings": rows}
        else:
            data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
            answer = {"object": "list", "model": body["model"], "data": data[::-1]}  # the index says the order
        return web.Response(text=json.dumps(answer), content_type="application/json")


def _folded(texts: Sequence[str], dimension: int) -> list[list[float]]:
    """Return vectors of letters, made shorter by adding up, and never all zero."""
    # Not before it is needed: a test with a browser has no Home Assistant in its own process
    from custom_components.home_agent.search.embeddings import vectors_of

    folded = []
    for row in vectors_of(texts):
        short = [0.0] * dimension
        short[0] = 1e-3
        for number, value in enumerate(row):
            short[number % dimension] += float(value)
        folded.append(short)
    return folded
