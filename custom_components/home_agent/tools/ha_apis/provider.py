"""The LLM APIs of Home Assistant that a profile names, as tools in our form."""

from collections.abc import Callable, Iterable, Sequence
import re

from homeassistant.components.homeassistant import llm as inventory
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import slugify

from ...policy.tool import HomeAgentTool
from ...settings.profile import Profile
from ...support.const import DOMAIN, LOGGER
from ...support.outages import Outages
from ..sanitize import cleaned, free_name, tool_name_from
from .api_tools import (
    CALL_ACTION,
    PARAMETERS,
    PREFIX,
    SCRIPT,
    ApiAction,
    ApiIntent,
    ApiList,
    ApiScript,
    ApiTool,
    needs_admin,
)

MAX_GUIDE = 4000  # characters
TIMEOUT = 5.0  # seconds; an API that takes longer is left out
_INVENTORY = re.compile(r"^Static Context:.*\n(?:(?:- |  ).*\n?)*", re.MULTILINE)
"""The list of all exposed entities: our own home map has them."""
_DEVICE = re.compile(
    r"^(?:You are in area |When a user asks to turn on all devices |This device is not able to start timers).*\n?",
    re.MULTILINE,
)
"""What depends on the asking device: where it stands is told with each question, and timers are tools or are not there."""
_HOW_TO_READ: tuple[str, ...] = tuple(
    text for name in ("DYNAMIC_CONTEXT_PROMPT",) if isinstance(text := getattr(inventory, name, None), str)
)
"""That states have to be looked up: they are told with each question."""


type Notify = Callable[[HomeAssistant, Profile, Iterable[str]], None]
"""Told which APIs of a profile are gone; none: all are there."""


class ApiTools:
    """Tools of Assist, of scripts, of Home Assistant's MCP client and of other integrations."""

    revision = 0

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
        instances: list[llm.APIInstance] = []
        for api_id in profile.llm_apis:
            if (api := known.get(api_id)) is None or (needs_admin(api) and not await self._async_is_admin(llm_context)):
                continue
            asked = llm.async_get_api(self._hass, api.id, llm_context)
            instance = await self._outages.async_answer(f"The tools of {api.name}", TIMEOUT, asked)
            if instance is not None:
                instances.append(instance)
        return wrapped(instances)

    async def _async_is_admin(self, llm_context: llm.LLMContext) -> bool:
        user_id = llm_context.context.user_id if llm_context.context else None
        user = await self._hass.auth.async_get_user(user_id) if user_id else None
        return user is not None and user.is_admin


def stable_guide(instance: llm.APIInstance) -> str | None:
    """Return the instructions of an API as far as they are the same for every turn; None when nothing is left."""
    text = instance.api_prompt
    for part in _HOW_TO_READ:
        text = text.replace(part, "")
    text = _DEVICE.sub("", _INVENTORY.sub("", text)).strip()
    return cleaned(text, MAX_GUIDE) if text else None


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
    except Exception:  # noqa: BLE001 - a schema that cannot be read costs its own tool alone
        LOGGER.exception("The tool %s of %s is left out", tool.name, instance.api.name)
        return None


def _kind_of(tool: llm.Tool) -> type[ApiTool]:
    if isinstance(tool, llm.IntentTool):
        return ApiIntent
    if tool.name in PARAMETERS:
        return ApiList
    if tool.integration == SCRIPT and tool.name.startswith(PREFIX):
        return ApiScript
    if tool.name == CALL_ACTION:
        return ApiAction
    return ApiTool
