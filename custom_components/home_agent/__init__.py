"""Home Agent: talk to the home, and let the home answer."""

from functools import partial
import logging

from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers.typing import ConfigType

from .agent.assembly import async_assemble, async_start
from .agent.pipelines import async_watch_pipelines
from .agent.ready import Readiness
from .agent.runtime import HomeAgentConfigEntry
from .client.endpoint import file_of as learned_file_of
from .home.taught_names import async_remove_taught_names
from .local.learned import async_remove_learned_phrases
from .memory.memories import async_remove_memories
from .policy.journal import async_remove_journal
from .search.knowledge import async_filled, async_remove_added
from .search.vectors import async_leave_server, delete_files
from .services import async_register_services
from .settings.memory import MemorySettings
from .settings.profile import migrated_options, migrated_settings, with_one_description
from .settings.search import RetrievalSettings
from .support.const import AUDIT, CONF_AUDIT_LOG, CONF_DEBUG_LOGGING, LOGGER, SUBENTRY_PROFILE
from .support.issues import async_clear
from .support.storage import async_remove_file, async_sweep
from .tools.custom import configuration
from .tools.extensions.extensions import RegisteredExtension, async_register_extension
from .transcript.conversations import async_remove_conversations

__all__ = ["RegisteredExtension", "async_register_extension"]
"""What other integrations may import."""

PLATFORMS = (Platform.AI_TASK, Platform.CONVERSATION, Platform.SENSOR)
CONFIG_SCHEMA = configuration.CONFIG_SCHEMA


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Register the actions, which exist whether an entry is loaded or not, and keep what stands in YAML."""
    configuration.keep(hass, config)
    await async_sweep(hass)
    async_register_services(hass)
    return True


async def async_migrate_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Bring what a release before stored to its present shape; False for what a later one stored in a shape of its own."""
    if entry.version > 1:
        return False
    if entry.minor_version < 2:
        for profile in entry.get_subentries_of_type(SUBENTRY_PROFILE):
            hass.config_entries.async_update_subentry(entry, profile, data=migrated_settings(profile.data))
        hass.config_entries.async_update_entry(entry, options=migrated_options(entry.options), minor_version=2)
    if entry.minor_version < 3:
        for profile in entry.get_subentries_of_type(SUBENTRY_PROFILE):
            hass.config_entries.async_update_subentry(entry, profile, data=with_one_description(profile.data))
        hass.config_entries.async_update_entry(entry, minor_version=3)
    return True


async def async_setup_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Build what the entry owns and start it. Asks no endpoint: the computer of a local model is often asleep."""
    entry.async_on_unload(entry.add_update_listener(_async_reload))  # first: settings may change while this runs
    if entry.options.get(CONF_DEBUG_LOGGING):  # else the level is what the owner's logger says
        entry.async_on_unload(partial(LOGGER.setLevel, LOGGER.level))
        LOGGER.setLevel(logging.DEBUG)
    if entry.options.get(CONF_AUDIT_LOG):  # above Home Assistant's own level, which is that of warnings
        entry.async_on_unload(partial(AUDIT.setLevel, AUDIT.level))
        AUDIT.setLevel(logging.INFO)
    entry.runtime_data = await async_assemble(hass, entry)
    await async_start(hass, entry)
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    async_watch_pipelines(hass, entry, entry.runtime_data.profiles)
    Readiness(hass=hass, entry=entry, runtime=entry.runtime_data).async_start()
    return True


async def async_unload_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> bool:
    """Take the entities down; everything else hangs on the entry and ends with it."""
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)


async def async_remove_entry(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Delete the journal, what was said, the memories, the documents that were added, and the index; the owner's folder stays."""
    filled = {*await async_filled(hass), MemorySettings.from_options(entry.options).collection}
    await async_leave_server(hass, RetrievalSettings.from_options(entry.options), filled)
    await async_remove_conversations(hass, entry.entry_id)
    await async_remove_journal(hass, entry.entry_id)
    await async_remove_taught_names(hass)
    await async_remove_learned_phrases(hass)
    await async_remove_file(hass, learned_file_of(entry.entry_id))
    await async_remove_added(hass)
    await async_remove_memories(hass)
    async_clear(hass)  # what was only noticed when it was unloaded
    await hass.async_add_executor_job(delete_files, hass)


async def _async_reload(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    if entry.state is ConfigEntryState.LOADED:
        await entry.runtime_data.async_move(entry.options)
    hass.config_entries.async_schedule_reload(entry.entry_id)
