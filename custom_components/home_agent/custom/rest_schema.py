"""What a handler `rest` may say."""

from collections.abc import Mapping
from typing import Any

import probatio

from ..outside.http import MAX_RESPONSE
from .outcome import OUTCOME

DEFAULT_TIMEOUT = 30.0  # seconds (S1-42)

_AUTH = {
    "bearer": probatio.Schema({probatio.Required("type"): "bearer", probatio.Required("token"): str}),
    "basic": probatio.Schema(
        {
            probatio.Required("type"): "basic",
            probatio.Required("username"): str,
            probatio.Required("password"): str,
        }
    ),
    "oauth2": probatio.Schema(
        {
            probatio.Required("type"): "oauth2",
            probatio.Required("token_url"): str,
            probatio.Required("client_id"): str,
            probatio.Required("client_secret"): str,
            probatio.Optional("scope", default=""): str,
            probatio.Optional("audience", default=""): str,
            probatio.Optional("credentials_in", default="header"): probatio.In(["header", "body"]),
        }
    ),
    "none": probatio.Schema({probatio.Required("type"): "none"}),
}


def _auth(data: Any) -> Mapping[str, Any]:
    """Check how a tool proves who it is, by the schema of its type."""
    kind = data.get("type") if isinstance(data, Mapping) else None
    if kind not in _AUTH:
        raise probatio.Invalid(f"type has to be one of {', '.join(_AUTH)}", path=["type"])
    valid: Mapping[str, Any] = _AUTH[kind](data)
    return valid


SCHEMA = probatio.Schema(
    {
        probatio.Required("type"): "rest",
        probatio.Required("url"): str,
        probatio.Optional("method", default="GET"): probatio.All(
            str, probatio.Upper, probatio.In(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
        ),
        probatio.Optional("headers", default=dict): {str: probatio.Any(str, int, float)},
        probatio.Exclusive("query", "query"): dict,
        probatio.Exclusive("params", "query"): dict,
        probatio.Optional("body"): probatio.Any(dict, list, str),
        probatio.Optional("content_type"): str,
        probatio.Optional("auth", default={"type": "none"}): _auth,
        probatio.Optional("timeout", default=DEFAULT_TIMEOUT): probatio.All(
            probatio.Coerce(float), probatio.Range(min=1, max=300)
        ),
        probatio.Optional("max_response_bytes", default=MAX_RESPONSE): probatio.All(
            probatio.Coerce(int), probatio.Range(min=1024, max=1024 * 1024)
        ),
        probatio.Optional("min_interval", default=0): probatio.All(
            probatio.Coerce(float), probatio.Range(min=0, max=86400)
        ),
        probatio.Optional("verify_ssl", default=True): bool,
        **OUTCOME,
    }
)
