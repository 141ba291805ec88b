"""Keeps the models in the home ready: they have read a prompt before a person waits for its answer.

At start, when much has changed, and when a voice satellite begins to listen, the model is asked for one token. None of it is an
answer: no event, no history, no tool.
"""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from homeassistant.components.conversation import DOMAIN as CONVERSATION, ChatLog, SystemContent, UserContent
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import MATCH_ALL
from homeassistant.core import Context, CoreState, Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import TrackStates, async_track_state_change_filtered, async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util

from ..client.endpoint import Endpoint
from ..client.messages import ChatRequest, ModelReply
from ..home.snapshot import HomeSnapshot
from ..languages.data import async_load
from ..prompt.layout import Layout
from ..prompt.request import Ready
from ..prompt.states import View, told_as
from ..settings.profile import Profile
from ..support.const import DOMAIN, LOGGER
from ..support.errors import LLMError, where_of
from ..transcript.transcript import Round, Transcript, begin_round
from ..turn.turn import Turn, TurnRecord, area_of, running
from .model_turn import async_requests
from .router import SPLITS, async_router_begins
from .runtime import RuntimeData

LOOK_EVERY = timedelta(minutes=1)
IDLE = 300.0  # seconds; so long a conversation goes on, and nothing before it may change in what the model has read
OVERDUE = 900.0  # seconds after which a minute without a word is enough
SHORT_IDLE = 60.0
WORTH = 60  # tokens of changes; from here on, one request beforehand is better than reading them with each message
UNREAD_SHARE = 0.5  # of the states, where they are not read beforehand: then the next person waits for it
APART = 600.0  # seconds between two such requests to one endpoint: at most six an hour, and never all at once
READ_TIMEOUT = 120.0  # seconds
SATELLITE, LISTENING = "assist_satellite", "listening"  # an integration that need not be installed
NOTHING_SAID = "…"  # some servers take no empty message


@dataclass(slots=True)
class _ExpectedSpeaker:
    """Who asks an agent: the next question will come like the last one."""

    turn: Turn
    due_since: float | None = None
    read: HomeSnapshot | None = None  # the home as it stood in the prompt that the model has read last


@dataclass(slots=True, kw_only=True)
class Readiness:
    """Keeps the models of one config entry ready."""

    hass: HomeAssistant
    entry: ConfigEntry[Any]
    runtime: RuntimeData
    _readers: dict[str, _ExpectedSpeaker] = field(default_factory=dict)
    _asked: dict[str, float] = field(default_factory=dict)

    @callback
    def async_start(self) -> None:
        """Begin, until the entry is unloaded."""
        on_unload = self.entry.async_on_unload
        on_unload(async_track_time_interval(self.hass, self._async_look, LOOK_EVERY, cancel_on_shutdown=True))
        on_unload(async_at_started(self.hass, self._async_at_start))
        satellites = TrackStates(all_states=False, entities=set(), domains={SATELLITE})
        on_unload(async_track_state_change_filtered(self.hass, satellites, self._async_hears).async_remove)

    @callback
    def async_follow(self, changed: Collection[str]) -> None:
        """Forget what was read for agents that were changed or removed, by subentry id, and let the model read for the first."""
        sources = self.runtime.sources
        for profile_id in changed:
            self._readers.pop(profile_id, None)
            sources.asked.pop(profile_id, None)
        for owner in [owner for owner in sources.ready if owner.profile_id in changed]:
            del sources.ready[owner]
        if changed and self.hass.state is CoreState.running:
            reading = self._async_read_first(changed)
            self.entry.async_create_background_task(self.hass, reading, "home_agent keep the model ready")

    async def _async_at_start(self, _hass: HomeAssistant) -> None:
        """Let the model read for the person who will probably speak first."""
        await self._async_read_first(self.runtime.profiles)

    async def _async_read_first(self, among: Collection[str]) -> None:
        """Let a model read for the first agent whose model is kept ready, if it is among these subentry ids."""
        for profile in (*self.runtime.profiles.values(),):
            endpoint = self.runtime.endpoint_of(profile)
            if endpoint is None or not endpoint.config.keeps_ready:
                continue
            if (turn := await self._async_expected(profile)) is not None:
                if profile.subentry_id not in among:
                    return
                reader = self._readers[profile.subentry_id] = _ExpectedSpeaker(turn)
                self._begin(endpoint, self._async_read_everything(endpoint, reader))
                return  # another agent would only take the place of this one

    async def _async_look(self, _now: datetime) -> None:
        """Learn what changes how often, and have the states written down anew where it is time."""
        if self.hass.state is not CoreState.running:
            return
        now = dt_util.utcnow().timestamp()
        for gone in self.runtime.sources.asked.keys() - self.runtime.profiles.keys():  # a turn outlived its agent
            del self.runtime.sources.asked[gone]
        for turn in self.runtime.sources.asked.values():
            profile_id = turn.profile.subentry_id
            known = self._readers.get(profile_id)
            if known is None or known.turn is not turn:
                self._readers[profile_id] = _ExpectedSpeaker(
                    turn, known.due_since if known else None, known.read if known else None
                )
        told: set[str] = set()
        for reader in tuple(self._readers.values()):
            view = await self._async_view(reader.turn)
            for selection in view.selections.values():
                told.update(entity.entity_id for entity in selection.entities)
        await self.runtime.sources.volatility.async_look(told, now)
        for reader in tuple(self._readers.values()):
            await self._async_renew(reader, now)

    async def _async_renew(self, reader: _ExpectedSpeaker, now: float) -> None:
        """Write the states down anew for one agent, where that is worth it, and let its model read them."""
        profile = reader.turn.profile
        endpoint = self.runtime.endpoint_of(profile)
        if endpoint is None or self.runtime.profiles.get(profile.subentry_id) is not profile:
            return
        if endpoint.is_reading:
            return
        view = await self._async_view(reader.turn)
        keeps_ready = endpoint.config.keeps_ready
        estimate = endpoint.client.estimator.estimate
        stale = []
        for key, baseline in view.baselines.items():
            if key[0] != told_as(profile):
                continue
            changed = estimate("".join(view.changed_since(baseline).values()))
            worth = WORTH if keeps_ready else max(WORTH, round(baseline.tokens * UNREAD_SHARE))
            if changed >= worth or now >= baseline.holds_until:
                stale.append(key)
        unread = keeps_ready and reader.read is not view.snapshot
        if not stale and not unread:
            reader.due_since = None
            return
        reader.due_since = due_since = reader.due_since or now
        idle = SHORT_IDLE if now - due_since >= OVERDUE else IDLE
        asked_lately = now - self._asked.get(endpoint.config.subentry_id, -APART) < APART
        if now - endpoint.asked_at < idle or (keeps_ready and asked_lately):
            return
        reader.due_since = None
        for key in stale:
            del view.baselines[key]
        if keeps_ready:
            self._asked[endpoint.config.subentry_id] = now
            self._begin(endpoint, self._async_read_everything(endpoint, reader))

    async def _async_view(self, turn: Turn) -> View:
        return await self.runtime.sources.views.async_of(self.hass, await self.runtime.home.async_get(), turn)

    @callback
    def _begin(self, endpoint: Endpoint, work: Any) -> None:
        """Start to let an endpoint read; one thing at a time, and never beside a question of a person."""
        if endpoint.reading is not None:
            endpoint.reading.cancel()
        endpoint.reading = endpoint.async_work(work, "keep the model ready")

    async def _async_read_everything(self, endpoint: Endpoint, reader: _ExpectedSpeaker) -> None:
        """Let the model read all that stands before a first message."""
        if reader.turn.profile.routing in SPLITS:
            messages = await async_router_begins(self.runtime, reader.turn)
            messages.append({"role": "user", "content": NOTHING_SAID})
            if await _async_read(endpoint, ChatRequest(messages=messages, max_tokens=1)):
                reader.read = (await self._async_view(reader.turn)).snapshot
            return
        turn = replace(
            reader.turn,
            text="",
            conversation_id=f"{DOMAIN}-ready",
            parent=None,
            rehearsal=True,
            record=TurnRecord(),  # nothing of this is noted where something was said
        )
        if (found := await self._async_request(endpoint, turn)) is None:
            return
        request, _ = found
        system = request.messages[0]
        if await _async_read(endpoint, replace(request, messages=[system, {"role": "user", "content": NOTHING_SAID}])):
            reader.read = (await self._async_view(turn)).snapshot

    @callback
    def _async_hears(self, event: Event[EventStateChangedData]) -> None:
        """Let the model read what belongs to the next message of a satellite that begins to listen."""
        old, new = event.data["old_state"], event.data["new_state"]
        begins = new is not None and new.state == LISTENING and (old is None or old.state != LISTENING)
        if begins and (found := self._listener(event.data["entity_id"])) is not None:
            self._begin(found[0], self._async_read_for(*found))

    def _listener(self, satellite_id: str) -> tuple[Endpoint, Turn] | None:
        """Return the endpoint that a satellite's words will go to, and the turn that they will be; None: not one of ours."""
        entry = er.async_get(self.hass).async_get(satellite_id)
        device_id = entry.device_id if entry is not None else None
        if (pipeline := _pipeline_of(self.hass, device_id)) is None:
            return None
        agents = er.async_get(self.hass)
        for profile in self.runtime.profiles.values():
            agent_id = agents.async_get_entity_id(CONVERSATION, DOMAIN, profile.subentry_id)
            if agent_id is not None and agent_id == pipeline["agent"]:
                endpoint = self.runtime.endpoint_of(profile)
                if endpoint is None or not endpoint.config.keeps_ready:
                    return None
                return endpoint, self._turn(profile, agent_id, device_id, satellite_id, pipeline["language"])
        return None

    def _turn(
        self, profile: Profile, agent_id: str, device_id: str | None, satellite_id: str | None, language: str
    ) -> Turn:
        return Turn(
            profile=profile,
            conversation_id=f"{DOMAIN}-ready",
            text="",
            language=language,
            context=Context(),
            device_id=device_id,
            satellite_id=satellite_id,
            area_id=area_of(self.hass, device_id, satellite_id),
            agent_id=agent_id,
            spoken=profile.speech != "never",
            direct=True,
            rehearsal=True,
        )

    async def _async_expected(self, profile: Profile) -> Turn | None:
        """Return how the first message to an agent will probably come: from a satellite that talks to it, else from its owner."""
        agent_id = er.async_get(self.hass).async_get_entity_id(CONVERSATION, DOMAIN, profile.subentry_id)
        if agent_id is None:
            return None
        for satellite_id in self.hass.states.async_entity_ids(SATELLITE):
            found = self._listener(satellite_id)
            if found is not None and found[1].profile is profile:
                return found[1]
        users = await self.hass.auth.async_get_users()
        user = next((user for user in users if user.is_owner and user.is_active and not user.system_generated), None)
        if user is None:
            return None
        turn = self._turn(profile, agent_id, None, None, self.hass.config.language)
        return replace(turn, user=user, context=Context(user_id=user.id), spoken=False)

    async def _async_read_for(self, endpoint: Endpoint, turn: Turn) -> None:
        """Let the model read everything up to what the user is about to say, and keep it for that turn."""
        if turn.profile.routing in SPLITS:  # what comes first is short, and read already
            return
        going_on = self.runtime.transcripts.of_owner(turn.owner)
        logs = self.hass.data.get(DATA_CHAT_LOGS) or {}
        fresh = dt_util.utcnow() - timedelta(seconds=IDLE)
        if going_on is not None and going_on[1].rounds[-1].at < fresh:
            going_on = None  # Home Assistant begins a new one
        transcript = conversation_id = None
        if going_on is not None and going_on[0] in logs:
            conversation_id, transcript = going_on
            turn = replace(turn, conversation_id=conversation_id)
        rounds = 1 if transcript is None else len(transcript.rounds) + 1
        if (found := await self._async_request(endpoint, turn, transcript)) is None:
            return
        request, told = found
        self.runtime.sources.ready[turn.owner] = Ready(
            part=told.part,
            conversation_id=conversation_id,
            rounds=rounds,
            language=turn.language,
            baseline=told.inputs.baseline,
            taints=frozenset(turn.record.taints),
            at=self.hass.loop.time(),
        )
        await _async_read(endpoint, request)

    async def _async_request(
        self, endpoint: Endpoint, turn: Turn, transcript: Transcript | None = None
    ) -> tuple[ChatRequest, Layout] | None:
        """Return the request of a message without words, and its layout; None if it cannot be made."""
        question, rehearsed = UserContent(content=""), None
        chat_log = ChatLog(self.hass, turn.conversation_id, [SystemContent(content=""), question])
        try:
            await async_load(self.hass, turn.language)
            if transcript is None:
                transcript = Transcript()
                begin_round(turn, transcript, self.runtime.conversations, None, chat_log.content)
            else:
                rehearsed = Round(question=question, speaker=turn.owner, at=question.created)
            with running(turn):  # what the agent does not know of the home is not read either
                requests = await async_requests(self.runtime, endpoint, turn, chat_log, transcript, rehearsed=rehearsed)
                messages = await requests.async_messages(False)
                return ChatRequest(
                    messages=messages, tools=requests.offered, max_tokens=1, background=True
                ), requests.layout
        except Exception as err:  # noqa: BLE001 - nothing waits for it, and the turn that follows says what is wrong
            LOGGER.debug("What a model would be asked could not be prepared: %s", where_of(err))
            return None


async def _async_read(endpoint: Endpoint, request: ChatRequest) -> bool:
    """Let an endpoint read a request; return whether it did. An endpoint that is away is no news here."""
    with suppress(LLMError, TimeoutError):
        async with asyncio.timeout(READ_TIMEOUT), aclosing(endpoint.client.stream(request, ModelReply())) as deltas:
            async for _ in deltas:
                pass
        return True
    return False


def _pipeline_of(hass: HomeAssistant, device_id: str | None) -> Mapping[str, str] | None:
    """Return `agent` and `language` of the pipeline that a satellite's device uses; None: it cannot be told."""
    if device_id is None or "assist_pipeline" not in hass.config.components:
        return None
    from homeassistant.components.assist_pipeline import PipelineNotFound, async_get_pipeline
    from homeassistant.components.assist_pipeline.runtime import KEY_ASSIST_PIPELINE
    from homeassistant.components.assist_pipeline.select import get_chosen_pipeline

    device = hass.data[KEY_ASSIST_PIPELINE].pipeline_devices.get(device_id)
    chosen = get_chosen_pipeline(hass, device.domain, device.unique_id_prefix) if device is not None else None
    try:
        pipeline = async_get_pipeline(hass, chosen)
    except PipelineNotFound:
        return None
    language = pipeline.conversation_language
    if language == MATCH_ALL:
        language = pipeline.stt_language or pipeline.tts_language or pipeline.language
    return {"agent": pipeline.conversation_engine, "language": language}
