"""One server answers a few requests at once: the others wait in order, and what no person waits for comes last."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client.capacity import AT_ONCE, AT_ONCE_REMOTE, Capacity, capacity_of
from custom_components.home_agent.client.messages import ChatRequest, ModelReply
from tests.house import until
from tests.llm_server import LLMServer, Reply, text

from .conftest import REQUEST, MakeClient, ask


class Server:
    """Holds places of a server and notes in which order they were given."""

    def __init__(self, most: int) -> None:
        self.capacity = Capacity(most)
        self.order: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def ask(self, *names: str, background: bool = False) -> None:
        for name in names:
            self.ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._hold(name, background=background))
            await asyncio.sleep(0)

    async def end(self, *names: str) -> None:
        for name in names:
            self.ends[name].set()
            await self.tasks[name]
        await asyncio.sleep(0)

    async def leave(self, name: str) -> None:
        self.tasks[name].cancel()
        with suppress(asyncio.CancelledError):
            await self.tasks[name]
        await asyncio.sleep(0)

    async def _hold(self, name: str, *, background: bool) -> None:
        async with self.capacity.place(background=background):
            self.order.append(name)
            await self.ends[name].wait()


async def test_those_who_wait_are_served_in_order() -> None:
    server = Server(2)
    await server.ask("a", "b", "c", "d", "e")
    assert server.order == ["a", "b"]
    await server.end("b")
    assert server.order == ["a", "b", "c"]
    await server.end("a", "c", "d", "e")
    assert server.order == ["a", "b", "c", "d", "e"]


async def test_background_work_waits_for_people() -> None:
    server = Server(2)
    await server.ask("a", "b")
    await server.ask("work", background=True)
    await server.ask("c", "d")
    await server.end("a", "b")
    assert server.order == ["a", "b", "c", "d"]
    await server.end("c")
    assert server.order == ["a", "b", "c", "d"], "the last place is kept for people"
    await server.end("d", "work")
    assert server.order == ["a", "b", "c", "d", "work"]


async def test_background_work_leaves_a_place() -> None:
    server = Server(2)
    await server.ask("work", "more work", background=True)
    await server.ask("a")
    assert server.order == ["work", "a"]
    await server.end("work", "a", "more work")


@pytest.mark.parametrize("leaves", ["b", "c", "d"])
async def test_who_leaves_the_queue_takes_no_place(leaves: str) -> None:
    server = Server(1)
    await server.ask("a", "b", "c", "d")
    await server.leave(leaves)
    rest = [name for name in ("b", "c", "d") if name != leaves]
    await server.end("a", *rest)
    assert server.order == ["a", *rest]
    await server.ask("e")
    assert server.order[-1] == "e"
    await server.end("e")


async def test_who_leaves_with_a_place_gives_it_back() -> None:
    server = Server(1)
    await server.ask("a", "b")
    await server.leave("a")
    assert server.order == ["a", "b"]
    await server.end("b")


async def test_leaving_at_the_moment_of_being_served_loses_no_place() -> None:
    server = Server(1)
    await server.ask("a", "b", "c")
    server.ends["a"].set()
    for _ in range(3):  # until the place is given, before the one who has it runs
        await asyncio.sleep(0)
        server.tasks["b"].cancel()
    await server.tasks["a"]
    await asyncio.sleep(0)
    await server.end("c")
    assert server.order[-1] == "c"


async def test_models_of_one_server_share_its_places(hass: HomeAssistant) -> None:
    home = capacity_of(hass, "http://192.168.1.5:8080/v1", remote=False)
    assert capacity_of(hass, "http://192.168.1.5:8080/other", remote=False) is home
    assert capacity_of(hass, "http://192.168.1.5:8081/v1", remote=False) is not home
    assert AT_ONCE < AT_ONCE_REMOTE


def counted(server: LLMServer) -> Iterator[int]:
    """Count the requests that are answered at once."""
    running = [0, 0]

    def answer(_body: dict[str, object]) -> Reply:
        running[0] += 1
        running[1] = max(running)

        def pieces() -> Iterator[dict[str, object] | float]:
            yield 0.1
            yield {"choices": [{"delta": {"content": "Yes."}}]}
            running[0] -= 1

        return replace(text("Yes."), pieces=pieces())

    server.respond(answer)
    while True:
        yield running[1]


async def test_no_more_requests_at_once_than_places(make_client: MakeClient, llm_server: LLMServer) -> None:
    most = counted(llm_server)
    next(most)
    one, other = make_client(), make_client(model="other")
    await asyncio.gather(*(ask(client) for client in (one, other) for _ in range(6)))
    assert next(most) == AT_ONCE
    assert len(llm_server.requests) == 12


async def test_a_client_that_leaves_frees_its_place(make_client: MakeClient, llm_server: LLMServer) -> None:
    client = make_client()
    llm_server.respond(lambda _body: Reply(silent=True, ending=False))
    asking = [asyncio.create_task(ask(client)) for _ in range(AT_ONCE + 2)]
    await until(lambda: len(llm_server.requests) == AT_ONCE)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    llm_server.respond(lambda _body: text("Yes."))
    request = ChatRequest(messages=REQUEST.messages, background=True)
    assert [item async for item in client.stream(request, ModelReply())]
