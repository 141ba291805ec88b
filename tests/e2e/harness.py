"""A whole Home Assistant for one test: process and API, and what a person does with them.

    async with Hass(tmp_path).running() as hass:
        answer = await hass.say("turn on the kitchen lights")
        assert await hass.state("light.kitchen_lights") == "on"

It runs the `hass` of the environment that runs the test.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from .api import ANSWER_TIMEOUT, JSON, Answer, Api
from .process import HassProcess, problems_in

DOMAIN = "home_agent"
USER = PASSWORD = "demo"


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """The events of one run of `assist_pipeline`, up to `run-end`."""

    events: list[dict[str, Any]]

    def data(self, kind: str) -> dict[str, Any]:
        """Return the data of the only event of this type."""
        [data] = [event["data"] for event in self.events if event["type"] == kind]
        return dict(data)

    @property
    def deltas(self) -> list[str]:
        """The pieces of text as they were streamed."""
        progress = [event["data"] for event in self.events if event["type"] == "intent-progress"]
        return [text for data in progress if (text := data.get("chat_log_delta", {}).get("content"))]

    @property
    def answer(self) -> Answer:
        return Answer(self.data("intent-end")["intent_output"])


class FlowRefusedError(Exception):
    """A form was sent and came back."""

    def __init__(self, errors: dict[str, str]) -> None:
        """Keep the error key of each field; `base` stands for the whole form."""
        super().__init__(", ".join(f"{field}: {key}" for field, key in errors.items()))
        self.errors = errors


@dataclass(slots=True)
class Flow:
    """A config, options or subentry flow at its current step."""

    hass: Hass
    path: str
    step: dict[str, Any]

    @property
    def kind(self) -> str:
        """Give `form`, `menu`, `create_entry`, `abort`, ..."""
        kind: str = self.step["type"]
        return kind

    @property
    def fields(self) -> list[str]:
        """Names of the fields, those in sections as `section.field`."""
        names = []
        for field in self.step.get("data_schema") or []:
            inner = [f"{field['name']}.{part['name']}" for part in field.get("schema") or [] if isinstance(part, dict)]
            names += inner or [field["name"]]
        return names

    @property
    def shown(self) -> dict[str, Any]:
        """Values of the fields that have one."""
        described = {field["name"]: field.get("description") or {} for field in self.step["data_schema"]}
        return {name: text["suggested_value"] for name, text in described.items() if "suggested_value" in text}

    async def submit(self, **data: Any) -> Self:
        """Send the form, with on and off where it has a choice of them; go on to the step that follows."""
        for field in self.step.get("data_schema") or []:
            choice, value = field.get("selector", {}).get("select") or {}, data.get(field["name"])
            if choice.get("translation_key") == "switch" and isinstance(value, bool):
                data[field["name"]] = "on" if value else "off"
        self.step = await self.hass.post(f"{self.path}/{self.step['flow_id']}", **data)
        return self

    async def submit_well(self, **data: Any) -> Self:
        """Send the form; raises `FlowRefusedError` when it comes back."""
        await self.submit(**data)
        if errors := self.step.get("errors"):
            raise FlowRefusedError(errors)
        return self

    async def submit_agent(self, **data: Any) -> Self:
        """Send the first form of an agent, and those behind *More settings* that ask for the rest; save it."""
        later = {name: value for name, value in data.items() if name not in self.fields}
        first = self.shown | {name: value for name, value in data.items() if name not in later}
        await self.submit_well(**first, **({"more": True} if later else {}))
        for topic in self.step["menu_options"][:-2] if later else ():
            await self.choose(topic)
            await self.submit_well(**self.shown | {name: later.pop(name) for name in self.fields if name in later})
        assert not later, f"no form asks for {later}"
        return await self.choose("save") if self.kind == "menu" else self

    async def choose(self, option: str) -> Self:
        assert option in self.step["menu_options"], self.step
        return await self.submit(next_step_id=option)

    async def skip_check(self) -> None:
        """End the check of the home that set-up goes on with."""
        kind, flow_id = self.step["next_flow"]
        assert kind == "options_flow"
        await self.hass.post(f"/api/config/config_entries/options/flow/{flow_id}", voice_assistant="keep")


RUNNING: list[Hass] = []
"""Those that run at the moment, for whoever explains a failure."""


class Hass(Api):
    """A Home Assistant process and its owner."""

    def __init__(self, folder: Path, **options: Any) -> None:
        """Prepare a folder; see `HassProcess` for the options."""
        self.process = HassProcess(folder, **options)
        super().__init__(self.process.url)
        self._allowed: list[str] = []
        self._log_checked = 0

    async def start(self) -> None:
        """Boot, and log in."""
        await self.process.start()
        await self.log_in(USER, PASSWORD)

    async def stop(self) -> int:
        """End it; return the exit code."""
        await self.disconnect()
        return await self.process.stop()

    async def restart(self) -> None:
        """Stop and start on the same folder, as an update does."""
        assert await self.stop() == 0
        await self.start()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Self]:
        """Run it for the length of a block."""
        RUNNING.append(self)
        try:
            await self.start()
            yield self
        finally:
            RUNNING.remove(self)
            await self.stop()

    def allow_log(self, text: str) -> None:
        """Let entries with this text be logged until the log is checked."""
        self._allowed.append(text)

    def assert_clean_log(self) -> None:
        """Fail when an error or a warning of ours was logged that was not allowed, or we blocked the event loop."""
        problems = problems_in(self.process.log[self._log_checked :])
        unexpected = [entry for entry in problems if not any(text in entry for text in self._allowed)]
        self._log_checked = len(self.process.log)
        self._allowed.clear()
        assert not unexpected, "\n".join(unexpected)

    # The house

    async def state(self, entity_id: str) -> str:
        state: str = (await self.get(f"/api/states/{entity_id}"))["state"]
        return state

    async def states(self) -> dict[str, str]:
        return {item["entity_id"]: item["state"] for item in await self.get("/api/states")}

    async def wait_for(self, entity_id: str, state: str, seconds: float = 10) -> None:
        """Wait until an entity has this state."""
        async with asyncio.timeout(seconds):
            while await self.state(entity_id) != state:
                await asyncio.sleep(0.05)

    async def call(self, action: str, entity_id: str | None = None, **data: Any) -> None:
        target = {"entity_id": entity_id} if entity_id else {}
        await self.post(f"/api/services/{action.replace('.', '/')}", **target, **data)

    async def call_for_response(self, action: str, **data: Any) -> JSON:
        path = f"/api/services/{action.replace('.', '/')}?return_response"
        return (await self.post(path, **data))["service_response"]

    async def expose(self, *entity_ids: str, exposed: bool = True) -> None:
        """Show entities to assistants, or hide them."""
        await self.command(
            "homeassistant/expose_entity",
            assistants=["conversation"],
            entity_ids=list(entity_ids),
            should_expose=exposed,
        )

    # Talking

    async def create_pipeline(
        self, agent: str, name: str = "Home Agent", *, preferred: bool = False, **speech: str
    ) -> str:
        """Make an assistant with this agent, without ears and voice but for those in `speech`; return its id."""
        voice = ("stt_engine", "stt_language", "tts_engine", "tts_language", "tts_voice")
        nothing = dict.fromkeys((*voice, "wake_word_entity", "wake_word_id"))
        created = await self.command(
            "assist_pipeline/pipeline/create",
            **(nothing | speech),
            name=name,
            language="en",
            conversation_engine=agent,
            conversation_language="en",
        )
        pipeline: str = created["id"]
        if preferred:
            await self.command("assist_pipeline/pipeline/set_preferred", pipeline_id=pipeline)
        return pipeline

    async def run_pipeline(
        self, text: str, pipeline: str, patience: float = ANSWER_TIMEOUT, **fields: Any
    ) -> PipelineRun:
        """Run the text part of a pipeline to its end; `device_id` makes it a voice device's."""
        events: list[dict[str, Any]] = []
        arguments = {"start_stage": "intent", "end_stage": "intent", "input": {"text": text}, "pipeline": pipeline}
        async with (
            asyncio.timeout(patience),
            (await self.socket()).subscribe("assist_pipeline/run", **arguments, **fields) as queue,
        ):
            while not events or events[-1]["type"] != "run-end":
                events.append(await queue.get())
        return PipelineRun(events)

    # Configuring

    async def config_flow(self, handler: str = DOMAIN, **context: Any) -> Flow:
        """Begin to add an integration, or to reconfigure the one with this `entry_id`."""
        return await self._begin("/api/config/config_entries/flow", handler, context)

    async def options_flow(self, entry_id: str) -> Flow:
        return await self._begin("/api/config/config_entries/options/flow", entry_id, {})

    async def subentry_flow(self, entry_id: str, kind: str, start: str = "blank", **context: Any) -> Flow:
        """Begin to add a subentry, or to reconfigure the one with this `subentry_id`; `start` is what an agent starts from."""
        flow = await self._begin("/api/config/config_entries/subentries/flow", [entry_id, kind], context)
        return await flow.choose(start) if flow.kind == "menu" else flow

    async def _begin(self, path: str, handler: str | list[str], context: dict[str, Any]) -> Flow:
        return Flow(self, path, await self.post(path, handler=handler, **context))

    async def flows_in_progress(self) -> list[Flow]:
        """Return the flows of ours that wait for the user, reauthentication for one."""
        path = "/api/config/config_entries/flow"
        waiting = await self.command("config_entries/flow/progress")
        ours = [flow["flow_id"] for flow in waiting if flow["handler"] == DOMAIN]
        return [Flow(self, path, await self.get(f"{path}/{flow_id}")) for flow_id in ours]

    async def entries(self) -> list[dict[str, Any]]:
        """Return our config entries; there is one, or none."""
        found: list[dict[str, Any]] = await self.get(f"/api/config/config_entries/entry?domain={DOMAIN}")
        return found

    async def entry_id(self) -> str:
        [entry] = await self.entries()
        entry_id: str = entry["entry_id"]
        return entry_id

    async def remove_entry(self, entry_id: str) -> None:
        await self.request("DELETE", f"/api/config/config_entries/entry/{entry_id}")

    async def subentries(self, kind: str) -> list[dict[str, Any]]:
        found = await self.command("config_entries/subentries/list", entry_id=await self.entry_id())
        return [subentry for subentry in found if subentry["subentry_type"] == kind]

    async def agents(self) -> list[str]:
        registry = await self.command("config/entity_registry/list")
        ids = [item["entity_id"] for item in registry if item["platform"] == DOMAIN]
        return sorted(entity_id for entity_id in ids if entity_id.startswith("conversation."))

    async def wait_for_agents(self, count: int) -> list[str]:
        """Return them as soon as so many have a state."""
        async with asyncio.timeout(ANSWER_TIMEOUT):
            while True:
                found, states = await self.agents(), await self.states()
                if len(found) == count and all(states.get(agent, "unavailable") != "unavailable" for agent in found):
                    return found
                await asyncio.sleep(0.05)

    async def wait_until_stored(self, text: str, file: str, seconds: float = 30) -> None:
        """Wait until this text stands in a file under .storage: Home Assistant writes a second after a change, or later."""
        async with asyncio.timeout(seconds):
            while file not in self.stored(text):
                await asyncio.sleep(0.1)

    def stored(self, text: str) -> list[str]:
        """Return the files under .storage that contain this text."""
        files = (self.process.folder / ".storage").iterdir()
        return sorted(file.name for file in files if file.is_file() and text in file.read_text(errors="replace"))
