"""Files of a user message as data URLs."""

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant

from ..errors import HomeAgentError

MAX_SIZE = 10 * 1024 * 1024  # bytes of one file, before encoding


async def async_load_attachments(
    hass: HomeAssistant, content: Sequence[conversation.Content]
) -> dict[int, list[dict[str, Any]]]:
    """Return the attachments of user contents as parts of a message, by the content's `id()`.

    Raises `HomeAgentError` for a file that is too large (`attachment_too_large`), cannot be read
    (`attachment_unreadable`) or is neither an image nor text nor PDF (`attachment_type`).
    """
    wanted = [item for item in content if isinstance(item, conversation.UserContent) and item.attachments]
    if not wanted:
        return {}
    return await hass.async_add_executor_job(_load, wanted)


def _load(content: list[conversation.UserContent]) -> dict[int, list[dict[str, Any]]]:
    return {id(item): [_part(attachment) for attachment in item.attachments or ()] for item in content}


def _part(attachment: conversation.Attachment) -> dict[str, Any]:
    path, mime_type = attachment.path, attachment.mime_type
    if mime_type.startswith("text/"):
        return {"type": "text", "text": f"{path.name}:\n{_read(path).decode('utf-8', 'replace')}"}
    if not mime_type.startswith("image/") and mime_type != "application/pdf":
        raise HomeAgentError("attachment_type", file=path.name, type=mime_type)
    url = f"data:{mime_type};base64,{b64encode(_read(path)).decode()}"
    if mime_type == "application/pdf":
        return {"type": "file", "file": {"filename": path.name, "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_SIZE:
            raise HomeAgentError("attachment_too_large", file=path.name, limit=str(MAX_SIZE // 1024**2))
        return path.read_bytes()
    except OSError as err:
        raise HomeAgentError("attachment_unreadable", file=path.name) from err
