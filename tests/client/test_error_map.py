"""What an error is, beyond what a server can show."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
import ssl

import pytest

from custom_components.home_agent.client.error_map import ErrorMap, error_fields, retry_after, wait_before_retry
from custom_components.home_agent.support.errors import (
    LLMCertificateError,
    LLMConnectionError,
    LLMContextLengthError,
    LLMError,
    LLMTimeoutError,
)


@pytest.mark.parametrize(
    ("value", "seconds"), [("3", 3), ("0.5", 0.5), ("-4", 0), ("soon", None), ("", None), ("Mon, 99 Xxx", None)]
)
def test_retry_after_is_read(value: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": value}) == seconds


@pytest.mark.parametrize("zone", [" GMT", " -0000"])
def test_retry_after_may_be_a_date(zone: str) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=30)).removesuffix(" +0000") + zone
    assert retry_after({"Retry-After": until}) == pytest.approx(30, abs=2)


@pytest.mark.parametrize(("err", "expected"), [
    (TimeoutError(), LLMTimeoutError), (ssl.SSLCertVerificationError("self-signed"), LLMCertificateError),
    (ssl.SSLError("CERTIFICATE_VERIFY_FAILED"), LLMCertificateError),
    (ssl.SSLError("WRONG_VERSION_NUMBER"), LLMConnectionError), (OSError(), LLMConnectionError),
])  # fmt: skip
def test_errors_of_the_transport_are_told_apart(err: Exception, expected: type[LLMError]) -> None:
    assert type(ErrorMap("Model").from_exception(err)) is expected


def test_a_certificate_is_found_below_what_the_transport_makes_of_it() -> None:
    outer = OSError("Connection error.")
    outer.__cause__ = OSError()
    outer.__cause__.__context__ = ssl.SSLCertVerificationError(1, "self-signed certificate")
    error = ErrorMap("Model").from_exception(outer)
    assert type(error) is LLMCertificateError
    assert "self-signed certificate" in (error.translation_placeholders or {})["detail"]


def test_a_long_message_is_cut_and_on_one_line() -> None:
    error = ErrorMap("Model").from_body({"error": {"message": "too\n  bad " * 100}})
    detail = (error.translation_placeholders or {})["detail"]
    assert detail.startswith("too bad too bad")
    assert len(detail) == 200


def test_a_model_name_is_no_secret() -> None:
    error = ErrorMap("Model", "sk-1").from_body(
        {"error": "No such model: meta-llama/Llama-3.3-70B-Instruct-Turbo-Free"}
    )
    assert "Llama-3.3-70B-Instruct-Turbo-Free" in (error.translation_placeholders or {})["detail"]


def test_a_key_that_was_not_sent_is_not_called_a_wrong_one() -> None:
    refusal = {"error": {"code": 401, "message": "Unauthorized"}}
    assert ErrorMap("Model").from_body(refusal).translation_key == "llm_key_needed"
    assert ErrorMap("Model", "sk-1").from_body(refusal).translation_key == "llm_auth"


def test_the_object_may_stand_in_a_list() -> None:
    said = [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID"}}]
    assert error_fields(said)["message"].startswith("API key not valid")
    assert error_fields([]) == {}


def test_time_outs_and_certificates_are_not_tried_again() -> None:
    assert wait_before_retry(LLMConnectionError(), default=1, limit=10) == 1
    assert wait_before_retry(LLMTimeoutError(), default=1, limit=10) is None
    assert wait_before_retry(LLMCertificateError(), default=1, limit=10) is None


@pytest.mark.parametrize(("refusal", "limit"), [
    ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", 8192),
    ("the request exceeds the available context size (4096 tokens), try increasing it", 4096),
    ({"message": "the request exceeds the available context size", "n_ctx": 2048, "n_prompt_tokens": 9000}, 2048),
    ("context the overflows. However, the model is loaded with context length of only 4096 tokens", 4096),
    ("prompt is too long: 213,000 tokens > 200,000 maximum", 200_000),
    ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768),
    ("too many tokens: The input (1200000) exceeds the maximum number of tokens allowed (1048576)", 1_048_576),
    ("the prompt is too long", None),
    ("context length exceeded: 12", None),
    ("n_ctx " * 100_000, None),
])  # fmt: skip
def test_a_refusal_may_name_the_window(refusal: object, limit: int | None) -> None:
    error = ErrorMap("Model").from_body({"error": refusal})
    assert isinstance(error, LLMContextLengthError)
    assert error.limit == limit
