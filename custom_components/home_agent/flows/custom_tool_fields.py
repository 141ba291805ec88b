"""The fields of a tool of the owner's own, by the form they are in."""

from homeassistant.const import CONF_DESCRIPTION, CONF_NAME
from homeassistant.helpers.selector import (
    BooleanSelector,
    ObjectSelector,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)

from ..custom.definition import CONF_DESTRUCTIVE, CONF_PARAMETERS, CONF_READ_ONLY, CONF_TITLE, CONF_TYPE
from ..custom.handlers import HANDLERS
from ..mcp_client.sdk import AUTO, SSE, STREAMABLE_HTTP
from .fields import NAME, Fields, PromptSelector, choice, number

BEHAVIOUR = "behaviour"
CONF_AUTH = "auth"
BEHAVIOURS: dict[str, dict[str, bool]] = {
    "default": {},
    "read_only": {CONF_READ_ONLY: True, CONF_DESTRUCTIVE: False},
    "write": {CONF_READ_ONLY: False, CONF_DESTRUCTIVE: False},
    "destructive": {CONF_READ_ONLY: False, CONF_DESTRUCTIVE: True},
}
KEPT = ("token", "password", "client_secret")
"""What is never shown again, and stays when its field is left empty."""

_LONG = TextSelector(TextSelectorConfig(multiline=True))
_SECRET = TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD))
_ANYTHING = ObjectSelector()

BASICS: Fields = {
    CONF_NAME: NAME,
    CONF_TITLE: NAME,
    CONF_DESCRIPTION: _LONG,
    CONF_PARAMETERS: _ANYTHING,
    CONF_TYPE: choice(*HANDLERS, translation_key="custom_tool_type"),
    BEHAVIOUR: choice(*BEHAVIOURS, translation_key="custom_tool_behaviour"),
}
NEEDED: dict[str, tuple[str, ...]] = {
    "": (CONF_NAME, CONF_DESCRIPTION),
    "rest": ("url",),
    "service": ("service",),
    "template": ("template",),
    "mcp": ("server_url", "method"),
}
"""What a tool cannot do without, by kind; the first form has no kind."""
_RESPONSE: Fields = {"response": PromptSelector(), "response_path": NAME}
_AUTH: Fields = {
    CONF_TYPE: choice("none", "bearer", "basic", "oauth2", translation_key="custom_tool_auth"),
    "token": _SECRET,
    "username": NAME,
    "password": _SECRET,
    "token_url": NAME,
    "client_id": NAME,
    "client_secret": _SECRET,
    "scope": NAME,
    "audience": NAME,
    "credentials_in": choice("header", "body", translation_key="custom_tool_credentials_in"),
}
FORMS: dict[str, dict[str, Fields]] = {
    "rest": {
        "": {
            "url": NAME,
            "method": SelectSelector(
                SelectSelectorConfig(
                    options=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], mode=SelectSelectorMode.DROPDOWN
                )
            ),
            "headers": _ANYTHING,
            "query": _ANYTHING,
            "body": _ANYTHING,
            "content_type": NAME,
        },
        CONF_AUTH: _AUTH,
        "result": _RESPONSE,
        "limits": {
            "timeout": number(1, 300, unit="s"),
            "max_response_bytes": number(1024, 1024 * 1024, unit="B"),
            "min_interval": number(0, 86400, unit="s"),
            "verify_ssl": BooleanSelector(),
        },
    },
    "service": {
        "": {"service": NAME, "target": _ANYTHING, "data": _ANYTHING, "return_response": BooleanSelector()},
        "result": _RESPONSE,
    },
    "template": {"": {"template": PromptSelector()}},
    "mcp": {
        "": {
            "server_url": NAME,
            "method": NAME,
            "arguments": _ANYTHING,
            "transport": choice(AUTO, STREAMABLE_HTTP, SSE, translation_key="mcp_transport"),
        },
        CONF_AUTH: _AUTH,
        "result": _RESPONSE,
        "limits": {
            "timeout": number(1, 300, unit="s"),
            "min_interval": number(0, 86400, unit="s"),
            "verify_ssl": BooleanSelector(),
        },
    },
}
"""By kind of tools and section; what is not in a section is under an empty name."""

OF_AUTH: dict[str, set[str]] = {
    "bearer": {"token"},
    "basic": {"username", "password"},
    "oauth2": {"token_url", "client_id", "client_secret", "scope", "audience", "credentials_in"},
}
"""Which fields belong to which way to prove who one is; the others are left out."""
