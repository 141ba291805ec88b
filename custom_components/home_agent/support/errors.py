"""All errors, as one tree below `HomeAgentError`.

Every error carries a translation key of `exceptions` in translations/ and its placeholders; no sentence stands in code.
"""

from collections.abc import Sequence
import traceback
from typing import Self, override

from homeassistant.exceptions import HomeAssistantError

from .const import DOMAIN


class HomeAgentError(HomeAssistantError):
    """An error whose sentence is translated."""

    key = "unknown"

    def __init__(self, key: str | None = None, **placeholders: str) -> None:
        """Keep the translation key (default: the class's) and its placeholders."""
        super().__init__(
            translation_domain=DOMAIN, translation_key=key or self.key, translation_placeholders=placeholders
        )


class LLMError(HomeAgentError):
    """A request to the model failed. Placeholders: `endpoint` (its title), `detail` (what the server said)."""

    key = "llm_error"


class LLMConnectionError(LLMError):
    """The endpoint cannot be reached, or the connection was lost."""

    key = "llm_unreachable"


class LLMTimeoutError(LLMConnectionError):
    """The endpoint was silent for longer than its limit."""

    key = "llm_timeout"


class LLMTooLateError(LLMTimeoutError):
    """The person has waited for long enough. Placeholder: `seconds`."""

    key = "turn_too_long"


class LLMNoConnectionError(LLMConnectionError):
    """The connection timed out: a repetition would take as long again."""


class LLMCertificateError(LLMConnectionError):
    """The endpoint's certificate was refused."""

    key = "llm_certificate"


class LLMLoadingError(LLMError):
    """The endpoint is loading its model: it will answer later."""

    key = "llm_loading"


class LLMAuthError(LLMError):
    """The endpoint refused the key."""

    key = "llm_auth"


class LLMRateLimitError(LLMError):
    """The endpoint refuses more requests for now; `retry_after` is in seconds, None when it did not say."""

    key = "llm_rate_limit"

    def __init__(self, key: str | None = None, *, retry_after: float | None = None, **placeholders: str) -> None:
        """Keep how long to wait."""
        super().__init__(key, **placeholders)
        self.retry_after = retry_after


class LLMModelNotFoundError(LLMError):
    """The endpoint does not know the model."""

    key = "llm_model_not_found"


class LLMContextLengthError(LLMError):
    """The request does not fit the model's context window; `limit` is in tokens, None when the server did not say."""

    key = "llm_context_length"

    def __init__(self, key: str | None = None, *, limit: int | None = None, **placeholders: str) -> None:
        """Keep the limit."""
        super().__init__(key, **placeholders)
        self.limit = limit


class LLMResponseError(LLMError):
    """The endpoint answered something that is not a chat completion, or refused the request."""

    key = "llm_response"


class LLMEndlessError(LLMResponseError):
    """The endpoint sends an answer without end."""

    key = "llm_endless"


class ToolError(HomeAgentError):
    """A tool call failed; its sentence goes to the model inside the envelope."""

    key = "tool_failed"


class ToolRefusal(ToolError):
    """A tool cannot do what it was asked; the sentence tells the model what would work instead."""

    def __init__(self, sentence: str) -> None:
        """Keep the sentence; it is also the placeholder `detail` of the translated error."""
        super().__init__("tool_refused", detail=sentence)
        self.sentence = sentence

    @override
    def __str__(self) -> str:
        """Return the sentence itself: a model reads English."""
        return self.sentence


class DidNotRun(ToolRefusal):
    """An automation did not run; users are told why in their language. Placeholder: `target`, its name."""

    def __init__(self, sentence: str, key: str, target: str) -> None:
        """Keep the sentence for the model, and the key of the one for users."""
        super().__init__(sentence)
        self.translation_key: str = key
        self.target = target
        self.translation_placeholders = {"target": target}

    @classmethod
    def of(cls, sentence: str, several: Sequence[Self]) -> Self:
        """Return one error for several, with a sentence for the model; users are told those with the first one's reason."""
        key = several[0].translation_key
        return cls(sentence, key, ", ".join(one.target for one in several if one.translation_key == key))


class ToolPermissionError(ToolError):
    """The user may not do that, or the owner never allows it. Placeholder: `target`."""

    key = "not_allowed"


class CustomToolError(HomeAgentError):
    """A tool that the owner wrote cannot be used; `path` leads to what is wrong in it."""

    key = "custom_tool_invalid"

    def __init__(self, key: str | None = None, path: tuple[str | int, ...] = (), **placeholders: str) -> None:
        """Keep the path."""
        super().__init__(key, **placeholders)
        self.path = path


class ExtensionError(HomeAgentError):
    """An extension cannot be used. Placeholders by key: `name`, `tool`, `detail` and what else its sentence names."""

    key = "extension_invalid"


class McpError(HomeAgentError):
    """A server of tools cannot be used now. Placeholder: `detail`, a status or the class of an error."""

    key = "mcp_unreachable"

    def __init__(self, *, detail: str = "") -> None:
        """Keep the detail."""
        super().__init__(detail=detail)


class McpUnreachableError(McpError):
    """The server cannot be reached, or broke off."""


class McpTimeoutError(McpUnreachableError):
    """The server took the connection and said nothing."""


class McpCertificateError(McpError):
    """The server's certificate was refused."""

    key = "mcp_certificate"


class McpAuthError(McpError):
    """The server refused the key."""

    key = "mcp_auth"


class McpAddressError(McpError):
    """The server's name leads to an address at home, and the administrator does not allow that."""

    key = "mcp_address"


class McpProtocolError(McpError):
    """What answers is not a server of this kind, or it refused what it was asked."""

    key = "mcp_protocol"

    def __init__(self, *, detail: str = "", said: str = "") -> None:
        """Keep what the server said, for the model."""
        super().__init__(detail=detail)
        self.said = said


class McpSdkError(McpError):
    """The library could not be installed or loaded."""

    key = "mcp_sdk"


class RetrievalError(HomeAgentError):
    """Nothing can be looked up now: the turn goes on with what there is. Placeholders: `store`, `detail`."""

    key = "retrieval_error"


class StoreError(RetrievalError):
    """Kept documents cannot be read or written."""

    key = "store_error"


class StoreRefusedError(StoreError):
    """The store works, but not with this collection. Placeholders: `store`, `collection`, `detail`."""

    key = "store_dimension"


class EmbeddingError(RetrievalError):
    """Text cannot be turned into vectors. Placeholders: `endpoint`, `detail`."""

    key = "embedding_error"


class KnowledgeError(HomeAgentError):
    """A document of the owner's cannot be used. Placeholders by key: `path`, `detail`, `limit`."""

    key = "knowledge_unreadable"


class MemoriesError(HomeAgentError):
    """A memory is not there, or cannot be kept as it is. Placeholders by key: `id`, `limit`."""

    key = "memory_unknown"


class PromptTemplateError(HomeAgentError):
    """The owner's prompt template does not render."""

    key = "prompt_template"


class ConversationBusy(HomeAgentError):
    """A message arrived while the previous one of the same conversation is being answered."""

    key = "conversation_busy"


def where_of(err: BaseException) -> str:
    """Return class and traceback of an unexpected error, and the class of its cause, without messages: they may hold secrets."""
    told = [f"{type(err).__name__}\n{''.join(traceback.format_tb(err.__traceback__))}".rstrip()]
    cause = err.__cause__ or (None if err.__suppress_context__ else err.__context__)
    if cause is not None and cause is not err:
        told.append(f"after {type(cause).__name__}")
    return "\n".join(told)
