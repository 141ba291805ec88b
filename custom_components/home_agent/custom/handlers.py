"""The kinds of tools that an owner can write. A new kind is a module with a `HANDLER`, and a line here."""

from collections.abc import Mapping

from . import mcp, rest, service, template
from .definition import Handler

HANDLERS: Mapping[str, Handler] = {
    "rest": rest.HANDLER,
    "service": service.HANDLER,
    "template": template.HANDLER,
    "mcp": mcp.HANDLER,
}
