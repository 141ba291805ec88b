"""What went wrong at an endpoint, in terms of our error tree.

One place for every server's wording: HTTP errors through the `openai` library, error objects inside a stream, and
whatever the transport raises while an answer is read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
import re
import ssl
from typing import Any

import openai

from ..support.errors import (
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMContextLengthError,
    LLMEndlessError,
    LLMError,
    LLMLoadingError,
    LLMModelNotFoundError,
    LLMNoConnectionError,
    LLMRateLimitError,
    LLMResponseError,
    LLMTimeoutError,
)

MAX_DETAIL = 200  # characters of a server's message that are kept
MAX_READ = 2_000  # characters at each of its ends that are looked at
SMALLEST_WINDOW, LARGEST_WINDOW = 256, 100_000_000  # tokens; anything else is none
NO_CREDIT = "llm_no_credit"
KEY_NEEDED = "llm_key_needed"

_CONTEXT = re.compile(
    r"context[_ ](length|window|size)|maximum context|context the overflows|(prompt|input) is too long"
    r"|reduce the length|n_ctx|too many (input )?tokens|exceeds? .{0,40}token limit",
    re.IGNORECASE,
)
_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:context[_ ](?:length|size|window)|n_ctx)\D{0,30}?(\d[\d,]{2,9})",  # OpenAI, vLLM, llama.cpp, LM Studio
        r"(\d[\d,]{2,9})(?: tokens)? (?:maximum|limit)",  # Anthropic, Mistral
        r"(?:maximum|limit|allowed|<=)\D{0,40}?(\d[\d,]{2,9})",  # Gemini, text-generation-inference
    )
)
"""Where a server says how much it would take; not how much it got."""
_MODEL = re.compile(
    r"\bmodel\b.{0,120}(not found|does(n't| not) exist|not exist|not available|unknown|not loaded)"
    r"|model_not_found|(unknown|invalid|no such) model|not a valid model|no models? loaded|DeploymentNotFound",
    re.IGNORECASE | re.DOTALL,
)
_LOADING = re.compile(
    r"\bloading model\b|\bmodel\b.{0,120}\b((is|still|currently) loading|being loaded)\b",
    re.IGNORECASE | re.DOTALL,
)
"""llama.cpp and what it is built into (Ollama's runner, proxies that repeat it); text-generation-inference."""
_BROKEN = re.compile(
    r"\b(errors?|failed|failure|exception|cannot|unable|timed out|aborted|crashed)\b|n't\b", re.IGNORECASE
)
"""In what a server says of a model that it tried to load and could not."""
_KEY = re.compile(
    r"(invalid|incorrect|missing|expired).{0,30}api[ _-]?key|api[ _-]?key.{0,30}(not valid|invalid|expired)",
    re.IGNORECASE,
)
_CREDIT = re.compile(r"insufficient[_ ](quota|credits?|balance)|exceeded your current quota", re.IGNORECASE)
_PLAIN_HTTP = (
    "WRONG_VERSION_NUMBER",
    "WRONG VERSION NUMBER",
    "RECORD_LAYER_FAILURE",
    "RECORD LAYER FAILURE",
    "HTTP_REQUEST",
)
"""What OpenSSL, version by version, says of an answer that is not TLS."""
_SECRET = re.compile(r"\bbearer\s+\S+|\b(?:sk|pk|gsk|xai|key|AIza)[-_][\w*.-]{6,}|\b[A-Za-z0-9*]{32,}\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorMap:
    """Makes the errors of one endpoint."""

    endpoint: str
    """Its title."""
    secret: str = field(default="", repr=False)
    """Its key, which servers like to repeat."""

    def from_exception(self, err: BaseException) -> LLMError:
        """Return our error for what the `openai` library or the transport below it raised."""
        if isinstance(err, openai.APIStatusError):
            return self._from_fields(err.status_code, error_fields(err.body), err.response.headers)
        detail = self._clean(_root_message(err))
        if any(_is_certificate_error(cause) for cause in _causes(err)):
            return LLMCertificateError(endpoint=self.endpoint, detail=detail)
        if any(_speaks_no_tls(cause) for cause in _causes(err)):
            return LLMConnectionError("llm_not_https", endpoint=self.endpoint, detail=detail)
        if any(type(cause).__name__ == "ConnectTimeout" for cause in _causes(err)):
            return LLMNoConnectionError(endpoint=self.endpoint, detail=detail)
        # The transport is httpx or httpx2, whichever Home Assistant's client is made of; both say it in the name.
        if isinstance(err, TimeoutError | openai.APITimeoutError) or "Timeout" in type(err).__name__:
            return LLMTimeoutError(endpoint=self.endpoint, detail=detail)
        return LLMConnectionError(endpoint=self.endpoint, detail=detail)

    def from_body(self, body: Mapping[str, Any]) -> LLMError:
        """Return our error for an error object that came with HTTP 200, inside a stream or as the whole answer."""
        fields = error_fields(body)
        code = str(fields.get("code"))
        return self._from_fields(int(code) if code.isdecimal() else 0, fields, {})

    def endless(self) -> LLMEndlessError:
        """Return the error for an answer that does not end."""
        return LLMEndlessError(endpoint=self.endpoint, detail="")

    def response_error(self, detail: str) -> LLMResponseError:
        """Return the error for an answer that is no chat completion."""
        return LLMResponseError(endpoint=self.endpoint, detail=self._clean(detail))

    def _from_fields(self, status: int, fields: Mapping[str, Any], headers: Mapping[str, str]) -> LLMError:
        said = " ".join(_both_ends(str(fields.get(key) or "")) for key in ("code", "type", "message"))
        detail = self._clean(str(fields.get("message") or "")) or f"HTTP {status}"
        if status == 402 or (status in {0, 403, 429} and _CREDIT.search(said)):
            return LLMRateLimitError(NO_CREDIT, endpoint=self.endpoint, detail=detail)
        if status == 429 or (not status and "rate_limit" in said):
            return LLMRateLimitError(retry_after=retry_after(headers), endpoint=self.endpoint, detail=detail)
        error = _error_class(status, said)
        if error is LLMContextLengthError:
            return LLMContextLengthError(limit=_limit(fields), endpoint=self.endpoint, detail=detail)
        told = "llm_error_said" if error is LLMError and fields.get("message") else None
        if error is LLMAuthError and not self.secret:  # nothing was sent that it could have refused
            told = KEY_NEEDED
        return error(told, endpoint=self.endpoint, detail=detail)

    def _clean(self, message: str) -> str:
        """Return a message on one line, short, and without anything that is or looks like a key."""
        if self.secret:
            message = message.replace(self.secret, "…")
        if len(message) > MAX_READ:  # a key may be cut in two where it ends
            message = f"{message[:MAX_READ].rpartition(' ')[0]} …"
        return _SECRET.sub("…", " ".join(message.split()))[:MAX_DETAIL]


def _both_ends(text: str) -> str:
    """Return what is looked at of a message: some servers repeat all that was sent."""
    return text if len(text) <= 2 * MAX_READ else f"{text[:MAX_READ]} {text[-MAX_READ:]}"


def _error_class(status: int, said: str) -> type[LLMError]:
    if status in {0, 400, 413, 422, 500} and _CONTEXT.search(said):
        return LLMContextLengthError
    if status in {0, 500, 503} and _LOADING.search(said) and not _BROKEN.search(said):
        return LLMLoadingError
    if status in {0, 400, 403, 404} and _MODEL.search(said):
        return LLMModelNotFoundError
    if status in {401, 403} or (status in {0, 400} and _KEY.search(said)):
        return LLMAuthError
    if status == 408:
        return LLMTimeoutError
    if status in {502, 503, 504}:  # a gateway in front of an endpoint that is away
        return LLMConnectionError
    return LLMError if status >= 500 else LLMResponseError


def is_window(tokens: int) -> bool:
    """Return whether a number from a server can be a context window."""
    return SMALLEST_WINDOW <= tokens <= LARGEST_WINDOW


def _limit(fields: Mapping[str, Any]) -> int | None:
    """Return the window that a refusal names, in tokens."""
    told, message = fields.get("n_ctx"), str(fields.get("message") or "")[:MAX_READ]
    found = [told] if isinstance(told, int) else []
    found += [int(match[1].replace(",", "")) for pattern in _LIMITS if (match := pattern.search(message))]
    return next((limit for limit in found if is_window(limit)), None)


def wait_before_retry(error: LLMError, *, default: float, limit: float) -> float | None:
    """Return the seconds after which a failed request may be tried once more, None when that is no use.

    Only what may pass by itself is tried again: connection errors, errors of the server, too many requests. Not
    time-outs: whoever talks has waited long enough. Nor a model that is being loaded: that was waited for (connection.py).
    """
    if isinstance(error, LLMRateLimitError):
        wait = default if error.retry_after is None else error.retry_after
        return None if error.translation_key == NO_CREDIT or wait > limit else wait
    return default if type(error) in {LLMConnectionError, LLMError} else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a `Retry-After` header asks for; it may hold a date."""
    value = headers.get("Retry-After") or ""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def error_fields(body: object) -> Mapping[str, Any]:
    """Return `message`, `code`, `type` and `param` of an error body.

    Some servers send the message alone, the object without its wrapping, or a list around it (Gemini); a web page says nothing.
    """
    if isinstance(body, list):
        body = body[0] if body else None
    if isinstance(body, str):
        return {} if "<" in body else {"message": body}
    if not isinstance(body, Mapping):
        return {}
    match body.get("error"):
        case Mapping() as inner:
            return inner
        case str(message) if message:
            return {**body, "message": message}
        case _:
            return body


def _causes(err: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = err
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _is_certificate_error(err: BaseException) -> bool:
    return isinstance(err, ssl.SSLCertVerificationError) or (
        isinstance(err, ssl.SSLError) and "CERTIFICATE" in str(err).upper()
    )


def _speaks_no_tls(err: BaseException) -> bool:
    """Return whether the server answered a secure greeting with something else: it speaks plain HTTP."""
    return isinstance(err, ssl.SSLError) and any(sign in str(err).upper() for sign in _PLAIN_HTTP)


def _root_message(err: BaseException) -> str:
    """Return the deepest explanation: the outer ones say only "Connection error."."""
    return next((str(cause) for cause in reversed([*_causes(err)]) if str(cause)), type(err).__name__)
