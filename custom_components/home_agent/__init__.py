"""Home Agent: talk to the home, and let the home answer."""

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers.typing import ConfigType

from .agent.assembly import KEPT, async_assemble, async_start
from .agent.changes import Changes
from .agent.pipelines import async_watch_pipelines
from .agent.ready import Readiness
from .agent.runtime import HomeAgentConfigEntry
from .policy.confirmation import LATE
from .search.knowledge import AddedDocuments
from .search.vectors import async_leave_server, delete_files
from .services import async_register_services
from .settings.memory import MemorySettings
from .settings.profile import migrated_options, migrated_settings, with_one_description
from .settings.search import RetrievalSettings
from .support.const import ENTRY_VERSION, SUBENTRY_PROFILE
from .support.issues import async_clear
from .support.kept import kept_things
from .support.storage import async_sweep
from .tools.custom import configuration
from .tools.extensions.extensions import RegisteredExtension, async_register_extension

__all__ = ["RegisteredExtension", "async_register_extension"]
"""What other integrations may import."""

PLATFORMS = (Platform.AI_TASK, Platform.CONVERSATION, Platform.SENSOR, Platform.TODO)
CONFIG_SCHEMA = configuration.CONFIG_SCHEMA


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Register the actions, which work without a loaded entry, and the kept things; remember the YAML configuration."""
    configuration.keep(hass, config)
    kept_things(hass).async_register(*KEPT)
    await async_sweep(hass)
    async_register_services(hass)
    return True


async def async_migrate_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Migrate data of an earlier version. Return False for a later major version, which Home Assistant shows.

    A key that changes its name or meaning is a major version: a release before it would go on without the setting.
    """
    if entry.version > ENTRY_VERSION:
        return False
    if entry.version == 1:
        for profile in entry.get_subentries_of_type(SUBENTRY_PROFILE):
            data = migrated_settings(profile.data) if entry.minor_version < 2 else profile.data
            hass.config_entries.async_update_subentry(entry, profile, data=with_one_description(data))
        options = migrated_options(entry.options) if entry.minor_version < 2 else entry.options
        hass.config_entries.async_update_entry(entry, options=options, version=ENTRY_VERSION, minor_version=1)
    return True


async def async_setup_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Build what the entry owns and start it. No endpoint is contacted: the computer of a local model is often asleep."""
    changes = Changes(hass=hass, entry=entry)
    entry.runtime_data = await async_assemble(hass, entry, changes.async_begin())
    await async_start(hass, entry)
    changes.async_offer()
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    async_watch_pipelines(hass, entry, entry.runtime_data.profiles)
    readiness = Readiness(hass=hass, entry=entry, runtime=entry.runtime_data)
    readiness.async_start()
    changes.async_start(readiness)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Unload the platforms; everything else ends with the entry."""
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)


async def async_remove_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Delete all kept things, the index, and our collections on a Chroma server. The folder of documents stays."""
    kept = kept_things(hass)
    added = kept.of(AddedDocuments)
    await added.async_open(entry.entry_id, lambda *_: None)
    await added.async_load()
    filled = {*added.filled, MemorySettings.from_options(entry.options).collection}
    await async_leave_server(hass, RetrievalSettings.from_options(entry.options), filled)
    await kept.async_remove(entry.entry_id)
    hass.data.pop(LATE, None)
    async_clear(hass)  # issues that unloading created
    await hass.async_add_executor_job(delete_files, hass)
