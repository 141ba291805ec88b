"""How a tool proves to a server who it is, as its owner writes it: the key `auth` of a handler (S1-203, S1-206)."""

from collections.abc import Mapping
from typing import Any

import probatio

from ..errors import CustomToolError
from ..outside.auth import Auth, Client, ClientCredentials, basic, bearer
from .definition import Kit, check_host
from .templates import Values

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


def auth_schema(data: Any) -> Mapping[str, Any]:
    """Check how a tool proves who it is, by the schema of its type."""
    kind = data.get("type") if isinstance(data, Mapping) else None
    if kind not in _AUTH:
        raise probatio.Invalid(f"type has to be one of {', '.join(_AUTH)}", path=["type"])
    valid: Mapping[str, Any] = _AUTH[kind](data)
    return valid


def auth_from(data: Mapping[str, Any], kit: Kit) -> Auth | None:
    """Return how a tool proves who it is, by its key `auth`. Raises `CustomToolError`."""
    match data["type"]:
        case "bearer":
            return bearer(_plain(data, "token", kit))
        case "basic":
            return basic(_plain(data, "username", kit), _plain(data, "password", kit))
        case "oauth2":
            client = Client(
                token_url=check_host(data["token_url"], kit, ("handler", "auth", "token_url")),
                client_id=_plain(data, "client_id", kit),
                client_secret=_plain(data, "client_secret", kit),
                scope=data["scope"],
                audience=data["audience"],
                in_body=data["credentials_in"] == "body",
            )
            return ClientCredentials(kit.http, client)
    return None


def _plain(data: Mapping[str, Any], key: str, kit: Kit) -> str:
    """Return a credential; it may be a template with secrets, never with arguments."""
    text = kit.templates.compile(data[key], (), ("handler", "auth", key)).text(Values({}))
    if not text or not text.isprintable():
        raise CustomToolError("custom_tool_credential", ("handler", "auth", key))
    return text
