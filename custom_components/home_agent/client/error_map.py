"""Errors of an endpoint as our own: HTTP errors from the `openai` library, error objects in a stream, errors of the transport."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
import re
import ssl
from typing import Any

import openai

from ..support import errors

MAX_DETAIL = 200  # characters of a server's message that are kept
MAX_READ = 2_000  # characters at each of its ends that are read
SMALLEST_WINDOW, LARGEST_WINDOW = 256, 100_000_000  # tokens; other numbers are no window
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
"""OpenSSL's words for an answer that is not TLS, in its versions."""
_SECRET = re.compile(r"\bbearer\s+\S+|\b(?:sk|pk|gsk|xai|key|AIza)[-_][\w*.-]{6,}|\b[A-Za-z0-9*]{32,}\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorMap:
    """Makes the errors of one endpoint."""

    endpoint: str
    secret: str = field(default="", repr=False)

    def from_exception(self, err: BaseException) -> errors.LLMError:
        """Return our error for one of the `openai` library or of the transport below it."""
        if isinstance(err, openai.APIStatusError):
            return self._from_fields(err.status_code, error_fields(err.body), err.response.headers)
        causes: list[BaseException] = [err]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
            causes.append(cause)
        # The outer ones say only "Connection error.".
        detail = self._clean(next((str(cause) for cause in reversed(causes) if str(cause)), type(err).__name__))
        of_tls = [cause for cause in causes if isinstance(cause, ssl.SSLError)]
        if any(
            isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE" in str(cause).upper() for cause in of_tls
        ):
            return errors.LLMCertificateError(endpoint=self.endpoint, detail=detail)
        if any(sign in str(cause).upper() for cause in of_tls for sign in _PLAIN_HTTP):
            return errors.LLMConnectionError("llm_not_https", endpoint=self.endpoint, detail=detail)
        if any(type(cause).__name__ == "ConnectTimeout" for cause in causes):
            return errors.LLMNoConnectionError(endpoint=self.endpoint, detail=detail)
        # Home Assistant's client is of httpx or httpx2; both have it in the name.
        if isinstance(err, TimeoutError | openai.APITimeoutError) or "Timeout" in type(err).__name__:
            return errors.LLMTimeoutError(endpoint=self.endpoint, detail=detail)
        return errors.LLMConnectionError(endpoint=self.endpoint, detail=detail)

    def from_body(self, body: Mapping[str, Any]) -> errors.LLMError:
        """Return our error for an error object with HTTP 200, in a stream or as the whole answer."""
        fields = error_fields(body)
        code = str(fields.get("code"))
        return self._from_fields(int(code) if code.isdecimal() else 0, fields, {})

    def endless(self) -> errors.LLMEndlessError:
        """Return the error for an answer that does not end."""
        return errors.LLMEndlessError(endpoint=self.endpoint, detail="")

    def response_error(self, detail: str) -> errors.LLMResponseError:
        """Return the error for an answer that is not a chat completion."""
        return errors.LLMResponseError(endpoint=self.endpoint, detail=self._clean(detail))

    def _from_fields(self, status: int, fields: Mapping[str, Any], headers: Mapping[str, str]) -> errors.LLMError:
        texts = [str(fields.get(key) or "") for key in ("code", "type", "message")]
        # Some servers repeat all that was sent.
        said = " ".join(
            text if len(text) <= 2 * MAX_READ else f"{text[:MAX_READ]} {text[-MAX_READ:]}" for text in texts
        )
        detail = self._clean(str(fields.get("message") or "")) or f"HTTP {status}"
        if status == 402 or (status in {0, 403, 429} and _CREDIT.search(said)):
            return errors.LLMRateLimitError(NO_CREDIT, endpoint=self.endpoint, detail=detail)
        if status == 429 or (not status and "rate_limit" in said):
            return errors.LLMRateLimitError(retry_after=retry_after(headers), endpoint=self.endpoint, detail=detail)
        error = _error_class(status, said)
        if error is errors.LLMContextLengthError:
            return errors.LLMContextLengthError(limit=_limit(fields), endpoint=self.endpoint, detail=detail)
        told = "llm_error_said" if error is errors.LLMError and fields.get("message") else None
        if error is errors.LLMAuthError and not self.secret:  # no key was sent
            told = KEY_NEEDED
        return error(told, endpoint=self.endpoint, detail=detail)

    def _clean(self, message: str) -> str:
        """Return a message on one line, cut, and without keys and what looks like one."""
        if self.secret:
            message = message.replace(self.secret, "…")
        if len(message) > MAX_READ:  # the cut may be within a key
            message = f"{message[:MAX_READ].rpartition(' ')[0]} …"
        return _SECRET.sub("…", " ".join(message.split()))[:MAX_DETAIL]


def _error_class(status: int, said: str) -> type[errors.LLMError]:
    if status in {0, 400, 413, 422, 500} and _CONTEXT.search(said):
        return errors.LLMContextLengthError
    if status in {0, 500, 503} and _LOADING.search(said) and not _BROKEN.search(said):
        return errors.LLMLoadingError
    if status in {0, 400, 403, 404} and _MODEL.search(said):
        return errors.LLMModelNotFoundError
    if status in {401, 403} or (status in {0, 400} and _KEY.search(said)):
        return errors.LLMAuthError
    if status == 408:
        return errors.LLMTimeoutError
    if status in {502, 503, 504}:  # a gateway in front of an endpoint that is away
        return errors.LLMConnectionError
    return errors.LLMError if status >= 500 else errors.LLMResponseError


def is_window(tokens: int) -> bool:
    """Return whether a number from a server can be a context window."""
    return SMALLEST_WINDOW <= tokens <= LARGEST_WINDOW


def _limit(fields: Mapping[str, Any]) -> int | None:
    """Return the window that a refusal names, in tokens."""
    told, message = fields.get("n_ctx"), str(fields.get("message") or "")[:MAX_READ]
    found = [told] if isinstance(told, int) else []
    found += [int(match[1].replace(",", "")) for pattern in _LIMITS if (match := pattern.search(message))]
    return next((limit for limit in found if is_window(limit)), None)


def wait_before_retry(error: errors.LLMError, *, default: float, limit: float) -> float | None:
    """Return the seconds after which to repeat a request that failed for a temporary reason; None if it is final."""
    if isinstance(error, errors.LLMRateLimitError):
        wait = default if error.retry_after is None else error.retry_after
        return None if error.translation_key == NO_CREDIT or wait > limit else wait
    return default if type(error) in {errors.LLMConnectionError, errors.LLMError} else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a `Retry-After` header, which may hold a date."""
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
    """Return `message`, `code`, `type` and `param` of an error body, also unwrapped or in a list; a web page has none."""
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
