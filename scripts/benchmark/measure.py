"""What is measured of one agent in one house; each public method is a command that `worker` passes on."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from inspect import signature
from time import monotonic_ns, process_time_ns
from typing import Any

from homeassistant.components import conversation
from homeassistant.components.conversation.chat_log import ChatLog, async_get_chat_log
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import chat_session

from . import clock
from .agents import OURS
from .blocks import longest_block
from .control import Control
from .house import NEEDLE, House
from .requests import Laid, estimate_tokens, lay_out, steps
from .server import ANSWER

SESSION_HAS_OWNER = "context" in signature(chat_session.async_get_chat_session).parameters
ONE_TOKEN = 1
"""The longest answer to a request that only lets the server read a prompt."""
SETTLE = 0.02  # seconds after a turn in which its aftermath is still counted

# What is said in the conversation of six turns, and at the start of the next one; the third turn switches a light.
TEXTS = (
    "Good morning, what should I wear today?",
    "And what would you cook with rice and beans?",
    "Please turn on the light in the living room",
    "Thank you. How long do potatoes take?",
    "Tell me a short joke about houses",
    "And one about gardens, please",
)
NEXT_TEXT = "Good evening, what is a good book?"


class Measure:
    """The commands."""

    def __init__(self, hass: HomeAssistant, house: House, control: Control, agent_id: str, user_id: str) -> None:
        """Keep the parts."""
        self.hass = hass
        self.house = house
        self.control = control
        self.agent_id = agent_id
        self.user_id = user_id

    async def turns(self, kind: str, count: int, pace_ms: float) -> list[dict[str, Any]]:
        """Time turns that each open a conversation; before each, six states change."""
        return [await self._timed(kind, pace_ms) for _ in range(count)]

    async def blocks(self, kind: str, count: int) -> list[dict[str, Any]]:
        """Return the longest block of the event loop in each of some turns."""
        blocks = []
        for _ in range(count):
            await self._prepare(kind)
            with longest_block() as block:
                await asyncio.sleep(0)  # the callback that runs now started before it could be timed
                await self.say("Is everything all right at home?")
                await asyncio.sleep(SETTLE)
            blocks.append(
                {
                    "wall_ms": block.wall_ns / 1e6,
                    "cpu_ms": block.cpu_ns / 1e6,
                    "collecting_ms": block.collecting_ns / 1e6,
                }
            )
        return blocks

    async def burst(self, count: int) -> dict[str, Any]:
        """Let turns begin at once; return their milliseconds, how many were answered, and the longest block of the event loop."""
        await self._prepare("words")
        await self.say("Is everything all right at home?")

        async def timed() -> tuple[float, bool]:
            began = monotonic_ns()
            _, speech, _ = await self.say("Is everything all right at home?")
            return (monotonic_ns() - began) / 1e6, speech == ANSWER

        with longest_block() as block:
            await asyncio.sleep(0)
            turns = await asyncio.gather(*(timed() for _ in range(count)))
        return {
            "turns": count,
            "answered": sum(answered for _, answered in turns),
            "block_ms": round(block.wall_ns / 1e6, 1),
            "block_cpu_ms": round(block.cpu_ns / 1e6, 1),
            "took_ms": [took for took, _ in turns],
        }

    async def dialogue(self) -> dict[str, Any]:
        """Hold a conversation of six turns and open the next one; clock and states move on between the turns."""
        requests: list[tuple[int, Any]] = []
        conversation_id: str | None = None
        for number, text in enumerate((*TEXTS, NEXT_TEXT)):
            clock.advance(seconds=97)
            if text == NEXT_TEXT:
                conversation_id = None
            kind = "call" if "turn on" in text else "words"
            await self._prepare(kind, keep=True)
            conversation_id, _, _ = await self.say(text, conversation_id)
            requests += [(number, lay_out(record["body"])) for record in await self.take()]
        laid = [request for _, request in requests]
        return {
            "prompt_tokens": [estimate_tokens(request.text) for request in laid],
            "prompt_chars": [len(request.text) for request in laid],
            "stable_tokens": estimate_tokens(laid[0].text[: laid[0].stable]),
            "turns": [number for number, _ in requests],
            "steps": [
                {"turn": number, "share": s.share, "stable": s.stable, "new_tokens": s.new_tokens, "trimmed": s.trimmed}
                for (number, _), s in zip(requests[1:], steps(laid), strict=True)
            ],
        }

    async def question(self) -> dict[str, Any]:
        """Ask for a state; return how many requests the model needed and what was said in the end."""
        area, entity_id = self.house.hide_needle()
        calls = {
            "ha_query": {"entity_id": entity_id},
            "homeassistant__GetLiveContext": {"area": area, "domain": ["sensor"]},
        }
        await self.call(self.control.plan, kind="question", needle=NEEDLE, calls=calls)
        _, speech, _ = await self.say(f"What is the temperature in the {area}?")
        records = await self.take()
        return {"requests": len(records), "answered": NEEDLE in speech}

    async def context(self) -> dict[str, Any]:
        """Return what a model is told in each mode, and what the index takes. Home Agent only."""
        part: Any = await self.hass.async_add_import_executor_job(import_module, f"{__package__}.telling")
        (entry,) = self.hass.config_entries.async_loaded_entries(OURS)
        await entry.runtime_data.finder.async_reindex()
        modes: dict[str, Any] = {}
        for mode in part.MODES:
            await part.choose(self.hass, entry, mode)
            await entry.runtime_data.finder.async_reindex()
            modes[mode] = part.told(await self._ten_turns(part.QUESTIONS))
        await part.choose(self.hass, entry, None)
        await part.remember(self.hass, entry, part.TOLD_MEMORIES)
        for mode in part.WITH_MEMORIES:
            await part.choose(self.hass, entry, mode)
            await entry.runtime_data.finder.async_reindex()
            modes[f"{mode}, {part.TOLD_MEMORIES} memories"] = part.told(await self._ten_turns(part.QUESTIONS))
        await part.choose(self.hass, entry, None)
        memories = await part.memories(self.hass, entry)
        return {"modes": modes, "index": await part.index(self.hass, entry), "memories": memories}

    async def _ten_turns(self, questions: Sequence[str]) -> list[Laid]:
        """Return the requests of one conversation."""
        laid: list[Laid] = []
        conversation_id: str | None = None
        for text in questions:
            clock.advance(seconds=97)
            await self._prepare("words", keep=True)
            conversation_id, _, _ = await self.say(text, conversation_id)
            laid += [lay_out(record["body"]) for record in await self.take()]
        return laid

    async def day(self, conversations: int) -> list[dict[str, Any]]:
        """Hold conversations over a day on a real server; return what it read for each turn, and between them."""
        part: Any = await self.hass.async_add_import_executor_job(import_module, f"{__package__}.day")
        spent: list[dict[str, Any]] = await part.Day(self).spend(conversations)
        return spent

    async def memory(self, blocks: int, conversations: int, *, traced: bool) -> list[dict[str, Any]]:
        """Hold blocks of conversations and let their sessions end; return the memory before, and after each block."""
        part: Any = await self.hass.async_add_import_executor_job(import_module, f"{__package__}.memory")
        taken: list[dict[str, Any]] = await part.Memory(self, traced=traced).hold(blocks, conversations)
        return taken

    async def tools(self, count: int, turns: int) -> dict[str, Any]:
        """Return what the policy costs, and how long the slow tools of one message take, as a share of the slowest.

        From the last byte of the message with the calls to the last byte of the request with their results. Home Agent only,
        and last: the slow tools need an assistant of their own.
        """
        part: Any = await self.hass.async_add_import_executor_job(import_module, f"{__package__}.tools")
        user = await self.hass.auth.async_get_user(self.user_id)
        _, entity_id = self.house.lamp()
        await self.hass.services.async_call("light", "turn_on", {"entity_id": entity_id}, blocking=True)
        policy = await part.policy_ms(self.hass, entity_id, user, count)
        patient = Measure(self.hass, self.house, self.control, await part.add_patient_profile(self.hass), self.user_id)
        shares = [await patient._slow_calls(part.WAIT, part.PARALLEL, part.SLOWEST) for _ in range(turns)]
        return {"policy_ms": policy, "parallel": {"calls": part.PARALLEL, "shares": shares}}

    async def together(self, rounds: int, turns: int) -> dict[str, Any]:
        """Return what turns take in which several agents take part, beside plain ones before and after. Home Agent only.

        It adds agents. Kinds are measured in small blocks in turn: what else the machine does meets all alike, and the first
        turn of a block finds cold caches.
        """
        part: Any = await self.hass.async_add_import_executor_job(import_module, f"{__package__}.together")
        report: Any = await self.hass.async_add_import_executor_job(import_module, f"{__package__}.together_report")
        agents, ids = {"alone": self}, {"plain": self.agent_id}
        taken: dict[str, list[dict[str, Any]]] = {kind: [] for kind in report.TITLES}
        for number in range(2 * (rounds + 1)):
            if number == rounds + 1:
                ids |= await part.add_agents(self.hass)
                agents = {
                    kind: Measure(self.hass, self.house, self.control, agent_id, self.user_id)
                    for kind, agent_id in ids.items()
                }
            for kind, agent in agents.items():
                timed = [await Measure._part(agent, part, report, kind) for _ in range(turns + 1)]
                taken[kind] += timed[1:] if number % (rounds + 1) else []  # else it warms up
        return {kind: report.figures_of(timed) for kind, timed in taken.items()}

    async def wishes(self, changes: int, rounds: int) -> dict[str, Any]:
        """Return what so many state changes cost that concern no wish, without wishes and with as many as may wait."""
        part: Any = await self.hass.async_add_import_executor_job(import_module, f"{__package__}.wishes")
        found: dict[str, Any] = await part.measure(self.hass, self.house, changes, rounds)
        return found

    async def automations(self, changes: int, rounds: int) -> dict[str, Any]:
        """Return what automations by talking cost in a home that has many. Home Agent only; it adds them."""
        part: Any = await self.hass.async_add_import_executor_job(import_module, f"{__package__}.automations")
        found: dict[str, Any] = await part.measure(self.hass, self.house, changes, rounds)
        return found

    async def _part(self, part: Any, report: Any, kind: str) -> dict[str, Any]:
        """Time one turn of several agents."""
        self.house.change()
        plan = {"kind": "call", "calls": part.ASK} if kind == "delegated" else {"kind": "words"}
        await self.call(self.control.plan, begins=part.SPLIT, pace_ms=0, **plan)
        await self.take()
        await asyncio.sleep(SETTLE)
        start, cpu = monotonic_ns(), process_time_ns()
        _, speech, said = await self.say("Is everything all right at home?")
        end = monotonic_ns()
        await asyncio.sleep(SETTLE)
        cpu = process_time_ns() - cpu
        records = await self.take()
        if len(records) != report.REQUESTS[kind] or not speech:
            raise RuntimeError(f"unexpected turn: {len(records)} requests, {said!r}")
        return {"cpu_ms": cpu / 1e6, "added_ms": (end - start - part.waited(records)) / 1e6}

    async def _slow_calls(self, name: str, count: int, slowest: float) -> float:
        calls: dict[str, dict[str, Any]] = {f"{name}{number}": {} for number in range(1, count + 1)}
        await self.call(self.control.plan, kind="calls", calls=calls, pace_ms=0)
        await self.take()
        await self.say("Please wait for all of them.")
        first, second = await self.take()
        return float((second["arrived"] - first["done"]) / 1e9 / slowest)

    async def requests(self) -> list[Any]:
        """Return the bodies of one plain turn, to look at."""
        await self._prepare("words", keep=True)
        await self.say(TEXTS[0])
        return [record["body"] for record in await self.take()]

    async def _timed(self, kind: str, pace_ms: float) -> dict[str, Any]:
        cpu = process_time_ns()
        self.house.change()
        await asyncio.sleep(SETTLE)
        changes = process_time_ns() - cpu
        await self._prepare(kind, change=False, pace_ms=pace_ms)
        deltas: list[tuple[int, int]] = []
        start, cpu = monotonic_ns(), process_time_ns()
        _, speech, said = await self.say("Is everything all right at home?", deltas=deltas)
        end = monotonic_ns()
        await asyncio.sleep(SETTLE)
        cpu = process_time_ns() - cpu
        records = await self.take()
        if len(records) != (2 if kind == "call" else 1) or not speech:
            raise RuntimeError(f"unexpected turn: {len(records)} requests, {said!r}")
        return {
            "cpu_ms": cpu / 1e6,
            "added_ms": (end - start - sum(record["done"] - record["arrived"] for record in records)) / 1e6,
            "request_ms": (records[0]["arrived"] - start) / 1e6,
            "token_ms": _token_delays(records[-1], deltas),
            "changes_ms": changes / 1e6,
        }

    async def _prepare(self, kind: str, *, change: bool = True, keep: bool = False, pace_ms: float = 2) -> None:
        name, entity_id = self.house.lamp()
        if change:
            self.house.change()
        calls = {
            "ha_control": {"action": "turn_on", "entity_id": entity_id},
            "intent__HassTurnOn": {"name": name, "domain": ["light"]},
        }
        await self.call(self.control.plan, kind=kind, calls=calls, keep=keep, pace_ms=pace_ms)
        await self.take()
        await asyncio.sleep(SETTLE)

    async def say(
        self, text: str, conversation_id: str | None = None, deltas: list[tuple[int, int]] | None = None
    ) -> tuple[str, str, Any]:
        """Say something as Assist's pipeline does; return conversation id, speech and the whole response."""
        length = 0

        def listener(log: ChatLog, delta: dict[str, Any]) -> None:
            nonlocal length
            if deltas is not None and delta.get("role", "assistant") == "assistant" and (text := delta.get("content")):
                length += len(text)
                deltas.append((length, monotonic_ns()))

        context = Context(user_id=self.user_id)
        with _session(self.hass, conversation_id, context) as session:
            user_input = conversation.ConversationInput(
                text=text,
                context=context,
                conversation_id=session.conversation_id,
                device_id=None,
                satellite_id=None,
                language="en",
                agent_id=self.agent_id,
            )
            with async_get_chat_log(self.hass, session, user_input, chat_log_delta_listener=listener):
                result = await conversation.async_converse(
                    self.hass, text, session.conversation_id, context, language="en", agent_id=self.agent_id
                )
        response = result.as_dict()["response"]
        speech = response["speech"].get("plain", {}).get("speech", "")
        if response["response_type"] == "error":
            raise RuntimeError(f"the agent failed: {speech}")
        return session.conversation_id, speech, response

    async def call(self, function: Any, **arguments: Any) -> Any:
        """Run something that blocks, outside the event loop."""
        return await self.hass.async_add_executor_job(lambda: function(**arguments))

    async def take(self, *, reading_ahead: bool = False) -> list[dict[str, Any]]:
        """Return what the model was sent since the last call, if asked for with what was only to be read ahead of a turn."""
        records: list[dict[str, Any]] = await self.call(self.control.take)
        return [record for record in records if reading_ahead or record["asked"] != ONE_TOKEN]


def _session(
    hass: HomeAssistant, conversation_id: str | None, context: Context
) -> AbstractContextManager[chat_session.ChatSession]:
    """Open the session; newer versions of Home Assistant want to know for whom."""
    if SESSION_HAS_OWNER:
        return chat_session.async_get_chat_session(hass, conversation_id, context=context)  # type: ignore[call-arg]
    return chat_session.async_get_chat_session(hass, conversation_id)


def _token_delays(record: dict[str, Any], deltas: list[tuple[int, int]]) -> list[float]:
    """Return for each token of an answer the milliseconds from the socket to the chat log.

    A delta may hold several tokens, and `deltas` is the length of the answer after each: a token has arrived when the
    answer is long enough to hold it.
    """
    delays: list[float] = []
    end = 0
    base = deltas[-1][0] - len(record["text"]) if deltas else 0  # text of earlier requests of the turn
    words = record["text"].split(" ")
    for number, (word, sent) in enumerate(zip(words, record["tokens"], strict=False)):
        end += len(word) + (number > 0)
        seen = next((at for length, at in deltas if length - base >= end), None)
        if seen is not None:
            delays.append((seen - sent) / 1e6)
    return delays
