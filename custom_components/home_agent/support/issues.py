"""Repairs issues: what the administrator can act on. Each load of the entry deletes all, and raises those that still hold."""

from collections.abc import Collection
from inspect import signature
from typing import Any, ClassVar

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.translation import async_get_translations

from .const import DOMAIN
from .encoding import shown
from .errors import RetrievalError
from .localize import async_error_text
from .storage import Report, Trouble

UNREACHABLE = "endpoint_unreachable"
SILENT = "endpoint_silent"
LOADING = "endpoint_loading"
CERTIFICATE = "endpoint_certificate"
NO_CREDIT = "endpoint_no_credit"
RATE_LIMIT = "endpoint_rate_limit"
FAILING = "endpoint_failing"
MODEL_MISSING = "model_missing"
CALLS_UNREAD = "calls_unread"
WITHOUT_ENDPOINT = "profile_without_endpoint"
DEFAULT_PROFILE_MISSING = "default_profile_missing"
RULES_WITHOUT_AGENT = "rules_without_agent"
PROMPT_TEMPLATE = "prompt_template"
SYSTEM_DOCUMENTS = "system_documents"
CONFIRMATION = "confirmation"
NAMES_PROPOSED = "names_proposed"
PHRASES_PROPOSED = "phrases_proposed"
PHRASES_DOUBTED = "phrases_doubted"
AUTOMATIONS_PROPOSED = "automations_proposed"
AUTOMATIONS_CHANGED = "automations_changed"
AUTOMATIONS_TRIED = "automations_tried"
AUTOMATION_BROKEN = "automation_broken"
AUTOMATION_SILENT = "automation_silent"
AUTOMATION_UNSAFE = "automation_unsafe"
AUTOMATION_LOOP = "automation_loop"
LLM_API_MISSING = "llm_api_missing"
PIPELINE_PREFERS_LOCAL = "pipeline_prefers_local"
NOTHING_EXPOSED = "nothing_exposed"
CHANGES_FAILED = "changes_failed"
CUSTOM_TOOL_WRONG = "custom_tool_wrong"
CUSTOM_TOOL_CLASH = "custom_tool_clash"
CUSTOM_YAML_WRONG = "custom_yaml_wrong"
CUSTOM_YAML_TOOL = "custom_yaml_tool"
EXTENSION_WRONG = "extension_wrong"
SERVICE_FAILING = "service_failing"
MCP_SERVER_FAILING = "mcp_server_failing"
STORE_FAILING = "store_failing"
EMBEDDING_FAILING = "embedding_failing"
COLLECTION_FOREIGN = "collection_foreign"

OF_ENDPOINT = (UNREACHABLE, SILENT, LOADING, CERTIFICATE, NO_CREDIT, RATE_LIMIT, FAILING, MODEL_MISSING)

_BELONGS_TO_ENTRY = "config_entry_id" in signature(ir.async_create_issue).parameters
"""Newer releases of Home Assistant show an issue at its integration."""


@callback
def async_set(
    hass: HomeAssistant,
    key: str,
    of: str,
    holds: bool = True,
    *,
    data: dict[str, str | int | float | None] | None = None,
    **placeholders: str,
) -> None:
    """Raise the issue `key` of the thing `of`, or delete it if it does not hold. `data` gives it a flow (repairs.py)."""
    if not holds:
        ir.async_delete_issue(hass, DOMAIN, f"{key}_{of}")
        return
    entries = hass.config_entries.async_entries(DOMAIN)
    belongs: dict[str, Any] = {"config_entry_id": entries[0].entry_id} if _BELONGS_TO_ENTRY and entries else {}
    ir.async_create_issue(
        hass,
        DOMAIN,
        f"{key}_{of}",
        data=data,
        is_fixable=data is not None,
        severity=ir.IssueSeverity.WARNING,
        translation_key=key,
        translation_placeholders={name: shown(value) for name, value in placeholders.items()},
        **belongs,
    )


@callback
def async_clear(hass: HomeAssistant, prefix: str = "", but_of: Collection[str] = ()) -> None:
    """Delete the issues whose key begins with `prefix`, except those of the ids in `but_of`."""
    for domain, issue_id in list(ir.async_get(hass).issues):
        if domain == DOMAIN and issue_id.startswith(prefix) and issue_id.removeprefix(f"{prefix}_") not in but_of:
            ir.async_delete_issue(hass, DOMAIN, issue_id)


@callback
def async_clear_of(hass: HomeAssistant, of: str) -> None:
    """Delete all issues of a thing: it is gone."""
    for domain, issue_id in list(ir.async_get(hass).issues):
        if domain == DOMAIN and issue_id.endswith(f"_{of}"):
            ir.async_delete_issue(hass, DOMAIN, issue_id)


async def async_file_report(hass: HomeAssistant) -> Report:
    """Return what raises and deletes the issue of a stored file that cannot be read or written.

    It says what the file holds in the words of `exceptions.kept_<file>`; without them, by the name of the kept thing.
    """
    texts = await async_get_translations(hass, hass.config.language, "exceptions", [DOMAIN])

    @callback
    def report(trouble: Trouble, file: str, holds: bool) -> None:
        kept = file.split(".")[1]
        content = texts.get(f"component.{DOMAIN}.exceptions.kept_{kept}.message", kept)
        async_set(hass, trouble.value, file, holds, file=file, content=content)

    return report


class RetrievalIssues:
    """Issues of the document store, the embedding model and foreign collections (outages.py)."""

    _keys: ClassVar = {"store": STORE_FAILING, "embedding": EMBEDDING_FAILING, "collection": COLLECTION_FOREIGN}

    def __init__(self, hass: HomeAssistant | None) -> None:
        """Without `hass`, report nothing: the caller shows the error itself."""
        self._hass = hass

    async def async_failing(self, part: str, name: str, error: RetrievalError) -> None:
        """Raise the issue of a part (`STORE`, `EMBEDDING`, `COLLECTION` of outages.py) with the error's text."""
        if self._hass is not None:
            reason = await async_error_text(self._hass, self._hass.config.language, error)
            async_set(self._hass, self._keys[part], part, store=name, reason=reason)

    @callback
    def async_forget(self) -> None:
        """Delete all of them: other servers are asked from now on."""
        for part in self._keys:
            self.async_recovered(part)

    @callback
    def async_recovered(self, part: str) -> None:
        """Delete the issue of a part."""
        if self._hass is not None:
            async_set(self._hass, self._keys[part], part, False)
