"""What a handler `rest` may say."""

import probatio

from ..outside.http import MAX_RESPONSE
from .auth import auth_schema
from .outcome import OUTCOME

DEFAULT_TIMEOUT = 30.0  # seconds (S1-42)

LIMITS = {
    probatio.Optional("timeout", default=DEFAULT_TIMEOUT): probatio.All(
        probatio.Coerce(float), probatio.Range(min=1, max=300)
    ),
    probatio.Optional("min_interval", default=0): probatio.All(
        probatio.Coerce(float), probatio.Range(min=0, max=86400)
    ),
    probatio.Optional("verify_ssl", default=True): bool,
}
"""Of every request to another computer."""
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
        probatio.Optional("auth", default={"type": "none"}): auth_schema,
        probatio.Optional("max_response_bytes", default=MAX_RESPONSE): probatio.All(
            probatio.Coerce(int), probatio.Range(min=1024, max=1024 * 1024)
        ),
        **LIMITS,
        **OUTCOME,
    }
)
