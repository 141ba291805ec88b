"""Home Assistant's public HTTP and websocket API, as one logged-in user sees it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
import itertools
import time
from typing import Any

from aiohttp import ClientResponse, ClientSession, ClientWebSocketResponse, WSMsgType

type JSON = Any
"""What an API answered: the caller knows its shape."""

RUNNING_TIMEOUT = 120  # seconds
ANSWER_TIMEOUT = 60  # seconds


class ApiError(Exception):
    """Home Assistant said no."""

    def __init__(self, status: int | str, text: str) -> None:
        """Keep what it said; `status` is an HTTP status or a websocket error code."""
        super().__init__(f"{status} {text}")
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Answer:
    """What `/api/conversation/process` answered."""

    raw: dict[str, Any]

    @property
    def speech(self) -> str:
        """What is said."""
        speech: str = self.raw["response"]["speech"].get("plain", {}).get("speech", "")
        return speech

    @property
    def kind(self) -> str:
        """Give `action_done`, `query_answer` or `error`."""
        kind: str = self.raw["response"]["response_type"]
        return kind

    @property
    def conversation_id(self) -> str:
        """Pass it to the next `say` to go on."""
        conversation_id: str = self.raw["conversation_id"]
        return conversation_id


class Socket:
    """One websocket connection: commands and subscriptions, as many at a time as one likes."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        """Take over a connection that has logged in."""
        self._socket = socket
        self._ids = itertools.count(1)
        self._results: dict[int, asyncio.Future[JSON]] = {}
        self._events: dict[int, asyncio.Queue[JSON]] = {}
        self._reader = asyncio.create_task(self._read())

    async def command(self, command: str, **fields: Any) -> JSON:
        """Send one command; return its result. Raises `ApiError`."""
        return await self._send(next(self._ids), command, fields)

    @asynccontextmanager
    async def subscribe(self, command: str, **fields: Any) -> AsyncGenerator[asyncio.Queue[JSON]]:
        """Send a command that is answered by events; yield their queue."""
        number = next(self._ids)
        queue = self._events[number] = asyncio.Queue()
        await self._send(number, command, fields)
        try:
            yield queue
        finally:
            del self._events[number]

    async def _send(self, number: int, command: str, fields: dict[str, Any]) -> JSON:
        future = self._results[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "type": command, **fields})
        async with asyncio.timeout(60):
            return await future

    async def _read(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                continue
            data = message.json()
            if data["type"] == "event" and (queue := self._events.get(data["id"])):
                queue.put_nowait(data["event"])
            elif data["type"] == "result" and (future := self._results.pop(data["id"], None)):
                if data["success"]:
                    future.set_result(data["result"])
                else:
                    future.set_exception(ApiError(data["error"]["code"], data["error"]["message"]))

    async def close(self) -> None:
        """Close the connection, as a browser does that is closed: without a word."""
        self._reader.cancel()
        await self._socket.close()


class Api:
    """A session with one Home Assistant."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client_id = f"{url}/"  # what the frontend uses: where it was loaded from
        self.tokens: dict[str, Any] = {}
        self._session: ClientSession | None = None
        self._socket: Socket | None = None

    @property
    def session(self) -> ClientSession:
        if self._session is None:
            self._session = ClientSession()
        return self._session

    async def get(self, path: str) -> JSON:
        """GET with the user's token; raises `ApiError`."""
        return await self.request("GET", path)

    async def post(self, path: str, **data: Any) -> JSON:
        """POST JSON with the user's token; raises `ApiError`."""
        return await self.request("POST", path, data)

    async def say(
        self,
        text: str,
        *,
        agent: str | None = None,
        conversation_id: str | None = None,
        language: str = "en",
        patience: float = ANSWER_TIMEOUT,
    ) -> Answer:
        """Say something to an agent, over HTTP; one that is being loaded anew is waited for."""
        message = {"text": text, "language": language, "agent_id": agent, "conversation_id": conversation_id}
        async with asyncio.timeout(patience):
            while True:
                try:
                    return Answer(
                        await self.post("/api/conversation/process", **{k: v for k, v in message.items() if v})
                    )
                except ApiError as err:
                    if "invalid agent ID" not in err.text:
                        raise
                await asyncio.sleep(0.1)

    async def request(self, method: str, path: str, data: Any = None) -> JSON:
        """Return the JSON of an answer."""
        headers = {"Authorization": f"Bearer {self.tokens['access_token']}"} if self.tokens else {}
        async with self.session.request(method, self.url + path, json=data, headers=headers) as response:
            return await _json(response)

    async def command(self, command: str, **fields: Any) -> JSON:
        """Send one websocket command; return its result. Raises `ApiError`."""
        return await (await self.socket()).command(command, **fields)

    async def socket(self) -> Socket:
        """Return the websocket connection that all commands share."""
        if self._socket is None:
            self._socket = await self.connect()
        return self._socket

    async def connect(self) -> Socket:
        socket = await self.session.ws_connect(f"{self.url}/api/websocket", max_msg_size=0)
        await socket.receive_json()  # auth_required
        await socket.send_json({"type": "auth", "access_token": self.tokens["access_token"]})
        answer = await socket.receive_json()
        if answer["type"] != "auth_ok":
            raise ApiError(answer["type"], answer.get("message", ""))
        return Socket(socket)

    async def log_in(self, user: str, password: str, language: str = "en") -> None:
        """Become this user: the owner that onboarding makes on the first boot, or one who logs in."""
        try:
            left = [step["step"] for step in await self.get("/api/onboarding") if not step["done"]]
        except ApiError:  # everything was done before this boot
            left = []
        if "user" not in left:
            await self._log_in_again(user, password)
        else:
            owner = {"name": user.title(), "username": user, "password": password, "language": language}
            created = await self.post("/api/onboarding/users", client_id=self.client_id, **owner)
            await self._exchange(created["auth_code"])
        await self._wait_until_running()
        if "analytics" in left:
            await self.post("/api/onboarding/analytics")
        if "integration" in left:
            await self.post("/api/onboarding/integration", client_id=self.client_id, redirect_uri=self.client_id)

    async def _log_in_again(self, user: str, password: str) -> None:
        flow = await self.post(
            "/auth/login_flow", client_id=self.client_id, handler=["homeassistant", None], redirect_uri=self.client_id
        )
        step = await self.post(
            f"/auth/login_flow/{flow['flow_id']}", client_id=self.client_id, username=user, password=password
        )
        if step["type"] != "create_entry":
            raise ApiError("invalid_auth", str(step.get("errors")))
        await self._exchange(step["result"])

    async def _exchange(self, code: str) -> None:
        """Trade an authorization code for tokens (a form, not JSON)."""
        form = {"grant_type": "authorization_code", "code": code, "client_id": self.client_id}
        async with self.session.post(f"{self.url}/auth/token", data=form) as response:
            self.tokens = await _json(response)

    async def _wait_until_running(self) -> None:
        async with asyncio.timeout(RUNNING_TIMEOUT):
            while (await self.get("/api/config"))["state"] != "RUNNING":
                await asyncio.sleep(0.1)

    @property
    def frontend_tokens(self) -> dict[str, Any]:
        """What the frontend keeps in localStorage["hassTokens"]."""
        expires = int((time.time() + self.tokens["expires_in"]) * 1000)
        return {**self.tokens, "hassUrl": self.url, "clientId": self.client_id, "expires": expires}

    async def disconnect(self) -> None:
        """Close all connections; the tokens stay good."""
        socket, self._socket = self._socket, None
        session, self._session = self._session, None
        if socket:
            await socket.close()
        if session:
            await session.close()


async def _json(response: ClientResponse) -> JSON:
    if response.status >= 400:
        raise ApiError(response.status, (await response.text())[:2000])
    return await response.json()
