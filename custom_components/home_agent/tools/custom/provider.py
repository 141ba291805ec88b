"""The custom tools from YAML and from the UI in one registry: names are unique, and YAML wins."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import probatio

from ...settings.profile import ALL, Profile
from ...support import issues
from ...support.const import SUBENTRY_CUSTOM_TOOL
from ...support.errors import CustomToolError
from ...support.http import EgressPolicy, Http
from ...support.localize import async_error_text
from ...support.masking import Secrets
from ..mcp.server import SharedServers
from .configuration import YamlSection, section_from
from .definition import CustomTool, Definition, TemplateTool, ToolContext, definition_from_data
from .mcp import McpCallTool
from .rest import RestTool
from .service import ServiceTool
from .templates import Templates

HANDLERS: Mapping[str, type[CustomTool]] = {
    "rest": RestTool,
    "service": ServiceTool,
    "template": TemplateTool,
    "mcp": McpCallTool,
}
"""The kinds of custom tools. A new kind is a subclass of `CustomTool`, and a line here."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A tool with its definition."""

    definition: Definition
    secrets: Mapping[str, str]
    tool: CustomTool


class CustomTools:
    """Offers the custom tools."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry) -> None:
        """Prepare; `async_load` reads the tools."""
        self._hass = hass
        self._entry = entry
        self._http = Http(hass, EgressPolicy.from_options(entry.options))
        self._servers = SharedServers(hass, entry)
        self._known: dict[str, _Known] = {}
        self._loading = asyncio.Lock()
        self.revision = 0
        self.has_examples = False  # whether any tool has example sentences

    async def async_load(self) -> None:
        """Read all tools again; errors become issues in Repairs. Unchanged tools stay the same objects."""
        async with self._loading:
            section = section_from(self._hass)
            tool_context = self._tool_context(section)
            found: dict[str, _Known] = {}
            for written in section.tools:
                try:
                    self._add(written.data, tool_context, found)
                except (CustomToolError, probatio.Invalid) as err:
                    section.find(err, written.path, written.name)
            issues.async_clear(self._hass, "custom_")
            for finding in section.findings:
                reason = await async_reason(self._hass, finding.error)
                key = issues.CUSTOM_YAML_TOOL if finding.name else issues.CUSTOM_YAML_WRONG
                file, line, tool = finding.file, finding.line, finding.name
                issues.async_set(self._hass, key, f"{file}_{line}", tool=tool, reason=reason, file=file, line=line)
            for subentry in self._entry.get_subentries_of_type(SUBENTRY_CUSTOM_TOOL):
                await self._async_load_subentry(subentry, section, tool_context, found)
            before, self._known = self._known, found
            self.revision += 1
            self.has_examples = any(known.definition.examples for known in found.values())
            for name, known in before.items():
                if found.get(name) is not known:
                    await known.tool.async_retire()

    async def async_use(self, egress: EgressPolicy) -> None:
        """Let tools reach these hosts from now on."""
        if egress != self._http.egress:
            await self._http.async_use(egress)

    def check(self, data: Mapping[str, object]) -> None:
        """Raise `CustomToolError` or `probatio.Invalid` if a tool of the UI is invalid."""
        name = self.made_from(data).name
        if any(written.name == name for written in section_from(self._hass).tools):
            raise CustomToolError("custom_tool_twice", ("name",), name=name)

    def made_from(self, data: Mapping[str, object]) -> CustomTool:
        """Return a tool that is not offered by itself. Raises `CustomToolError` or `probatio.Invalid`."""
        tool_context = self._tool_context(section_from(self._hass))
        return build(definition_from_data(data, HANDLERS, tool_context.secrets.values), tool_context)

    async def async_close(self) -> None:
        """Close connections."""
        await self._servers.async_close()
        await self._http.async_close()

    @property
    def names(self) -> list[str]:
        """Return the names of all tools."""
        return sorted(self._known)

    @property
    def definitions(self) -> list[Definition]:
        """Return the definitions of all tools, sorted by name."""
        return [self._known[name].definition for name in self.names]

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[CustomTool]:
        """Return the tools that a profile may use."""
        return [
            known.tool
            for name, known in self._known.items()
            if ALL in profile.custom_tools or name in profile.custom_tools
        ]

    def _tool_context(self, section: YamlSection) -> ToolContext:
        secrets = Secrets(section.secrets)
        templates = Templates(self._hass, secrets)
        return ToolContext(secrets=secrets, templates=templates, http=self._http, servers=self._servers)

    async def _async_load_subentry(
        self, subentry: ConfigSubentry, section: YamlSection, tool_context: ToolContext, found: dict[str, _Known]
    ) -> None:
        tool_id = subentry.subentry_id
        if written := next((item for item in section.tools if item.name == subentry.data.get("name")), None):
            file, line = section.place(written.path)
            issues.async_set(self._hass, issues.CUSTOM_TOOL_CLASH, tool_id, tool=subentry.title, file=file, line=line)
            return
        try:
            self._add(subentry.data, tool_context, found)
        except (CustomToolError, probatio.Invalid) as err:
            reason = await async_reason(self._hass, err)
            issues.async_set(self._hass, issues.CUSTOM_TOOL_WRONG, tool_id, tool=subentry.title, reason=reason)

    def _add(self, data: object, tool_context: ToolContext, found: dict[str, _Known]) -> None:
        """Add a tool to `found`. Raises `CustomToolError` or `probatio.Invalid`."""
        definition = definition_from_data(data, HANDLERS, tool_context.secrets.values)
        name = definition.name
        if name in found:
            raise CustomToolError("custom_tool_twice", ("name",), name=name)
        known = self._known.get(name)
        if known is None or known.definition != definition or known.secrets != tool_context.secrets.values:
            known = _Known(definition, tool_context.secrets.values, build(definition, tool_context))
        found[name] = known


def build(definition: Definition, tool_context: ToolContext) -> CustomTool:
    """Return the tool of a definition. Raises `CustomToolError`."""
    try:
        return HANDLERS[definition.type](definition, tool_context)
    except CustomToolError:
        raise
    except HomeAssistantError as err:  # of a credential's template, which is rendered now
        raise CustomToolError("custom_tool_template", ("handler",), detail=str(err)) from err


async def async_reason(hass: HomeAssistant, error: CustomToolError | probatio.Invalid) -> str:
    """Return why a tool is invalid, in the home's language."""
    if isinstance(error, probatio.Invalid):
        first = error.errors[0] if isinstance(error, probatio.MultipleInvalid) else error
        where = ".".join(map(str, first.path)) or "-"
        error = CustomToolError("custom_tool_invalid", where=where, detail=first.msg)
    return await async_error_text(hass, hass.config.language, error)
