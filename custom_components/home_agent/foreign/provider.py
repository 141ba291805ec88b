"""The tool collections that an assistant's owner chose, from Home Assistant's registry."""

from collections.abc import Callable, Iterable, Sequence

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import slugify

from ..client.names import free_name, tool_name_from
from ..const import DOMAIN, LOGGER
from ..context.outages import Outages
from ..profiles.profile import Profile
from ..safety.tool import HomeAgentTool
from .actions import CALL_ACTION, ForeignAction
from .guide import stable_guide
from .intents import ForeignIntent
from .lists import PARAMETERS, ForeignList
from .scripts import PREFIX, SCRIPT, ForeignScript
from .tool import ForeignTool, needs_admin

TIMEOUT = 5.0  # seconds; one that takes longer keeps nobody from an answer

type Notify = Callable[[HomeAssistant, Profile, Iterable[str]], None]
"""Told which collections of an assistant are gone; none: all are there."""


class ForeignTools:
    """Tools of Assist, of scripts, of Home Assistant's MCP client and of other integrations."""

    def __init__(self, hass: HomeAssistant, notify: Notify) -> None:
        """Take who is told of collections that are gone."""
        self._hass = hass
        self._notify = notify
        self._outages = Outages()

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tools of what the profile chose; a collection that cannot be had now is left out."""
        if not profile.llm_apis:
            return ()
        known = {api.id: api for api in llm.async_get_apis(self._hass) if not api.id.startswith(DOMAIN)}
        self._notify(self._hass, profile, [api_id for api_id in profile.llm_apis if api_id not in known])
        instances = [
            instance
            for api_id in profile.llm_apis
            if (api := known.get(api_id)) and (instance := await self._async_instance(api, llm_context))
        ]
        return wrapped(instances)

    async def _async_instance(self, api: llm.API, llm_context: llm.LLMContext) -> llm.APIInstance | None:
        if needs_admin(api) and not await self._async_is_admin(llm_context):
            return None
        asked = llm.async_get_api(self._hass, api.id, llm_context)
        return await self._outages.async_answer(f"The tools of {api.name}", TIMEOUT, asked)

    async def _async_is_admin(self, llm_context: llm.LLMContext) -> bool:
        user_id = llm_context.context.user_id if llm_context.context else None
        user = await self._hass.auth.async_get_user(user_id) if user_id else None
        return user is not None and user.is_admin


def wrapped(instances: Iterable[llm.APIInstance]) -> list[HomeAgentTool]:
    """Return the tools of all instances in our form, with names that models take and that no two of them share.

    As in Home Assistant, tools that equal each other are one, and others of the same name get that of their API before it.
    """
    named: dict[str, list[tuple[llm.APIInstance, str | None, llm.Tool]]] = {}
    for instance in instances:
        guide = stable_guide(instance)
        for tool in instance.tools:
            sharing = named.setdefault(tool_name_from(tool.name), [])
            if all(other != tool for *_, other in sharing):
                sharing.append((instance, guide, tool))
    tools: dict[str, HomeAgentTool] = {}
    for name, sharing in named.items():
        for instance, guide, tool in sharing:
            unique = name if len(sharing) == 1 else tool_name_from(f"{slugify(instance.api.id)}__{tool.name}")
            free = free_name(unique, tools)
            if free and (made := _wrap(instance, guide, tool, free)) is not None:
                tools[free] = made
    return [*tools.values()]


def _wrap(instance: llm.APIInstance, guide: str | None, tool: llm.Tool, name: str) -> HomeAgentTool | None:
    """Return a tool in our form; None when its schema cannot be told to a model."""
    while isinstance(tool, llm.NamespacedTool):
        tool = tool.tool
    try:
        return _kind_of(tool)(tool, instance, name, guide)
    except Exception:  # noqa: BLE001 - whatever a schema of others does, their tool alone is lost
        LOGGER.exception("The tool %s of %s is left out", tool.name, instance.api.name)
        return None


def _kind_of(tool: llm.Tool) -> type[ForeignTool]:
    if isinstance(tool, llm.IntentTool):
        return ForeignIntent
    if tool.name in PARAMETERS:
        return ForeignList
    if tool.integration == SCRIPT and tool.name.startswith(PREFIX):
        return ForeignScript
    if tool.name == CALL_ACTION:
        return ForeignAction
    return ForeignTool
