"""What the owner changes while the entry is loaded: only what depends on it is set up anew.

Entities, conversations, open questions, connections and figures of everything else stay as they are.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
import logging
from typing import Any

from homeassistant.config_entries import SOURCE_REAUTH, ConfigEntryState
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_send

from ..client.endpoint import Endpoint, ModelStatistics, async_recovered
from ..entity import CHANGED
from ..home.exposure import async_narrow
from ..search.vectors import Vectors
from ..settings.endpoint import EndpointConfig
from ..settings.profile import Profile
from ..support import issues
from ..support.const import AUDIT, LOGGER
from ..support.errors import where_of
from ..support.kept import kept_of
from ..turn.turn import async_zone
from .assembly import async_offer_outside, async_tell_what_is_missing, async_warm_routes, endpoint_of_config
from .configuration import Configuration, Difference
from .pipelines import async_look_at_pipelines
from .ready import Readiness
from .runtime import HomeAgentConfigEntry, RuntimeData

type Reads = tuple[Profile, EndpointConfig | None]
"""What decides how a prompt of an agent begins."""


@dataclass(slots=True, kw_only=True)
class Changes:
    """Takes up what the owner changes, one change after the other, from the set-up of an entry until it is unloaded."""

    hass: HomeAssistant
    entry: HomeAgentConfigEntry
    _readiness: Readiness | None = None  # None: the entry is being set up
    _wanted: bool = False  # whether something was changed since the configuration was read
    _task: asyncio.Task[None] | None = None
    _stopped: bool = False
    _shared: ExitStack = field(default_factory=ExitStack)
    """Takes back what a configuration sets for all of Home Assistant: levels of loggers, and what is exposed."""
    _outside: ExitStack = field(default_factory=ExitStack)
    """Takes back what a configuration offers to others: tools of agents, and what administrators are asked."""

    @callback
    def async_begin(self) -> Configuration:
        """Return the configuration to set up, which is shared with Home Assistant from now on; note what is changed meanwhile."""
        self.entry.async_on_unload(self.entry.add_update_listener(self._async_note))
        self.entry.async_on_unload(self.entry.async_on_state_change(self._leave_off))
        configuration = Configuration.of(self.entry)
        self._share(configuration)
        self.entry.async_on_unload(self._shared.close)
        self.entry.async_on_unload(self._outside.close)
        return configuration

    @callback
    def async_offer(self) -> None:
        """Offer to others what `entry.runtime_data` has for them."""
        self._outside.close()
        async_offer_outside(self.hass, self.entry.runtime_data, self._outside)

    @callback
    def async_start(self, readiness: Readiness) -> None:
        """Take changes up from now on, at first those since `async_begin`."""
        self._readiness = readiness
        self._go_on()

    @callback
    def _leave_off(self) -> None:
        """Leave off when the entry begins to be unloaded: its platforms must not be told of anything any more."""
        if self.entry.state is ConfigEntryState.UNLOAD_IN_PROGRESS:
            self._stopped = True
            if self._task is not None:
                self._task.cancel()

    async def _async_note(self, _hass: HomeAssistant, _entry: HomeAgentConfigEntry) -> None:
        self._wanted = True
        self._go_on()

    @callback
    def _go_on(self) -> None:
        is_busy = self._task is not None and not self._task.done()
        if self._wanted and self._readiness is not None and not is_busy and not self._stopped:
            self._task = self.entry.async_create_task(self.hass, self._async_take_up(), "home_agent changes")

    async def _async_take_up(self) -> None:
        while self._wanted and not self._stopped:
            await asyncio.sleep(0)  # what is changed in one go is taken up in one go
            self._wanted = False
            before = self.entry.runtime_data.configuration
            try:
                now = Configuration.of(self.entry, before)
                if now != before:
                    await self._async_apply(before, now)
            except Exception as err:  # noqa: BLE001 - the settings of before stay in use, and the owner is told
                LOGGER.error("Changed settings could not be taken up: %s", where_of(err))
                if (
                    self.entry.runtime_data.configuration is not before
                ):  # a part of them is in use: the rest has to follow
                    self.hass.config_entries.async_schedule_reload(self.entry.entry_id)
                    return
                issues.async_set(self.hass, issues.CHANGES_FAILED, self.entry.entry_id, error=type(err).__name__)
            else:
                issues.async_set(self.hass, issues.CHANGES_FAILED, self.entry.entry_id, False)

    async def _async_apply(self, before: Configuration, now: Configuration) -> None:
        """Replace what depends on what has changed. Up to `_commit`, an error leaves all as it was."""
        runtime, difference = self.entry.runtime_data, now.since(before)
        for profile in now.profiles.values():
            await async_zone(self.hass, profile.timezone, profile.name)
        endpoints = self._endpoints(now, difference)
        vectors = runtime.library.prepared(now)
        if difference.servers:
            runtime.mcp_tools.async_look_again()
        if vectors is not runtime.library.vectors:
            await runtime.library.async_leave(now)
        changed = self._commit(before, now, endpoints, vectors)
        if now.lookup != before.lookup:
            await runtime.library.async_go_on()
        await runtime.custom_tools.async_use(now.egress)
        if difference.custom_tools:
            await runtime.custom_tools.async_load()
        if _documents(before) != _documents(now):
            await runtime.sources.documents.async_load(now.profiles.values())
        async_dispatcher_send(self.hass, CHANGED)
        if difference.profiles:
            await runtime.conversations.async_take_up(runtime.profiles)
            async_look_at_pipelines(self.hass, runtime.profiles)
        await runtime.extensions.async_use(now.rules.offers, now.extensions_off)
        async_warm_routes(self.hass, self.entry)
        assert self._readiness is not None
        self._readiness.async_follow({*changed, *_with_other_tools(before, now, difference)})

    def _endpoints(self, now: Configuration, difference: Difference) -> Mapping[str, Endpoint]:
        """Return the endpoints of now; one that was not changed is the same object."""
        known = self.entry.runtime_data.endpoints
        statistics = kept_of(self.hass, ModelStatistics)
        return {
            key: known[key]
            if key not in difference.models
            else known[key].with_config(config)
            if key in known
            else endpoint_of_config(self.hass, self.entry, config, statistics)
            for key, config in now.models.items()
        }

    @callback
    def _commit(
        self,
        before: Configuration,
        now: Configuration,
        endpoints: Mapping[str, Endpoint],
        vectors: Vectors,
    ) -> set[str]:
        """Let all turns that begin find the configuration of now; return the agents whose prompts begin otherwise.

        A turn that runs goes on with its profile, its model and its tools. The rules of the home hold for it as they are now.
        """
        runtime = self.entry.runtime_data
        read = _reads(runtime)
        runtime.configuration = now
        self._share(now, before)
        _replace(runtime.profiles, now.profiles)
        self._replace_endpoints(endpoints, now.since(before))
        if now.lookup != before.lookup:
            self._look_up(now, vectors)
        runtime.registry.async_use(now.profiles.values(), now.options)
        runtime.commands.async_read()
        policy = runtime.policy
        policy.rules, policy.writes = now.rules, replace(policy.writes, seconds=now.verify_seconds)
        if (now.confirm_seconds, now.pins) != (before.confirm_seconds, before.pins):
            policy.confirmations.async_use(now.confirm_seconds, {**now.pins})
        policy.confirmations.async_follow(before.profiles, now.profiles)
        runtime.throttle.limit = now.throttle
        runtime.delegation.async_use(now.profiles, now.delegation_agents, now.delegation_depth)
        for tools in (runtime.tools, runtime.own_tools):
            tools.async_limit(now.rules.offers)
        self.async_offer()
        kept = _reads(runtime)
        changed = {key for key in read.keys() | kept.keys() if read.get(key) != kept.get(key)}
        runtime.transcripts.async_renew_instructions(changed)
        runtime.sources.views.async_forget(changed)
        for gone in _gone(before, now):
            issues.async_clear_of(self.hass, gone)
        async_tell_what_is_missing(self.hass, self.entry)
        return changed

    @callback
    def _replace_endpoints(self, endpoints: Mapping[str, Endpoint], difference: Difference) -> None:
        runtime = self.entry.runtime_data
        named = {(key, profile.llm_model) for key in endpoints for profile in runtime.profiles.values()}
        for model in [model for model in runtime.models if model[0] in difference.models or model not in named]:
            runtime.models.pop(model).async_leave_off_reading()
        for key in difference.models & runtime.endpoints.keys():
            runtime.endpoints[key].async_leave_off_reading()
            runtime.endpoints[key].stats.failures_in_a_row = 0
            async_recovered(self.hass, runtime.endpoints[key].config)
        _replace(runtime.endpoints, endpoints)
        if not difference.models:
            return
        runtime.external_models.async_look()
        for flow in [*self.entry.async_get_active_flows(self.hass, {SOURCE_REAUTH})]:  # they ask for a key of before
            self.hass.config_entries.flow.async_abort(flow["flow_id"])

    @callback
    def _look_up(self, now: Configuration, vectors: Vectors) -> None:
        runtime = self.entry.runtime_data
        if vectors is not runtime.library.vectors:
            runtime.means.routes.async_use(vectors)
        runtime.library.async_use(now, vectors)
        runtime.extractor.async_look_at_settings()
        runtime.means.names.async_use(now.memory)

    @callback
    def _share(self, now: Configuration, before: Configuration | None = None) -> None:
        """Set what all of Home Assistant shares."""
        if before is not None and _shared(before) == _shared(now):
            return
        self._shared.close()
        for logger, level, is_on in ((LOGGER, logging.DEBUG, now.debug_log), (AUDIT, logging.INFO, now.audit_log)):
            if is_on:  # otherwise, Home Assistant's logger settings apply
                self._shared.callback(logger.setLevel, logger.level)
                logger.setLevel(level)
        self._shared.callback(async_narrow(self.hass, now.allowed_entities))
        if before is not None:
            self.entry.runtime_data.home.async_invalidate()


def _shared(configuration: Configuration) -> tuple[object, ...]:
    return configuration.debug_log, configuration.audit_log, configuration.allowed_entities


def _replace[Value](live: dict[str, Value], now: Mapping[str, Value]) -> None:
    """Make a mapping that parts of the entry hold equal to another one, in its order."""
    found = {**now}
    live.clear()
    live.update(found)


def _reads(runtime: RuntimeData) -> dict[str, Reads]:
    """Return how the prompts of each agent begin, by subentry id; the title of a model does not count."""
    endpoints = {key: runtime.endpoint_of(profile) for key, profile in runtime.profiles.items()}
    configs = {key: replace(one.config, title="") if one is not None else None for key, one in endpoints.items()}
    return {key: (profile, configs[key]) for key, profile in runtime.profiles.items()}


def _gone(before: Configuration, now: Configuration) -> set[str]:
    """Return the subentry ids of what was removed."""

    def ids(configuration: Configuration) -> set[str]:
        parts: Sequence[Mapping[str, Any]] = (
            configuration.profiles,
            configuration.models,
            configuration.custom_tools,
            configuration.servers,
        )
        return {key for part in parts for key in part}

    return ids(before) - ids(now)


def _documents(configuration: Configuration) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return name and documents of the agents that have any in their instructions."""
    profiles = configuration.profiles.items()
    return {key: (profile.name, profile.system_documents) for key, profile in profiles if profile.system_documents}


def _with_other_tools(before: Configuration, now: Configuration, difference: Difference) -> set[str]:
    """Return the agents that may be offered other tools than before though they were not changed themselves."""
    return {
        key
        for key, profile in now.profiles.items()
        if (before.rules, before.memory.enabled) != (now.rules, now.memory.enabled)
        or (difference.custom_tools and profile.custom_tools)
        or not difference.servers.isdisjoint(profile.mcp_servers)
        or not difference.profiles.isdisjoint(profile.delegate_to)
    }
