"""A server on 127.0.0.1 that answers as a test plans and keeps what it was asked."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

type Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    method: str
    target: str
    """Path and query, as they came over the wire."""
    headers: Mapping[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, list[str]]:
        return parse_qs(self.body.decode())


class RestServer:
    """Answers with JSON unless a path has an answer of its own."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: dict[str, Answer] = {}
        self.tokens: list[str] = ["token-one", "token-two", "token-three"]
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self) -> None:
        app = web.Application(client_max_size=1024**2)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def last(self) -> Asked:
        return self.asked[-1]

    @property
    def targets(self) -> list[str]:
        return [asked.target for asked in self.asked]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(Asked(request.method, request.raw_path, request.headers.copy(), await request.read()))
        return await self.answers.get(request.path, answer({"ok": True}))(request)


def answer(body: Any = None, status: int = 200, **headers: str) -> Answer:
    """Return an answer: JSON, unless `body` is text or bytes."""

    async def send(_request: web.Request) -> web.StreamResponse:
        if isinstance(body, (str, bytes)):
            given = {"Content-Type": "text/plain; charset=utf-8"} | {
                name.replace("_", "-"): value for name, value in headers.items()
            }
            return web.Response(body=body, status=status, headers=given)
        return web.json_response(body, status=status, headers=headers)

    return send


def in_turn(*answers: Answer) -> Answer:
    """Return an answer that is another one each time; the last one stays."""
    left = list(answers)

    async def send(request: web.Request) -> web.StreamResponse:
        return await (left.pop(0) if len(left) > 1 else left[0])(request)

    return send


def redirect(location: str, status: int = 302) -> Answer:
    return answer("", status, Location=location)


async def echo(request: web.Request) -> web.StreamResponse:
    return web.json_response(
        {"target": request.raw_path, "headers": dict(request.headers), "body": (await request.read()).decode()}
    )


def serve_tokens(server: RestServer, **more: Any) -> None:
    """Let the server give a new token each time, and accept the newest only."""
    given: list[str] = []

    async def token(_request: web.Request) -> web.StreamResponse:
        given.append(f"access-token-{len(given)}")
        return web.json_response({"access_token": given[-1], "token_type": "bearer", "expires_in": 3600} | more)

    async def protected(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {given[-1]}":
            return web.json_response({"error": "invalid_token"}, status=401)
        return await echo(request)

    server.answers["/token"] = token
    server.answers["/v1"] = protected
    server.answers["/revoke"] = answer({})
