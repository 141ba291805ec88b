"""A real server of llama.cpp with a real, very small model: what no scripted endpoint can tell about the protocol.

What the model says is worth nothing; that it is asked, heard, hung up on and told the right things is. It calls a tool
only when a grammar makes it: the go-between in front of it can rewrite a request.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
import json
from pathlib import Path
import signal
from typing import Any

from aiohttp import ClientSession, ClientTimeout, web
import pytest
from pytest_asyncio import fixture as async_fixture

from tests.llama_server import llama_server, require_llama
from tests.ports import free_port

from .harness import Flow, Hass
from .house import ask_the_model_first

pytestmark = pytest.mark.timeout(600)

type Rewrite = Callable[[dict[str, Any]], None]

ROOT = Path(__file__).parents[2]
KITCHEN, BED = "light.kitchen_lights", "light.bed_light"
DOOR = "lock.front_door"
CAP = 120  # tokens
CHARACTERS = 6  # per token, at most
SAID = "Turn on the kitchen lights"
CHAT = "/v1/chat/completions"
WINDOW = 6144
AUTOMATIONS_WINDOW = 8192
BUTLER = "You are the butler of this house. You speak slowly, and never of the weather. " * 8
HEADS = 24  # tokens that a template puts around messages
PATIENCE = 240.0  # seconds; a busy machine reads twenty tokens in one


@dataclass(slots=True)
class Passed:
    """One request that went through."""

    path: str
    body: dict[str, Any]
    status: int = 0
    answer: str = ""

    @property
    def cached(self) -> int:
        """Tokens of the prompt that the server had."""
        return int(self._last["usage"]["prompt_tokens_details"]["cached_tokens"])

    @property
    def prompt(self) -> int:
        """Tokens of the prompt."""
        return int(self._last["usage"]["prompt_tokens"])

    @property
    def _last(self) -> Any:
        events = [line.removeprefix("data: ") for line in self.answer.splitlines() if line.startswith("data: {")]
        return json.loads(events[-1] if events else self.answer)


@dataclass(slots=True)
class GoBetween:
    """Passes everything on to a server as it is, notes it, and lets a test rewrite requests of its model."""

    server: int
    port: int = field(default_factory=free_port)
    passed: list[Passed] = field(default_factory=list)
    rewrites: list[Rewrite] = field(default_factory=list)
    """Each is used for one request, the first for the next."""

    @property
    def url(self) -> str:
        """What a person enters."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Passed]:
        """The requests of the model."""
        return [passed for passed in self.passed if passed.path == CHAT]

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[GoBetween]:
        """Pass on for the length of a block."""
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._pass)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw) if raw else {}
        if request.path == CHAT:
            body |= {"temperature": 0}
            if self.rewrites:
                self.rewrites.pop(0)(body)
        passed = Passed(request.path, body)
        self.passed.append(passed)
        url = f"http://127.0.0.1:{self.server}{request.path}"
        async with (
            ClientSession(timeout=ClientTimeout(total=None)) as session,
            session.request(request.method, url, json=body if raw else None) as answer,
        ):
            passed.status = answer.status
            response = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                passed.answer += chunk.decode(errors="replace")
                await response.write(chunk)
            await response.write_eof()
            return response

    async def slots(self) -> list[dict[str, Any]]:
        """Return what the server's slots do."""
        async with ClientSession() as session, session.get(f"http://127.0.0.1:{self.server}/slots") as answer:
            found: list[dict[str, Any]] = await answer.json()
            return found

    async def tokens(self, text: str) -> int:
        """Return how many tokens the server makes of a text."""
        url = f"http://127.0.0.1:{self.server}/tokenize"
        async with ClientSession() as session, session.post(url, json={"content": text}) as answer:
            return len((await answer.json())["tokens"])

    async def busy(self) -> int:
        """Return how many of them work."""
        return sum(slot["is_processing"] for slot in await self.slots())


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Generator[int]:
    """The port of a server with one slot."""
    require_llama()
    with llama_server(tmp_path_factory.mktemp("llama") / "llama.log", window=WINDOW, tools=True) as server:
        yield server.port


@async_fixture(scope="module")
async def small_hass(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hass]:
    """A home with two lights: what a small model reads in seconds."""
    require_llama()
    async with Hass(tmp_path_factory.mktemp("small")).running() as hass:
        await hass.expose(*await hass.states(), exposed=False)
        await hass.expose(KITCHEN, BED)
        yield hass


@async_fixture
async def between(real: int) -> AsyncGenerator[GoBetween]:
    """What stands in front of the server."""
    async with GoBetween(real).running() as passing:
        yield passing


@async_fixture
async def home(small_hass: Hass) -> AsyncGenerator[Hass]:
    """The home without Home Agent; its log must stay clean."""
    await small_hass.call("light.turn_off", KITCHEN)
    yield small_hass
    for entry in await small_hass.entries():
        await small_hass.remove_entry(entry["entry_id"])
    small_hass.assert_clean_log()


async def add_model(
    hass: Hass, url: str, *, max_tokens: int | None = 24, automations: bool = False, **advanced: Any
) -> Flow:
    """Add Home Agent with the model of a server of llama.cpp, as its forms ask for it."""
    flow = await (await hass.config_flow()).submit(preset="llama_cpp")
    await flow.submit_well(base_url=url)
    [model] = offered(flow)
    advanced.setdefault("keep_ready", False)  # each request is counted here
    more = ({} if max_tokens is None else {"max_tokens": max_tokens}) | ({"automations": True} if automations else {})
    return await flow.submit_well(model=model, temperature=0, advanced=advanced, **more)


def offered(flow: Flow) -> list[str]:
    """Return the models that a form offers."""
    [found] = [item["selector"]["select"]["options"] for item in flow.step["data_schema"] if item["name"] == "model"]
    return list(found)


async def agent_of(hass: Hass) -> str:
    [agent] = await hass.agents()
    return agent


def longest(body: dict[str, Any]) -> None:
    """Let the model go on until somebody stops it."""
    body |= {"max_tokens": 4000, "ignore_eos": True}


def shortest(body: dict[str, Any]) -> None:
    """Let the model read, and say no more than a word."""
    body |= {"max_tokens": 1}


def one_word(body: dict[str, Any]) -> None:
    """Let the model come to an end: what is cut off is nothing to remember from, and what repeats itself is cut off by us."""
    body |= {"stop": [" ", ".", "!", "?", ",", "\n"]}


async def wait_until_free(between: GoBetween) -> None:
    """Wait until no slot works."""
    async with asyncio.timeout(PATIENCE):
        while await between.busy():
            await asyncio.sleep(0.05)


async def test_set_up_through_the_forms_finds_model_and_window(home: Hass, between: GoBetween) -> None:
    flow = await (await home.config_flow()).submit(preset="llama_cpp")
    await flow.submit_well(base_url=between.url.removesuffix("/v1"))
    [model] = offered(flow)
    assert model == "model"  # of model.gguf
    await flow.submit_well(model=model, max_tokens=24, temperature=0, advanced={"keep_ready": False})
    assert flow.kind == "create_entry"
    assert (await home.say("Tell me about gardens", agent=await agent_of(home), patience=PATIENCE)).speech
    async with asyncio.timeout(PATIENCE):
        while "/props" not in [passed.path for passed in between.passed]:
            await asyncio.sleep(0.05)
        while (window := await window_of(home)) != WINDOW:
            await asyncio.sleep(0.05)
    assert window == WINDOW


async def window_of(hass: Hass) -> int:
    """Return the window that Home Agent takes the model to have."""
    found = (await hass.get(f"/api/diagnostics/config_entry/{await hass.entry_id()}"))["data"]["subentries"]
    [window] = [item["seen"]["context_window"] for item in found if item["type"] == "llm"]
    return int(window)


async def test_answer_is_streamed_as_it_is_written(home: Hass, between: GoBetween) -> None:
    await add_model(home, between.url)
    pipeline = await home.create_pipeline(await agent_of(home))
    run = await home.run_pipeline("Tell me about gardens", pipeline, patience=PATIENCE)
    assert len(run.deltas) >= 5
    assert "".join(run.deltas).strip() == run.answer.speech
    assert between.chats[0].body["stream"] is True


async def test_who_hangs_up_in_mid_answer_frees_the_slot(home: Hass, between: GoBetween) -> None:
    await add_model(home, between.url)
    pipeline = await home.create_pipeline(await agent_of(home))
    between.rewrites.append(longest)
    phone = await home.connect()
    arguments = {"start_stage": "intent", "end_stage": "intent", "input": {"text": "Go on"}, "pipeline": pipeline}
    async with phone.subscribe("assist_pipeline/run", **arguments) as events:
        async with asyncio.timeout(PATIENCE):
            while (await events.get())["type"] != "intent-progress":
                pass
        assert await between.busy() == 1
        await phone.close()
    await wait_until_free(between)
    [cut] = between.chats
    assert "[DONE]" not in cut.answer
    assert (await home.say("Are you there?", agent=await agent_of(home), patience=PATIENCE)).speech


async def test_prompt_over_the_window_still_ends_in_words(home: Hass, tmp_path: Path) -> None:
    with llama_server(tmp_path / "llama.log", window=512) as server:
        async with GoBetween(server.port).running() as between:
            await add_model(home, between.url, context_window=8192)  # more than the server has
            answer = await home.say("Hello", agent=await agent_of(home), patience=PATIENCE)
            assert answer.speech
            assert 400 in [passed.status for passed in between.chats], "the server took what it has no room for"
            assert len(between.chats) <= 3
            home.allow_log("is unavailable" if answer.kind == "error" else "nothing")


async def test_model_that_is_being_loaded_is_waited_for(home: Hass, between: GoBetween, tmp_path: Path) -> None:
    await add_model(home, between.url)
    with llama_server(tmp_path / "llama.log", window=WINDOW, wait=False) as server:
        between.server = server.port
        await until_loading(between)
        server.process.send_signal(signal.SIGSTOP)  # in the middle of loading, however fast this machine is
        asking = asyncio.create_task(home.say("Hello", agent=await agent_of(home), patience=PATIENCE))
        async with asyncio.timeout(PATIENCE):
            while not between.chats:
                await asyncio.sleep(0.05)
        server.process.send_signal(signal.SIGCONT)
        answer = await asking
    assert answer.speech
    assert [passed.status for passed in between.chats] == [503] * (len(between.chats) - 1) + [200]
    assert len(between.chats) > 1


async def until_loading(between: GoBetween) -> None:
    """Wait until a server says that it loads its model."""
    async with asyncio.timeout(PATIENCE), ClientSession() as session:
        while True:
            try:
                async with session.get(f"http://127.0.0.1:{between.server}/health") as answer:
                    assert answer.status == 503, "loaded before anybody looked"
                    return
            except OSError:
                await asyncio.sleep(0.01)


async def test_task_with_a_structure_is_answered_in_it(home: Hass, between: GoBetween) -> None:
    await add_model(home, between.url, max_tokens=200)
    tasks = [entity_id for entity_id in await home.states() if entity_id.startswith("ai_task.")]
    structure = {
        "room": {"required": True, "selector": {"select": {"options": ["kitchen", "garage"]}}},
        "is_dark": {"required": True, "selector": {"boolean": {}}},
    }
    answer = await home.call_for_response(
        "ai_task.generate_data",
        entity_id=tasks[0],
        task_name="Room",
        instructions="In which room does one cook, and is it dark there?",
        structure=structure,
    )
    assert answer["data"].keys() == {"room", "is_dark"}
    assert answer["data"]["room"] in ("kitchen", "garage")
    assert isinstance(answer["data"]["is_dark"], bool)
    [chat] = between.chats
    assert chat.body["response_format"]["type"] == "json_schema"


async def test_two_agents_keep_a_slot_each(home: Hass, tmp_path: Path) -> None:
    with llama_server(tmp_path / "llama.log", window=2 * WINDOW, slots=2) as server:
        async with GoBetween(server.port).running() as between:
            await add_model(home, between.url, max_tokens=8)
            first = await agent_of(home)
            flow = await home.subentry_flow(await home.entry_id(), "profile")
            # a server takes the slot whose prompt begins alike, so two that differ late would share one
            await flow.submit_agent(name="Butler", use_default_prompt=False, custom_prompt=BUTLER)
            async with asyncio.timeout(PATIENCE):
                while not (others := set(await home.agents()) - {first}):
                    await asyncio.sleep(0.05)
            [second] = others
            for agent in (first, second, first, second):
                await home.say("Hello", agent=agent, patience=PATIENCE)
            opening, other, again, other_again = between.chats
            assert other.cached < 0.3 * other.prompt
            for before, after in ((opening, again), (other, other_again)):
                assert after.cached >= 0.7 * before.prompt
            between.rewrites += [longest, longest]
            both = [asyncio.create_task(home.say("Go on", agent=agent, patience=PATIENCE)) for agent in (first, second)]
            async with asyncio.timeout(PATIENCE):
                while await between.busy() < 2:
                    await asyncio.sleep(0.05)
            for task in both:
                task.cancel()


async def test_what_is_worth_remembering_is_asked_and_nothing_is_read_again(home: Hass, tmp_path: Path) -> None:
    """One slot: the extraction goes on with the conversation, and so does the next turn; who speaks ends an extraction."""
    with llama_server(tmp_path / "llama.log", window=WINDOW) as server:
        async with GoBetween(server.port).running() as between:
            await (await add_model(home, between.url, max_tokens=200)).skip_check()
            agent = await agent_of(home)
            await ask_the_model_first(home)
            menu = await home.options_flow(await home.entry_id())
            await (await menu.choose("memory")).submit_well(extraction=True)
            between.rewrites += [one_word, longest, one_word, shortest, one_word]
            first = await home.say("My grandma drinks only peppermint tea", agent=agent, patience=PATIENCE)
            same = first.conversation_id
            await until_passed(between, 2, '"content"')
            await home.say("Grandpa only coffee", agent=agent, conversation_id=same, patience=PATIENCE)
            await until_passed(between, 4, "[DONE]")
            await home.say("What shall I offer them?", agent=agent, conversation_id=same, patience=PATIENCE)
            said, cut, second, extracting, third = between.chats
            for extraction in (cut, extracting):
                assert "worth remembering" in extraction.body["messages"][-1]["content"]
            assert "[DONE]" not in cut.answer
            for before, after in ((said, second), (second, extracting), (second, third)):
                new = after.body["messages"][len(before.body["messages"]) :]
                assert after.cached >= before.prompt - HEADS
                assert after.prompt - after.cached <= await between.tokens(json.dumps(new)) + HEADS


async def until_passed(between: GoBetween, number: int, text: str) -> None:
    """Wait until a text of the answer to a request has come by: that the server is done does not mean that it was heard."""
    async with asyncio.timeout(PATIENCE):
        while len(between.chats) < number or text not in between.chats[number - 1].answer:
            await asyncio.sleep(0.05)


def called(name: str, properties: dict[str, Any]) -> Rewrite:
    """Return what leaves the model nothing but a call of a tool with these arguments."""

    def rewrite(body: dict[str, Any]) -> None:
        [tool] = [tool for tool in body["tools"] if tool["function"]["name"] == name]
        schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
        body["tools"] = [{"type": "function", "function": {**tool["function"], "parameters": schema}}]
        # the grammar lets it talk first; from the first brace on it can write nothing but this call
        body |= {"tool_choice": "required", "parallel_tool_calls": False, "logit_bias": [["{", 100]]}

    return rewrite


def only_words(body: dict[str, Any]) -> None:
    """Let the model say a few words: it would repeat the result, which is no call."""
    del body["tools"]
    body["max_tokens"] = 12


TURN_ON = {"action": {"enum": ["turn_on"]}, "entity_id": {"enum": [KITCHEN]}}


async def test_grammar_makes_the_model_call_a_tool(home: Hass, between: GoBetween) -> None:
    await add_model(home, between.url, max_tokens=80)
    between.rewrites += [called("ha_control", TURN_ON), only_words]
    answer = await home.say("I can see nothing in the kitchen", agent=await agent_of(home), patience=PATIENCE)
    assert answer.speech
    assert await home.state(KITCHEN) == "on"
    assert result_of(between)["success"] is True


async def test_model_makes_a_wish_and_does_nothing_now(home: Hass, between: GoBetween) -> None:
    await add_model(home, between.url, max_tokens=120)
    step = {"type": "object", "properties": TURN_ON, "required": [*TURN_ON], "additionalProperties": False}
    actions = {"type": "array", "items": step, "minItems": 1, "maxItems": 1}
    between.rewrites += [called("make_wish", {"actions": actions, "at": {"enum": ["in 20 min"]}}), only_words]
    answer = await home.say(
        "It should be bright in the kitchen, in 20 minutes", agent=await agent_of(home), patience=PATIENCE
    )
    assert answer.speech
    assert result_of(between)["success"] is True
    [wish] = (await home.call_for_response("home_agent.list_wishes"))["wishes"]
    assert wish["entity_ids"] == [KITCHEN]
    assert await home.state(KITCHEN) == "off"
    await home.call("home_agent.cancel_wish", id=wish["id"])


async def test_model_that_acts_at_once_on_a_time_is_stopped(home: Hass, between: GoBetween) -> None:
    await add_model(home, between.url, max_tokens=80)
    between.rewrites += [called("ha_control", TURN_ON), only_words]
    answer = await home.say(
        "It should be bright in the kitchen, in 20 minutes", agent=await agent_of(home), patience=PATIENCE
    )
    assert answer.speech
    assert "make_wish" in json.dumps(result_of(between))
    assert await home.state(KITCHEN) == "off"


async def test_model_makes_an_automation_that_is_asked_about_first(home: Hass, tmp_path: Path) -> None:
    """The tools of the agent for automations are taken by the server; a grammar makes the model call one of them."""
    trigger = exactly({"trigger": "state", "entity_id": BED, "to": "on"})
    action = exactly({"action": "light.turn_on", "target": {"entity_id": KITCHEN}})
    one = {"type": "array", "minItems": 1, "maxItems": 1}
    wanted = {
        "name": {"enum": ["Kitchen with the bed"]}, "triggers": {**one, "items": trigger}, "actions": {**one, "items": action},
    }  # fmt: skip
    with llama_server(tmp_path / "llama.log", window=AUTOMATIONS_WINDOW, tools=True) as server:
        async with GoBetween(server.port).running() as between:
            await add_model(home, between.url, max_tokens=200, automations=True)
            first = next(agent for agent in await home.wait_for_agents(2) if "automation" not in agent)
            between.rewrites.append(shortest)
            await home.say("/automate hello", agent=first, patience=PATIENCE)
            assert [passed.status for passed in between.chats] == [200]
            between.rewrites.append(called("create_automation", wanted))
            said = "/automate when the bed light goes on, the kitchen lights too"
            asked = await home.say(said, agent=first, patience=PATIENCE)
            assert "Make the automation “Kitchen with the bed”?" in asked.speech
            assert "automation.kitchen_with_the_bed" not in await home.states()
            await home.say("yes", agent=first, conversation_id=asked.conversation_id)
            assert await home.state("automation.kitchen_with_the_bed") == "on"
            asked = await home.say("/automate undo that", agent=first, conversation_id=asked.conversation_id)
            await home.say("yes", agent=first, conversation_id=asked.conversation_id)
            assert "automation.kitchen_with_the_bed" not in await home.states()
            assert len(between.chats) == 2, "a yes and an undo need no model"


def exactly(value: object) -> dict[str, Any]:
    """Return the schema of this value and no other."""
    if not isinstance(value, dict):
        return {"enum": [value]}
    parts = {key: exactly(item) for key, item in value.items()}
    return {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}


def result_of(between: GoBetween) -> dict[str, Any]:
    """Return the result of the tool that the second request has."""
    found: dict[str, Any] = json.loads(between.chats[1].body["messages"][-1]["content"])
    return found


async def test_small_model_comes_to_an_end_and_nothing_false_is_left(home: Hass, tmp_path: Path) -> None:
    await home.expose(DOOR)
    with llama_server(tmp_path / "llama.log", window=WINDOW) as server:  # its own template, as people start it
        async with GoBetween(server.port).running() as between:
            await add_model(home, between.url, max_tokens=None)
            first = await agent_of(home)
            flow = await home.subentry_flow(await home.entry_id(), "profile")
            await flow.submit_agent(name="Short", local_first=False, max_answer_tokens=CAP)
            async with asyncio.timeout(PATIENCE):
                while not (others := set(await home.agents()) - {first}):
                    await asyncio.sleep(0.05)
            [agent] = others
            for sentence in ("hello", "unlock the front door"):
                answer = await home.say(sentence, agent=agent, patience=PATIENCE)
                assert answer.speech
                said, _, notice = answer.speech.rpartition("\n\n")
                assert len(said) <= CAP * CHARACTERS, "it did not come to an end"
                assert len(said) < CAP * CHARACTERS / 2 or "maximum length" in notice or "repeat myself" in notice
                false = "unlocked the front door" in said or "front door is unlocked" in said.casefold()
                assert not false or "haven't done anything" in answer.speech
            assert await home.state(DOOR) == "locked"
            await wait_until_free(between)  # who stopped listening has stopped the model
    await home.expose(DOOR, exposed=False)


async def test_what_a_satellite_hears_is_all_that_is_left_to_read(tmp_path: Path, between: GoBetween) -> None:
    parts = tmp_path / "custom_components"
    parts.mkdir()
    (parts / "home_agent").symlink_to(ROOT / "custom_components" / "home_agent")
    (parts / "test_satellite").symlink_to(Path(__file__).parent / "satellite")
    async with Hass(tmp_path).running() as hass:
        await hass.expose(*await hass.states(), exposed=False)
        await hass.expose(KITCHEN, BED)
        await hass.call("light.turn_off", KITCHEN)
        hass.allow_log("test_satellite")
        await hass.config_flow("test_satellite")
        await add_model(hass, between.url, keep_ready=True)
        ear = {"stt_engine": "stt.test_satellite", "stt_language": "en"}
        await hass.create_pipeline(await agent_of(hass), preferred=True, **ear)
        await ask_the_model_first(hass)  # the model reads for the satellite
        await read_ahead(between, 2)
        await hass.call("test_satellite.listen")
        await read_ahead(between, 3)
        between.rewrites.append(shortest)
        await hass.call("test_satellite.hear", text=SAID)
        async with asyncio.timeout(PATIENCE):
            while len(between.chats) < 4 or not between.chats[3].answer.rstrip().endswith("[DONE]"):
                await asyncio.sleep(0.05)
        start, listening, question = between.chats[1:4]
        assert question.body["messages"][0] == listening.body["messages"][0] == start.body["messages"][0]
        told, said = (one.body["messages"][-1]["content"] for one in (listening, question))
        assert said.endswith(SAID)
        assert question.prompt - question.cached <= await between.tokens(SAID) + 20
        assert told.partition("</house>")[0] in said
        hass.assert_clean_log()


async def read_ahead(between: GoBetween, number: int) -> None:
    """Wait until the server has read so many prompts that nobody has asked anything with."""
    async with asyncio.timeout(PATIENCE):
        while len(between.chats) < number or await between.busy():
            await asyncio.sleep(0.05)
    assert [chat.body["max_tokens"] for chat in between.chats] == [1] * number
