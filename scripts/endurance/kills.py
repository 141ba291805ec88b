"""Kills: a real Home Assistant ends in the middle of what several clients want; what was acknowledged is looked for after the next start.

A client notes what it was told is done when the answer has arrived, never before. What was on its way when Home Assistant
was killed may be there or not.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
import json
from pathlib import Path
import random
import shutil
import sys
import tempfile
from typing import Any

from aiohttp import ClientError

from tests.e2e.api import Api, ApiError
from tests.e2e.harness import Hass
from tests.e2e.house import add_home_agent, furnish
from tests.embedding_server import EmbeddingServer
from tests.llm_replies import JSON
from tests.llm_server import LLMServer, Reply, text, tool_call

CLIENTS = 6
SHORTEST, LONGEST = 0.3, 3.0  # seconds from the first request to the kill
MOST = 60  # of what is kept of one kind at a time; beyond that, clients rather forget
OPTIONS: dict[str, Any] = {"throttle_turns": 100_000, "memory": {"learning_after": 1, "max_memories": 5000}}
THINGS = {
    "light.bed_light": "bed light",
    "light.kitchen_lights": "kitchen lights",
    "light.ceiling_lights": "ceiling lights",
}
AREA = "Office"
SAID = "make it "
"""How a sentence begins that only the model understands."""
_SYLLABLES = ("zo", "ba", "ri", "lum", "ke", "fan", "du", "pi", "ska", "mo", "tra", "vul")


@dataclass(slots=True)
class Ledger:
    """What was acknowledged, by kind: whether it has to be there, by what it is known by."""

    there: dict[str, dict[str, bool]] = field(default_factory=dict)
    acknowledged: Counter[str] = field(default_factory=Counter)
    lost: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, key: str, *, there: bool) -> None:
        """Note what a client was told."""
        self.acknowledged[kind if there else f"{kind} forgotten"] += 1
        self.there.setdefault(kind, {})[key] = there

    def begin(self, kind: str, key: str) -> None:
        """Expect nothing of what is about to be forgotten, until that is acknowledged."""
        self.there.get(kind, {}).pop(key, None)

    def known(self, kind: str) -> list[str]:
        """Return what has to be there."""
        return [key for key, there in self.there.get(kind, {}).items() if there]

    def compare(self, kind: str, found: set[str]) -> None:
        """Count what is not as it was acknowledged, and expect it no more."""
        for key, there in [*self.there.get(kind, {}).items()]:
            if (key in found) is not there:
                self.lost.setdefault(kind if there else f"{kind} forgotten", []).append(key)
                del self.there[kind][key]
            elif not there:
                del self.there[kind][key]


@dataclass(slots=True)
class Report:
    """The figures of all homes."""

    kills: int = 0
    acknowledged: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """What clients were refused, by what they wanted: nothing of that was acknowledged."""

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost."""
        return not self.lost.total()

    def show(self) -> str:
        """Return the figures in one line each."""
        rows = [
            f"{kind:<22} {count:>7} acknowledged {self.lost[kind]:>5} lost"
            for kind, count in sorted(self.acknowledged.items())
        ]
        total = f"{self.kills} kills, {self.acknowledged.total()} acknowledged, {self.lost.total()} lost"
        refused = [f"refused {count}: {what}" for what, count in self.refused.most_common(5)]
        return "\n".join((*rows, *refused, total))


class Home:
    """One home that is killed again and again."""

    def __init__(self, folder: Path, seed: int, report: Report, embeddings: str) -> None:
        """Take a folder that was set up, and the address of an embedding model."""
        self.folder = folder
        self.embeddings = embeddings
        self.report = report
        self.ledger = Ledger()
        self.agent = ""
        self._random = random.Random(seed)
        self._number = 0
        self._hass = Hass(folder, log_level="warning")
        self._door = asyncio.Lock()
        self._settings = asyncio.Lock()  # one form at a time
        self._phrases = asyncio.Lock()  # one administrator after the other decides on what waits

    async def endure(self) -> None:
        """Start, look, work, kill, once."""
        self._hass = Hass(self.folder, log_level="warning")
        await self._hass.start()
        try:
            [self.agent] = await self._hass.wait_for_agents(1)
            await self._look()
            await self._work()
        finally:
            await self._hass.process.kill()
            await self._hass.disconnect()
        self.report.kills += 1

    async def look_again(self) -> None:
        """Start once more, look, and stop."""
        self._hass = Hass(self.folder, log_level="warning")
        await self._hass.start()
        await self._hass.wait_for_agents(1)
        await self._look()
        await self._hass.stop()

    def word(self) -> str:
        """Return a word that was never said."""
        self._number += 1
        number, word = self._number, ""
        for _ in range(4):
            number, digit = divmod(number, len(_SYLLABLES))
            word += _SYLLABLES[digit]
        return word

    async def _work(self) -> None:
        """Let clients work until Home Assistant is killed."""
        clients = [asyncio.create_task(self._client()) for _ in range(CLIENTS)]
        await asyncio.sleep(self._random.uniform(SHORTEST, LONGEST))
        await self._hass.process.kill()
        for client in clients:
            client.cancel()
        for outcome in await asyncio.gather(*clients, return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(
                outcome, asyncio.CancelledError | ClientError | OSError
            ):
                raise outcome

    async def _client(self) -> None:
        deeds = (
            self._remember, self._remember, self._forget_memory, self._teach, self._forget_name, self._approve_phrase,
            self._forget_phrase, self._add_document, self._remove_document, self._act, self._act, self._undo, self._unlock,
            self._change_settings,
        )  # fmt: skip
        api = Api(self._hass.process.url)
        api.tokens = self._hass.tokens
        try:
            while True:
                deed = self._random.choice(deeds)
                try:
                    await deed(api)
                except ApiError as err:  # another client was faster; nothing was acknowledged
                    self.report.refused[f"{deed.__name__.strip('_')}: {err.text[:80]}"] += 1
        finally:
            await api.disconnect()

    # What clients want

    async def _call(self, api: Api, action: str, **data: Any) -> JSON:
        answer: JSON = await api.post(f"/api/services/home_agent/{action}?return_response", **data)
        response: JSON = answer["service_response"]
        return response

    def _one(self, kind: str) -> str | None:
        """Return one that is there, of which from now on nothing is expected; None if there is none."""
        if not (known := self.ledger.known(kind)):
            return None
        key = self._random.choice(known)
        self.ledger.begin(kind, key)
        return key

    async def _remember(self, api: Api) -> None:
        if len(self.ledger.known("memory")) > MOST:
            await self._forget_memory(api)
            return
        content = f"{self.word()} {self.word()} {self.word()}"
        added = await self._call(api, "add_memory", content=content)
        self.ledger.note("memory", added["memory_id"], there=True)

    async def _forget_memory(self, api: Api) -> None:
        if (key := self._one("memory")) is not None:
            await self._call(api, "delete_memory", memory_id=key)
            self.ledger.note("memory", key, there=False)

    async def _teach(self, api: Api) -> None:
        if len(self.ledger.known("name")) > MOST:
            await self._forget_name(api)
            return
        name, thing = self.word(), self._random.choice((*THINGS.values(), AREA))
        asked = await api.say(f"the {thing} is called {name}", agent=self.agent)
        done = await api.say("yes", agent=self.agent, conversation_id=asked.conversation_id)
        if done.kind == "action_done" and name in done.speech:
            self.ledger.note("name", name, there=True)
        else:
            self.report.refused[f"teach: {done.speech[:80]}"] += 1

    async def _forget_name(self, api: Api) -> None:
        if (key := self._one("name")) is not None:
            await self._call(api, "forget_taught_name", name=key)
            self.ledger.note("name", key, there=False)

    async def _approve_phrase(self, api: Api) -> None:
        if len(self.ledger.known("phrase")) > MOST:
            await self._forget_phrase(api)
            return
        words = f"{SAID}{self.word()}"
        await api.say(words, agent=self.agent)
        async with self._phrases:
            listed = await self._call(api, "list_learned_phrases")
            waiting = [row["text"] for row in listed["phrases"] if row["status"] == "proposed"]
            if not waiting:
                return
            menu = await api.post("/api/repairs/issues/fix", handler="home_agent", issue_id="phrases_proposed_home")
            shown = [one for one in waiting if one in menu["description_placeholders"]["proposals"]]
            done = await api.post(f"/api/repairs/issues/fix/{menu['flow_id']}", next_step_id="approve_all")
            if done["type"] == "create_entry" or done.get("reason") == "left":
                for one in shown:
                    self.ledger.note("phrase", one, there=True)

    async def _forget_phrase(self, api: Api) -> None:
        if (key := self._one("phrase")) is not None:
            await self._call(api, "forget_learned_phrase", phrase=key)
            self.ledger.note("phrase", key, there=False)

    async def _add_document(self, api: Api) -> None:
        if len(self.ledger.known("document")) > MOST:
            await self._remove_document(api)
            return
        title = self.word()
        added = await self._call(api, "add_document", title=title, text=f"{title} {self.word()}")
        self.ledger.note("document", added["document"], there=True)

    async def _remove_document(self, api: Api) -> None:
        if (key := self._one("document")) is not None:
            await self._call(api, "remove_document", document=key)
            self.ledger.note("document", key, there=False)

    async def _act(self, api: Api) -> str:
        """Switch a light, and return the conversation."""
        entity_id, name = self._random.choice([*THINGS.items()])
        service = "off" if await self._state(api, entity_id) == "on" else "on"
        answer = await api.say(f"turn {service} the {name}", agent=self.agent)
        if answer.kind == "action_done":
            self.ledger.note("action", answer.conversation_id, there=True)
        return answer.conversation_id

    async def _undo(self, api: Api) -> None:
        listed = await self._call(api, "list_actions", conversation_id=await self._act(api))
        for action in listed["actions"]:
            undone = await self._call(api, "undo", action_id=action["action_id"])
            if undone["restored"] and not undone.get("changed_since") and not undone.get("failed"):
                self.ledger.note("undo", action["action_id"], there=True)

    async def _unlock(self, api: Api) -> None:
        async with self._door:  # what is so already is not done once more
            service = "unlock" if await self._state(api, "lock.front_door") == "locked" else "lock"
            answer = await api.say(f"{service} the front door", agent=self.agent)
            if service == "unlock":
                answer = await api.say("yes", agent=self.agent, conversation_id=answer.conversation_id)
            if answer.kind == "action_done":
                self.ledger.note("confirmed action", answer.conversation_id, there=True)

    async def _change_settings(self, api: Api) -> None:
        """Change where and how all of this is found, in the owner's forms; nothing of it may be lost by that."""
        number, model = self._random.randint(1, 9), {"embedding_preset": "custom", "embedding_url": self.embeddings}
        forms: dict[str, list[JSON]] = {
            "memory_limits": [{"top_k": number, "cleanup_interval": number, "collection": f"memories_{number}"}],
            "retrieval": [
                {"store": "embedded", "embedding": "endpoint", "additional_top_k": number},
                {**model, "embedding_model": f"model-{number}", "embedding_batch": number},
            ],
            "memory": [{"learning_after": 1, "context_ttl": number}],
        }
        page, path = self._random.choice([*forms]), "/api/config/config_entries/options/flow"
        async with self._settings:
            [entry] = await api.get("/api/config/config_entries/entry?domain=home_agent")
            menu = await api.post(path, handler=entry["entry_id"])
            flow = f"{path}/{menu['flow_id']}"
            if page not in menu["menu_options"]:
                await api.post(flow, next_step_id="advanced")
            shown = await api.post(flow, next_step_id=page)
            for values in forms[page]:
                shown = await api.post(flow, **values)
            if shown["type"] != "menu":
                raise RuntimeError(f"{page} was not stored: {shown.get('errors')}")
        self.ledger.acknowledged["settings changed"] += 1

    async def _state(self, api: Api, entity_id: str) -> str:
        return str((await api.get(f"/api/states/{entity_id}"))["state"])

    # What is there

    async def _look(self) -> None:
        """Compare what is there with what was acknowledged."""
        hass, ledger = self._hass, self.ledger
        memories = await self._call(hass, "list_memories", limit=10_000)
        ledger.compare("memory", {row["memory_id"] for row in memories["memories"]})
        ledger.compare("name", await self._names())
        phrases = await self._call(hass, "list_learned_phrases")
        ledger.compare("phrase", {row["text"] for row in phrases["phrases"] if row["status"] == "learned"})
        stored = self.folder / ".storage" / "home_agent.knowledge"
        content = json.loads(stored.read_text()) if stored.exists() else {"data": {"documents": []}}
        ledger.compare("document", {f"text:{row['collection']}/{row['title']}" for row in content["data"]["documents"]})
        actions = (await self._call(hass, "list_actions", limit=500))["actions"]
        known = {action["conversation_id"] for action in actions}
        ledger.compare("action", known)
        ledger.compare("confirmed action", known)
        ledger.compare("undo", {action["action_id"] for action in actions if action["undone"]})
        for kind in ("action", "confirmed action", "undo"):  # the journal keeps the last 500
            ledger.there.pop(kind, None)
        for kind, keys in ledger.lost.items():
            self.report.lost[kind] += len(keys)
            print(f"lost after {self.report.kills} kills: {kind}: {', '.join(keys)}", flush=True)
        self.report.acknowledged += ledger.acknowledged
        ledger.lost.clear()
        ledger.acknowledged.clear()

    async def _names(self) -> set[str]:
        """Return the names that are aliases of their things and known as taught; both are what a user was told."""
        found: set[str] = set()
        for entity_id in THINGS:
            entry = await self._hass.command("config/entity_registry/get", entity_id=entity_id)
            found |= {alias for alias in entry["aliases"] if alias}
        for area in await self._hass.command("config/area_registry/list"):
            found |= {*area["aliases"]}
        listed = await self._call(self._hass, "list_taught_names")
        taught = {row["name"] for row in listed["names"] if row["status"] == "taught"}
        forgotten = {key for key, there in self.ledger.there.get("name", {}).items() if not there}
        return (found & taught) | ((found | taught) & forgotten)


def answer(body: JSON) -> Reply:
    """Answer as a model that turns on the bed light for whatever it is asked."""
    if body["messages"][-1]["role"] == "tool" or not body.get("tools"):
        return text("As you like.")
    return tool_call(
        "ha_control", {"action": "turn_on", "entity_id": "light.bed_light", "parameters": {"brightness_pct": 30}}
    )


async def _set_up(folder: Path, url: str) -> None:
    """Make the home that all others are copies of."""
    hass = Hass(folder, log_level="warning")
    await hass.start()
    await furnish(hass)
    await add_home_agent(hass, url=url, model="scripted", key="sk-endure", model_first=False)
    await hass.stop()
    entries = folder / ".storage" / "core.config_entries"
    content = json.loads(entries.read_text())
    for entry in content["data"]["entries"]:
        if entry["domain"] == "home_agent":
            entry["options"] |= OPTIONS
    entries.write_text(json.dumps(content))


async def _again_and_again(home: Home, kills: int, report: Report, left: Callable[[], bool]) -> None:
    while left():
        await home.endure()
        if report.kills % 10 == 0:
            print(
                f"{report.kills} of {kills} kills: {report.acknowledged.total()} acknowledged, {report.lost.total()} lost",
                flush=True,
            )
    await home.look_again()


async def kill_often(kills: int, homes: int, seed: int) -> Report:
    """Kill homes so often, several at once; print and return the figures."""
    report, server, embeddings = Report(), LLMServer(), EmbeddingServer()
    await server.start()
    await embeddings.start()
    server.respond(answer)
    begun = 0

    def left() -> bool:
        nonlocal begun
        begun += 1
        return begun <= kills

    with tempfile.TemporaryDirectory(prefix="home-agent-kills-") as root:
        first = Path(root) / "first"
        await _set_up(first, server.base_url)
        folders = [Path(root) / f"home{number}" for number in range(homes)]
        for folder in folders:
            shutil.copytree(first, folder, symlinks=True)
        runs: list[Awaitable[None]] = [
            _again_and_again(Home(folder, seed + number, report, embeddings.base_url), kills, report, left)
            for number, folder in enumerate(folders)
        ]
        await asyncio.gather(*runs)
    await server.stop()
    await embeddings.stop()
    print(report.show(), file=sys.stdout, flush=True)
    return report
