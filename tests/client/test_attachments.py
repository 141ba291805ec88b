"""Files of a message."""

from pathlib import Path

from homeassistant.components.conversation import Attachment, UserContent
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client import messages as attachments
from custom_components.home_agent.client.messages import async_load_attachments
from custom_components.home_agent.support.errors import HomeAgentError


def user(path: Path, mime_type: str) -> UserContent:
    return UserContent(content="What is this?", attachments=[Attachment("media-source://x", mime_type, path)])


@pytest.mark.parametrize(("mime_type", "part"), [
    ("image/png", {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}),
    ("text/plain", {"type": "text", "text": "file.bin:\nhi"}),
    (
        "application/pdf",
        {"type": "file", "file": {"filename": "file.bin", "file_data": "data:application/pdf;base64,aGk="}},
    ),
])  # fmt: skip
async def test_files_become_parts(hass: HomeAssistant, tmp_path: Path, mime_type: str, part: dict[str, object]) -> None:
    path = tmp_path / "file.bin"
    path.write_bytes(b"hi")
    content = user(path, mime_type)
    assert await async_load_attachments(hass, [UserContent(content="Hi"), content]) == {1: [part]}


async def test_without_files_nothing_is_done(hass: HomeAssistant) -> None:
    assert (
        await async_load_attachments(hass, [UserContent(content="Hi"), UserContent(content="", attachments=[])]) == {}
    )


@pytest.mark.parametrize(("size", "mime_type", "key"), [
    (9, "image/png", "attachment_too_large"),
    (1, "video/mp4", "attachment_type"),
    (0, "text/plain", "attachment_unreadable"),
])  # fmt: skip
async def test_what_cannot_be_sent_is_a_translated_error(
    hass: HomeAssistant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, mime_type: str, key: str
) -> None:
    monkeypatch.setattr(attachments, "MAX_SIZE", 8)
    path = tmp_path / ("missing" if not size else "file.bin")
    (tmp_path / "file.bin").write_bytes(b"x" * size)
    with pytest.raises(HomeAgentError) as caught:
        await async_load_attachments(hass, [user(path, mime_type)])
    assert caught.value.translation_key == key
    assert (caught.value.translation_placeholders or {})["file"] == path.name
