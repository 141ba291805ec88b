"""All extensions of the home. The first with a name keeps it: of a folder, a profile, an integration, shipped."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from inspect import cleandoc
from pathlib import Path
import time
from typing import override

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, CoreState, HomeAssistant, callback
from homeassistant.helpers import intent, llm
from homeassistant.helpers.dispatcher import async_dispatcher_connect, async_dispatcher_send
from homeassistant.helpers.start import async_at_started
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.signal_type import SignalType
import probatio

from ...home.snapshot import Home, HomeSnapshot
from ...policy.tool import HomeAgentTool
from ...settings.profile import ALL, Profile
from ...support import issues
from ...support.const import ASSISTANT, DOMAIN, LOGGER
from ...support.errors import CustomToolError, ExtensionError, where_of
from ...support.localize import async_error_text
from ..custom.definition import CustomTool
from ..custom.provider import CustomTools, async_reason
from ..delegation import BLOCKED
from ..ha_apis import ApiTools, needs_admin, wrap
from ..mcp.provider import McpTools
from ..registry import Tools
from ..sanitize import MAX_NAME
from .extension import (
    MAX_SUMMARY,
    Extension,
    ExtensionSource,
    ExtensionTool,
    check_lines,
    check_names,
    domain_of,
    light_schema,
    line_of,
)
from .folder import FOLDER, SHIPPED, FolderTool, WrittenExtension, read_extensions

# For other integrations.


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredExtension:
    """An extension of another integration."""

    name: str
    """Letters, digits and blanks; its tools have it as a prefix in capitals: `CHEFBYTE_GET_INVENTORY` for `ChefByte`."""
    prompt: str  # the first line is its summary; the rest is for the agent that answers
    tools: Sequence[llm.Tool]
    """Line 1 of each description is its summary, line 2 an example sentence of a user, the rest are notes. The annotations
    are believed: `destructive` needs a yes, `open_world` brings text from outside."""


_REGISTERED: HassKey[list[RegisteredExtension]] = HassKey(f"{DOMAIN}_extensions")
_CHANGED: SignalType[()] = SignalType(f"{DOMAIN}_extensions")


@callback
def async_register_extension(hass: HomeAssistant, extension: RegisteredExtension) -> CALLBACK_TYPE:
    """Offer an extension, at any time; return a function that removes it. Its errors are shown in Repairs."""
    registered = hass.data.setdefault(_REGISTERED, [])
    registered.append(extension)
    async_dispatcher_send(hass, _CHANGED)

    @callback
    def unregister() -> None:
        registered[:] = [other for other in registered if other is not extension]
        async_dispatcher_send(hass, _CHANGED)

    return unregister


@dataclass(slots=True, kw_only=True)
class _NoApi(llm.API):
    """The API of registered tools."""

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        return llm.APIInstance(
            api=self, api_prompt="", llm_context=llm_context, tools=[], custom_serializer=llm.selector_serializer
        )


NO_USER = llm.LLMContext(platform=DOMAIN, context=None, language=None, assistant=ASSISTANT, device_id=None)


async def _async_registered(hass: HomeAssistant, registered: RegisteredExtension) -> Extension:
    """Return an extension of another integration in our form. Raises `ExtensionError`, and errors of its own code."""
    check_names(registered.name, registered.prompt, [tool.name for tool in registered.tools])
    api = _NoApi(hass=hass, id=f"{DOMAIN}_{domain_of(registered.name)}", name=registered.name)
    instance = await api.async_get_api_instance(NO_USER)
    tools: list[ExtensionTool] = []
    for tool in registered.tools:
        summary, example, notes = lines_of(tool.description or cleandoc(type(tool).__doc__ or ""))
        check_lines(tool.name, summary, example, notes)
        if (ours := wrap(instance, None, tool, tool.name)) is None:
            raise ExtensionError("extension_tool_schema", tool=tool.name)
        tools.append(ExtensionTool(ours, name=tool.name, summary=summary, example=example, notes=notes))
    return Extension(
        name=registered.name, prompt=registered.prompt.strip(), tools=tuple(tools), source=ExtensionSource.INTEGRATION
    )


def lines_of(description: str) -> tuple[str, str, str]:
    """Return summary, example and notes: line 1, line 2 and the rest of a description."""
    summary, example, notes = [*description.strip().split("\n", 2), "", ""][:3]
    return line_of(summary), line_of(example), notes.strip()


# Profiles that are a domain.


def alias_of(domain: str, tool: HomeAgentTool, used: Collection[str] = ()) -> str:
    """Return the name of a tool in a domain, with the verb GET if it reads, ACTION if it always asks, else UPDATE."""
    verb = "GET" if tool.annotations.read_only else "ACTION" if tool.always_asks else "UPDATE"
    words = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in tool.name.removeprefix("ha_"))
    whole = f"{domain}_{verb}_{'_'.join(words.upper().split()) or 'TOOL'}"[:MAX_NAME].rstrip("_")
    name, number = whole, 2
    while name in used:
        name, number = f"{whole[: MAX_NAME - 3]}_{number}", number + 1
    return name


# The tools beneath aliases.


LENT_SECONDS = 60
"""How long tools of an LLM API are kept while the home is unchanged: in a large home it takes a tenth of a second to get them, and a
turn needs them more than once. Each call is planned and checked anew."""
MOST_LENT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Originals:
    """The tools that can have an alias."""

    hass: HomeAssistant
    home: Home
    tools: Tools  # ours and the owner's
    apis: ApiTools
    mcp: McpTools
    _lent: dict[tuple[str | None, ...], tuple[llm.API, HomeSnapshot, float, Sequence[HomeAgentTool]]] = field(
        default_factory=dict
    )
    """Tools of APIs with the home and the time of asking, by API, user, device and language."""

    def forget(self) -> None:
        """Drop the cached tools of LLM APIs."""
        self._lent.clear()

    async def async_find(
        self, written: FolderTool, profile: Profile, llm_context: llm.LLMContext
    ) -> HomeAgentTool | None:
        """Return the tool beneath an alias; None if it is unavailable. Raises `ExtensionError` if it does not exist."""
        if written.mcp_server:
            return await self._async_of_server(written, llm_context)
        if not written.llm_api:
            tools: Sequence[HomeAgentTool] = await self.tools.async_tools(profile, llm_context)
            may_be_missing = written.alias in self.tools.names
        elif api := self.apis.known().get(written.llm_api):
            tools = await self._async_lent(api, llm_context)
            intent_type = written.alias.rpartition("__")[2]
            handlers = intent.async_get(self.hass)
            may_be_missing = not tools or any(handler.intent_type == intent_type for handler in handlers)
        elif self.hass.state is not CoreState.running:  # its integration may not be set up yet
            return None
        else:
            raise ExtensionError("extension_llm_api", tool=written.name, api=line_of(written.llm_api))
        found = next((tool for tool in tools if tool.name == written.alias), None)
        if found is None and not may_be_missing:
            raise ExtensionError("extension_alias", tool=written.name, alias=line_of(written.alias))
        return found

    async def _async_lent(self, api: llm.API, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tools of an API, cached while nothing has changed."""
        if needs_admin(api):  # a user may stop being one
            return await self.apis.async_of((api.id,), llm_context)
        user_id = llm_context.context.user_id if llm_context.context else None
        key = (api.id, user_id, llm_context.device_id, llm_context.language)
        snapshot, known = await self.home.async_get(), self._lent.get(key)
        if known is not None and known[0] is api and known[1] is snapshot:
            if time.monotonic() - known[2] < LENT_SECONDS:
                return known[3]
        tools = await self.apis.async_of((api.id,), llm_context)
        if len(self._lent) >= MOST_LENT:
            self._lent.clear()
        if tools:
            self._lent[key] = api, snapshot, time.monotonic(), tools
        return tools

    async def _async_of_server(self, written: FolderTool, llm_context: llm.LLMContext) -> HomeAgentTool | None:
        wanted = written.mcp_server.casefold()
        for server_id, server in self.mcp.servers.items():
            if wanted in (server_id.casefold(), server.config.title.casefold()):
                break
        else:
            raise ExtensionError("extension_mcp_server", tool=written.name, server=line_of(written.mcp_server))
        if not server.connected:
            return None
        tools = await self.mcp.async_tools(Profile(mcp_servers=(server_id,)), llm_context)
        found = next((tool for tool in tools if written.alias in (tool.remote.name, tool.name)), None)
        if found is None:
            raise ExtensionError("extension_alias", tool=written.name, alias=line_of(written.alias))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedExtension:
    """An invalid extension, which is not offered, with its error."""

    name: str
    source: ExtensionSource
    error: ExtensionError

    @property
    def id(self) -> str:
        """Return an id for its issue."""
        return f"{self.source}_{sha256(self.name.encode(errors='replace')).hexdigest()[:12]}"


@lru_cache(maxsize=64)
def _widened(profile: Profile) -> Profile:
    """Return a profile with all of our tools and the owner's, as the same object for an equal one."""
    return replace(
        profile, native_tools=True, custom_tools=(ALL,), documentation_tool=True, llm_apis=(), mcp_servers=()
    )


class Extensions:
    """The extensions of the entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        *,
        profiles: Mapping[str, Profile],
        tools: Tools,
        originals: Originals,
        custom_tools: CustomTools,
        home: Home,
        offers: Callable[[Profile, HomeAgentTool], bool],
        off: Collection[str] = (),
    ) -> None:
        """Take the profiles with their tools, the tools for aliases, the owner's choice of tools, and extensions that are off."""
        self._hass = hass
        self._profiles = profiles
        self._tools = tools
        self._originals = originals
        self._custom_tools = custom_tools
        self._home = home
        self._offers = offers
        self._off = frozenset(map(domain_of, off))
        self._registered = hass.data.setdefault(_REGISTERED, [])
        self._written: list[tuple[ExtensionSource, WrittenExtension]] = []
        self._unreadable: list[RefusedExtension] = []
        self._own: dict[tuple[ExtensionSource, str, str], CustomTool] = {}
        """Tools that folders define themselves, by source, extension and name."""
        self._made: dict[tuple[str, str, str], ExtensionTool] = {}
        """Aliases by source, extension and name."""
        self._others: dict[int, tuple[RegisteredExtension, Extension | ExtensionError]] = {}
        self._extensions: dict[str, Extension] = {}
        """By domain, the same object while its tools are the same."""
        self._schemas: dict[str, tuple[tuple[Extension, ...], str]] = {}
        """By profile: the Light Schema and its extensions."""
        self._told: Mapping[str, object] | None = None  # the errors in Repairs

    async def async_load(self) -> None:
        """Read the folders again and check them; while Home Assistant starts, the check is left for later."""
        folder = Path(self._hass.config.path(*FOLDER))
        written: list[tuple[ExtensionSource, WrittenExtension]] = []
        unreadable: list[RefusedExtension] = []
        for source, place in ((ExtensionSource.FOLDER, folder), (ExtensionSource.SHIPPED, SHIPPED)):
            found, wrong = await self._hass.async_add_executor_job(read_extensions, place)
            written += [(source, item) for item in found]
            unreadable += [RefusedExtension(name=name, source=source, error=err) for name, err in wrong]
        before, self._own = self._own, {}
        for tool in before.values():
            await tool.async_retire()
        self._written, self._unreadable = [], unreadable
        for source, item in written:
            own: dict[tuple[ExtensionSource, str, str], CustomTool] = {}
            for defined in item.tools:
                if not defined.definition:
                    continue
                try:
                    made = self._custom_tools.made_from(defined.definition)
                except (CustomToolError, probatio.Invalid) as err:
                    reason = await async_reason(self._hass, err)
                    error = ExtensionError("extension_tool_wrong", tool=defined.name, reason=reason)
                    unreadable.append(RefusedExtension(name=item.name, source=source, error=error))
                    break
                own[source, item.name, made.name] = made
            else:
                self._written.append((source, item))
                self._own |= own
        self._made.clear()
        self._originals.forget()
        if self._hass.state is CoreState.running:
            await self.async_check()

    @callback
    def async_start(self, entry: ConfigEntry) -> None:
        """Check again when other integrations register extensions, and once Home Assistant has started."""

        @callback
        def look_again(_hass: HomeAssistant | None = None) -> None:
            entry.async_create_background_task(self._hass, self.async_check(), "home_agent look at the extensions")

        entry.async_on_unload(async_dispatcher_connect(self._hass, _CHANGED, look_again))
        entry.async_on_unload(async_at_started(self._hass, look_again))

    async def async_use(self, offers: Callable[[Profile, HomeAgentTool], bool], off: Collection[str]) -> None:
        """Take the owner's choice of tools and extensions as it is now, and check all again."""
        self._offers, self._off = offers, frozenset(map(domain_of, off))
        self._schemas.clear()
        self._extensions.clear()
        self._originals.tools.async_limit(lambda _profile, _tool: True)
        of_agents = [key for key in self._made if key[0] == ExtensionSource.PROFILE]
        for key in [key for key in of_agents if key[1] not in self._profiles]:
            del self._made[key]
        if self._hass.state is CoreState.running:
            await self.async_check()

    @property
    def names(self) -> list[str]:
        """Return the names of all extensions, also of disabled and refused ones, sorted."""
        found = {profile.extension_name for profile in self._profiles.values()} - {""}
        found |= {registered.name for registered in self._registered}
        found |= {item.name for _, item in self._written} | {refused.name for refused in self._unreadable}
        return sorted(found)

    @property
    def tool_names(self) -> set[str]:
        """Return the names of all tools of folders and integrations, which servers must not use."""
        written = {tool.name for _, item in self._written for tool in item.tools}
        return written | {tool.name for registered in self._registered for tool in registered.tools}

    async def async_check(self) -> list[RefusedExtension]:
        """Return the refused extensions, and update their issues.

        Those that are shipped are not looked at: only tests can find a fault in them, and for their tools Home Assistant would write
        down the whole home, in one go.
        """
        _, refused = await self._async_all(Profile(), NO_USER, shipped=False)
        return refused

    async def async_known(self, profile: Profile, llm_context: llm.LLMContext) -> list[Extension]:
        """Return all valid extensions, sorted by name, without regard to the profile's choice."""
        found, _ = await self._async_all(profile, llm_context)
        return [found[domain] for domain in sorted(found)]

    async def async_of(self, profile: Profile, llm_context: llm.LLMContext) -> tuple[Extension, ...]:
        """Return the extensions that a profile may route to, sorted by name, without those that have no tool now."""
        wanted = None if ALL in profile.extensions else set(map(domain_of, profile.extensions))
        offered: list[Extension] = []
        for extension in await self.async_known(profile, llm_context):
            domain = domain_of(extension.name)
            is_itself = extension.profile_id != "" and extension.profile_id == profile.subentry_id
            user_id = llm_context.context.user_id if llm_context.context else None
            role = self._profiles.get(extension.profile_id)
            if role is not None and not role.is_for(user_id):
                continue
            if is_itself or domain in self._off or (wanted is not None and domain not in wanted):
                continue
            tools = tuple(tool for tool in extension.tools if self._offers(profile, tool))
            if tools:
                offered.append(extension if tools == extension.tools else replace(extension, tools=tools))
        return tuple(offered)

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> list[ExtensionTool]:
        """Return all tools of the profile's extensions, and of itself if it is a domain."""
        own = [
            extension
            for extension in await self.async_known(profile, llm_context)
            if extension.profile_id and extension.profile_id == profile.subentry_id
        ]
        return [tool for extension in (*await self.async_of(profile, llm_context), *own) for tool in extension.tools]

    async def async_light_schema(self, profile: Profile, llm_context: llm.LLMContext) -> str:
        """Return the Light Schema of the profile's extensions; "" without any."""
        extensions = await self.async_of(profile, llm_context)
        known = self._schemas.get(profile.subentry_id)
        if known is None or known[0] != extensions:
            known = self._schemas[profile.subentry_id] = extensions, light_schema(extensions)
        return known[1]

    async def _async_all(
        self, profile: Profile, llm_context: llm.LLMContext, *, shipped: bool = True
    ) -> tuple[dict[str, Extension], list[RefusedExtension]]:
        """Return all extensions by domain, and the refused ones; update their issues."""
        found: dict[str, Extension] = {}
        refused = list(self._unreadable)
        async for name, source, made in self._async_each(profile, llm_context, shipped=shipped):
            domain = domain_of(name)
            if not isinstance(made, ExtensionError) and (first := found.get(domain)) is not None:
                if source is ExtensionSource.SHIPPED:  # the owner's replaces it
                    continue
                made = ExtensionError("extension_twice", name=first.name)
            if isinstance(made, ExtensionError):
                refused.append(RefusedExtension(name=name, source=source, error=made))
            else:
                key = f"{source}_{domain}"
                if self._extensions.get(key) != made:
                    self._extensions[key] = made
                found[domain] = self._extensions[key]
        by_id = {item.id: item for item in refused}
        told = {key: (item.error.translation_key, item.error.translation_placeholders) for key, item in by_id.items()}
        if told != self._told:
            self._told = told
            issues.async_clear(self._hass, issues.EXTENSION_WRONG, but_of=by_id)
            for item in by_id.values():
                reason = await async_error_text(self._hass, self._hass.config.language, item.error)
                issues.async_set(self._hass, issues.EXTENSION_WRONG, item.id, name=item.name, reason=reason)
        return found, refused

    async def _async_each(
        self, profile: Profile, llm_context: llm.LLMContext, *, shipped: bool
    ) -> AsyncIterator[tuple[str, ExtensionSource, Extension | ExtensionError]]:
        """Yield name, source and extension, or its error, in order of precedence."""
        made: Extension | ExtensionError
        kinds = {entity_id.partition(".")[0] for entity_id in (await self._home.async_get()).entities}
        for source, written in list(self._written):
            if source is ExtensionSource.FOLDER:
                yield written.name, source, await self._async_written(source, written, kinds, profile, llm_context)
        for role in self._profiles.values():
            if role.extension_name:
                try:
                    made = self._of_profile(role, await self._tools.async_tools(role, llm_context))
                except ExtensionError as err:
                    made = err
                yield role.extension_name, ExtensionSource.PROFILE, made
        for registered in list(self._registered):
            yield registered.name, ExtensionSource.INTEGRATION, await self._async_registered(registered)
        for source, written in list(self._written):
            if shipped and source is ExtensionSource.SHIPPED:
                yield written.name, source, await self._async_written(source, written, kinds, profile, llm_context)

    async def _async_written(
        self,
        source: ExtensionSource,
        written: WrittenExtension,
        kinds: Collection[str],
        profile: Profile,
        llm_context: llm.LLMContext,
    ) -> Extension | ExtensionError:
        """Return the extension of a folder, or its error; tools for others than the exposed `kinds` are left out."""
        tools: list[ExtensionTool] = []
        is_about = not written.needs or any(kind in kinds for kind in written.needs)
        for tool in written.tools if is_about else ():
            if tool.domains and not any(kind in kinds for kind in tool.domains):
                continue
            original: HomeAgentTool | None = self._own.get((source, written.name, tool.name))
            if tool.alias:
                try:
                    original = await self._originals.async_find(tool, _widened(profile), llm_context)
                except ExtensionError as err:
                    if not tool.optional:
                        return err
            if original is None:
                continue
            key = (source, written.name, tool.name)
            known = self._made.get(key)
            if known is None or known.tool is not original:
                try:
                    known = self._made[key] = ExtensionTool(
                        original,
                        name=tool.name,
                        summary=tool.summary,
                        example=tool.example,
                        notes=tool.notes,
                        arguments=tool.arguments,
                        domains=tool.domains,
                    )
                except ExtensionError as err:
                    return err
            tools.append(known)
        return Extension(name=written.name, prompt=written.prompt, tools=tuple(tools), source=source)

    async def _async_registered(self, registered: RegisteredExtension) -> Extension | ExtensionError:
        """Return an extension of another integration in our form, or its error."""
        if (known := self._others.get(id(registered))) is None:
            made: Extension | ExtensionError
            try:
                made = await _async_registered(self._hass, registered)
            except ExtensionError as err:
                made = err
            except Exception as err:  # noqa: BLE001 - code of another integration, which must not end a turn
                LOGGER.error("The extension %s could not be read: %s", registered.name, where_of(err))
                made = ExtensionError("extension_broken", name=registered.name, detail=type(err).__name__)
            there = {id(other) for other in self._registered}
            self._others = {key: one for key, one in self._others.items() if key in there}
            known = self._others[id(registered)] = registered, made  # kept, so that no other object gets its id
        return known[1]

    def _of_profile(self, profile: Profile, tools: Iterable[HomeAgentTool]) -> Extension:
        """Return the extension of a profile; the texts of its aliases are made from the tools' own. Raises `ExtensionError`."""
        if profile.delegation_level == BLOCKED:
            raise ExtensionError("extension_blocked", name=profile.name)
        domain, made = domain_of(profile.extension_name), dict[str, ExtensionTool]()
        offered = (tool for tool in tools if not tool.is_of_person)
        for tool in sorted(
            offered, key=lambda tool: tool.annotations.open_world
        ):  # tools of servers get free names last
            alias = alias_of(domain, tool, made)
            key = (ExtensionSource.PROFILE, profile.subentry_id, alias)
            known = self._made.get(key)
            if known is None or known.tool is not tool:
                summary, example, notes = lines_of(tool.description or "")
                if tool.example:
                    example, notes = tool.example, "\n".join(filter(None, (example, notes)))
                known = self._made[key] = ExtensionTool(
                    tool,
                    name=alias,
                    summary=(summary or tool.title or tool.name)[:MAX_SUMMARY],
                    example=example[:MAX_SUMMARY],
                    notes=notes,
                    guide=tool.guide.replace(tool.name, alias) if tool.guide else None,
                )
            made[alias] = known
        check_names(profile.extension_name, profile.description, made, most=None)
        return Extension(
            name=profile.extension_name,
            prompt=profile.description.strip(),
            tools=tuple(made.values()),
            source=ExtensionSource.PROFILE,
            profile_id=profile.subentry_id,
        )
