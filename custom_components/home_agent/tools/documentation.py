"""`get_user_documentation_content`: the full text of a document for users that is too long for the system prompt."""

from collections.abc import Sequence
from typing import Any, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..policy.tool import HomeAgentTool
from ..search.user_documents import MAX_NAMES, UserDocuments
from ..settings.profile import Profile
from ..support.errors import KnowledgeError, ToolRefusal
from ..turn.plan import ActionClass, Plan
from ..turn.turn import Turn

NAME = "get_user_documentation_content"
WHAT = "Read a document written for the users of this home, when they ask about what it explains."
MAX_CONTENT = 12_000  # characters of one result
MAX_NAME = 200  # characters

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "filename": {"type": "string", "description": "One of the documents listed above"},
        "offset": {"type": "integer", "description": "Where to go on in a long one: next_offset of the last result"},
    },
    "required": ["filename"],
}


class GetUserDocumentation(HomeAgentTool):
    """Reads one document."""

    name = NAME
    title_key = "tool_get_user_documentation_content"
    example = "How do I use the espresso machine?"
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {
            probatio.Required("filename"): probatio.All(str, probatio.Length(min=1, max=MAX_NAME)),
            probatio.Optional("offset", default=0): probatio.All(probatio.Coerce(int), probatio.Range(min=0)),
        },
        extra=probatio.REMOVE_EXTRA,
    )
    wire_parameters = WIRE

    def __init__(self, documents: UserDocuments) -> None:
        """Take the documents; the description lists the present ones."""
        self._documents = documents
        self._listed = ", ".join(documents.names[:MAX_NAMES])
        self.description = f"{WHAT} Documents: {self._listed}."

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan that touches nothing; the owner or this integration wrote the documents."""
        return Plan(action=ActionClass.READ, subject=args["filename"])

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return `{filename, content}`, with `next_offset` in characters if there is more. Raises `ToolRefusal`."""
        name, offset = args["filename"].strip(), args["offset"]
        try:
            text = await self._documents.async_read(name)
        except KnowledgeError as err:  # one answer for all errors: which other files exist is not told
            raise ToolRefusal(f"Unknown document '{name}'. Available: {self._listed}.") from err
        if offset >= len(text):
            raise ToolRefusal(f"The document ends after {len(text)} characters.")
        result: JsonObjectType = {"filename": name, "content": text[offset : offset + MAX_CONTENT]}
        end = offset + MAX_CONTENT
        return result | {"next_offset": end} if end < len(text) else result


class Documentation:
    """Offers the tool to agents that have it on."""

    names = (NAME,)
    revision = 0

    def __init__(self, documents: UserDocuments) -> None:
        """Take the documents."""
        self._documents = documents
        self._tools: tuple[GetUserDocumentation, ...] = ()
        documents.async_listen(self._async_renew)
        self._async_renew()

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tool; nothing without a document."""
        return self._tools if profile.documentation_tool else ()

    @callback
    def _async_renew(self) -> None:
        """Make the tool anew, with the present documents."""
        self._tools = (GetUserDocumentation(self._documents),) if self._documents.names else ()
        self.revision += 1
