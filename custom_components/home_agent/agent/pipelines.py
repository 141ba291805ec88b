"""Voice assistants (pipelines): which there are, whose agent answers, and which answer before an agent of ours hears them.

Nothing of `assist_pipeline` is imported: its libraries are only there where it is set up.
"""

from collections.abc import Mapping
from typing import Any

from homeassistant.components.conversation import DOMAIN as CONVERSATION
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import EVENT_COMPONENT_LOADED
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import EventComponentLoaded

from ..settings.profile import Profile
from ..support import issues
from ..support.const import DOMAIN

ASSIST_PIPELINE = "assist_pipeline"
PIPELINE_ID = "pipeline_id"


@callback
def async_watch_pipelines(hass: HomeAssistant, entry: ConfigEntry, profiles: Mapping[str, Profile]) -> None:
    """Keep the Repairs issues about pipelines up to date until the entry is unloaded."""

    @callback
    def watch(_event: Event[EventComponentLoaded] | None = None) -> None:
        store = hass.data[ASSIST_PIPELINE].pipeline_store

        async def changed(_change: str, _pipeline_id: str, _pipeline: object) -> None:
            async_check_pipelines(hass, profiles)

        entry.async_on_unload(store.async_add_listener(changed))
        async_check_pipelines(hass, profiles)

    @callback
    def is_pipelines(data: EventComponentLoaded) -> bool:
        return data["component"] == ASSIST_PIPELINE

    if ASSIST_PIPELINE in hass.data:
        watch()
    else:
        entry.async_on_unload(hass.bus.async_listen(EVENT_COMPONENT_LOADED, watch, event_filter=is_pipelines))


@callback
def async_look_at_pipelines(hass: HomeAssistant, profiles: Mapping[str, Profile]) -> None:
    """Do what `async_check_pipelines` does where there are voice assistants."""
    if ASSIST_PIPELINE in hass.data:
        async_check_pipelines(hass, profiles)


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
        data: dict[str, str | int | float | None] = {PIPELINE_ID: pipeline_id}
        placeholders = {"pipeline": name, "profile": profile_name}
        issues.async_set(hass, issues.PIPELINE_PREFERS_LOCAL, pipeline_id, data=data, **placeholders)


@callback
def async_pipelines(hass: HomeAssistant) -> Mapping[str, Any]:
    """Return the voice assistants by id (`assist_pipeline.Pipeline`); none where it is not set up."""
    pipelines: Mapping[str, Any] = {} if ASSIST_PIPELINE not in hass.data else _store(hass).data
    return pipelines


@callback
def async_preferred_pipeline(hass: HomeAssistant) -> Any | None:
    """Return the voice assistant that is used where none is named, None where there is none."""
    pipelines = async_pipelines(hass)
    return pipelines.get(_store(hass).async_get_preferred_item()) if pipelines else None


async def async_hand_over(hass: HomeAssistant, pipeline_id: str, agent_id: str | None = None) -> None:
    """Let the agent of a voice assistant, or another one, hear everything that is said to it."""
    if (pipeline := async_pipelines(hass).get(pipeline_id)) is not None:
        changes = {"conversation_engine": agent_id or pipeline.conversation_engine, "prefer_local_intents": False}
        kept = {key: value for key, value in pipeline.to_json().items() if key != "id"}
        await _store(hass).async_update_item(pipeline_id, {**kept, **changes})


async def async_add_pipeline(hass: HomeAssistant, agent_id: str, name: str) -> None:
    """Add a voice assistant that speaks like the preferred one, with the agent `agent_id`; its name may get a number."""
    like = async_preferred_pipeline(hass)
    if like is None:
        return
    taken = {pipeline.name for pipeline in async_pipelines(hass).values()}
    names = (name if number == 1 else f"{name} {number}" for number in range(1, len(taken) + 2))
    own = {"name": next(candidate for candidate in names if candidate not in taken), "conversation_engine": agent_id}
    copied = {key: value for key, value in like.to_json().items() if key != "id"}
    await _store(hass).async_create_item({**copied, **own, "prefer_local_intents": False})


def _store(hass: HomeAssistant) -> Any:
    return hass.data[ASSIST_PIPELINE].pipeline_store
