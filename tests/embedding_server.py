"""An embedding endpoint on loopback: OpenAI's `/v1/embeddings` and Ollama's `/api/embed`.

In tests, through the fixture `embedding_server`. Its vectors are made of letters, so that
texts with words in common are near. What is planned is answered first: a reply of tests/llm_server.py, or a function that is
given the texts and returns their vectors.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
import json
from typing import Any
from zlib import crc32

from aiohttp import web

from tests.llm_server import Reply

type Make = Callable[[Sequence[str]], list[list[float]]]


class EmbeddingServer:
    def __init__(self, dimension: int = 32) -> None:
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
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        """Everything that was to be embedded so far."""
        return [text for body in self.requests for text in body["input"]]

    def plan(self, *replies: Reply | Make) -> None:
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
                status=planned.status, body=planned.body, content_type=planned.content_type, headers=planned.headers
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
    folded = []
    for row in vectors_of(texts):
        short = [0.0] * dimension
        short[0] = 1e-3
        for number, value in enumerate(row):
            short[number % dimension] += float(value)
        folded.append(short)
    return folded


def vectors_of(texts: Sequence[str], dimension: int = 512) -> list[list[float]]:
    """Return one vector of length 1 per text: each word and each group of three letters stands at a place of its own."""
    return [_vector(text, dimension) for text in texts]


def _vector(text: str, dimension: int) -> list[float]:
    # Not before it is needed: a test with a browser has no Home Assistant in its own process
    from custom_components.home_agent.support.nearness import grams
    from custom_components.home_agent.support.text import fold, words

    vector = [0.0] * dimension
    for word, count in Counter(fold(word) for word in words(text)).items():
        weight = count**0.5  # the second time says less than the first
        parts = sorted(grams(word))  # in any order, sums would differ
        for feature, weighs in ((word, weight), *((part, weight * 0.5 / len(parts) ** 0.5) for part in parts)):
            hashed = crc32(feature.encode(errors="replace"))
            vector[hashed % dimension] += weighs if hashed & 0x8000_0000 else -weighs
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector] if length else vector
