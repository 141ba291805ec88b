"""Notices voice pipelines that answer some sentences before an assistant of ours hears them, and so around its policy."""

from collections.abc import Mapping

from homeassistant.components.conversation import DOMAIN as CONVERSATION
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_when_setup

from ..settings.profile import Profile
from ..support import issues
from ..support.const import DOMAIN

ASSIST_PIPELINE = "assist_pipeline"


@callback
def async_watch_pipelines(hass: HomeAssistant, entry: ConfigEntry, profiles: Mapping[str, Profile]) -> None:
    """Keep the Repairs issues about pipelines up to date until the entry is unloaded."""
    loaded = True

    @callback
    def forget() -> None:
        nonlocal loaded
        loaded = False

    async def watch(hass: HomeAssistant, _component: str) -> None:
        if not loaded:
            return
        store = hass.data[ASSIST_PIPELINE].pipeline_store

        async def changed(_change: str, _pipeline_id: str, _pipeline: object) -> None:
            async_check_pipelines(hass, profiles)

        entry.async_on_unload(store.async_add_listener(changed))
        async_check_pipelines(hass, profiles)

    entry.async_on_unload(forget)
    async_when_setup(hass, ASSIST_PIPELINE, watch)


@callback
def async_check_pipelines(hass: HomeAssistant, profiles: Mapping[str, Profile]) -> None:
    """Raise an issue for each pipeline of ours that prefers to answer itself, and take back what no longer holds."""
    registry = er.async_get(hass)
    ours = {
        registry.async_get_entity_id(CONVERSATION, DOMAIN, subentry_id): profile
        for subentry_id, profile in profiles.items()
    }
    found = {
        pipeline.id: (pipeline.name, ours[pipeline.conversation_engine].name)
        for pipeline in hass.data[ASSIST_PIPELINE].pipeline_store.data.values()
        if pipeline.prefer_local_intents and pipeline.conversation_engine in ours
    }
    issues.async_clear(hass, issues.PIPELINE_PREFERS_LOCAL, but_of=found)
    for pipeline_id, (name, profile_name) in found.items():
        issues.async_set(hass, issues.PIPELINE_PREFERS_LOCAL, pipeline_id, pipeline=name, profile=profile_name)
