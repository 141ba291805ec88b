"""Documents for users come from two folders and from nowhere else, on a real file system."""

import os
from pathlib import Path

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.home_agent.search import files, user_documents
from custom_components.home_agent.search.user_documents import UserDocuments
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import KnowledgeError


@pytest.fixture
def owned(hass: HomeAssistant) -> Path:
    """The owner's folder with a document, in a configuration that has secrets."""
    folder = Path(hass.config.path("home_agent", "docs"))
    (folder / "house").mkdir(parents=True)
    (folder / "rules.md").write_text("# Rules\nNo shoes on the carpet.")
    (folder / "house" / "boiler.txt").write_text("Press twice.")
    secrets = Path(hass.config.path("secrets.yaml"))
    secrets.write_text("key: hunter2")
    Path(hass.config.path("secrets.md")).write_text("hunter2")
    (folder.parent / "private").mkdir()
    (folder.parent / "private" / "diary.md").write_text("hunter2")
    return folder


def profile(*names: str) -> Profile:
    return Profile(subentry_id="p", name="Anna", system_documents=names)


async def key_of(documents: UserDocuments, name: str) -> str | None:
    """Return why a document is refused, None when it is read."""
    try:
        await documents.async_read(name)
    except KnowledgeError as err:
        return err.translation_key
    return None


async def test_both_folders_are_listed_and_the_owners_has_precedence(hass: HomeAssistant, owned: Path) -> None:
    documents = UserDocuments(hass)
    await documents.async_load([])
    assert documents.names == ("TALKING.md", "USER_GUIDE.md", "house/boiler.txt", "rules.md")
    assert (await documents.async_read("USER_GUIDE.md")).startswith("# What the agent can do")
    (owned / "USER_GUIDE.md").write_text("Ask Carl.")
    assert await documents.async_read("USER_GUIDE.md") == "Ask Carl."
    assert await documents.async_read("house/boiler.txt") == "Press twice."


async def test_a_document_for_agents_alone_is_read_only_where_an_agent_names_it(hass: HomeAssistant) -> None:
    documents = UserDocuments(hass)
    await documents.async_load([profile("scripting.md"), Profile(subentry_id="other", name="Carl")])
    assert documents.of_profile["p"].text.startswith("## Documentation: scripting.md\n\n# Writing automations")
    assert documents.of_profile.keys() == {"p"}
    assert documents.names == ("TALKING.md", "USER_GUIDE.md")
    assert await key_of(documents, "scripting.md") == "knowledge_no_file"


async def test_the_owner_may_replace_a_document_for_agents(hass: HomeAssistant, owned: Path) -> None:
    (owned / "scripting.md").write_text("As Carl likes it.")
    documents = UserDocuments(hass)
    await documents.async_load([profile("scripting.md")])
    assert documents.of_profile["p"].text == "## Documentation: scripting.md\n\nAs Carl likes it."


async def test_a_document_for_agents_is_there_whatever_folder_documents_come_from(
    hass: HomeAssistant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCS_USER_DIR", str(tmp_path))
    documents = UserDocuments(hass)
    await documents.async_load([profile("scripting.md")])
    assert "# Writing automations" in documents.of_profile["p"].text


@pytest.mark.parametrize("name", [
    "../secrets.md", "../private/diary.md", "house/../../../secrets.md", "../../secrets.yaml", "/etc/hostname",
    "/etc/passwd.md", "house\\..\\rules.md", "rules.md\x00.txt", "secrets.yaml", "rules.md/", ".hidden.md", "house",
    "..", "", "/dev/zero", "https://example.com/a.md",
])  # fmt: skip
async def test_names_that_lead_elsewhere_are_refused(hass: HomeAssistant, owned: Path, name: str) -> None:
    (owned / ".hidden.md").write_text("hunter2")
    (owned / "secrets.yaml").write_text("hunter2")
    assert await key_of(UserDocuments(hass), name) in ("knowledge_path", "knowledge_no_file")


async def test_absolute_path_of_a_document_is_refused(hass: HomeAssistant, owned: Path) -> None:
    assert await key_of(UserDocuments(hass), str(owned / "rules.md")) == "knowledge_path"


async def test_links_devices_and_pipes_are_no_documents(hass: HomeAssistant, owned: Path) -> None:
    (owned / "secret.md").symlink_to(hass.config.path("secrets.yaml"))
    (owned / "inside.md").symlink_to(owned / "rules.md")
    (owned / "private").symlink_to(owned.parent / "private", target_is_directory=True)
    (owned / "zero.md").symlink_to("/dev/zero")
    os.mkfifo(owned / "pipe.md")
    documents = UserDocuments(hass)
    await documents.async_load([])
    assert documents.names == ("TALKING.md", "USER_GUIDE.md", "house/boiler.txt", "rules.md")
    for name in ("secret.md", "inside.md", "private/diary.md", "zero.md", "pipe.md"):
        assert await key_of(documents, name) == "knowledge_no_file", name


@pytest.mark.parametrize("name", ["secret.md", "zero.md", "pipe.md", "private/diary.md"])
def test_what_became_a_link_since_it_was_listed_is_not_followed(hass: HomeAssistant, owned: Path, name: str) -> None:
    (owned / "secret.md").symlink_to(hass.config.path("secrets.yaml"))
    (owned / "zero.md").symlink_to("/dev/zero")
    (owned / "private").symlink_to(owned.parent / "private", target_is_directory=True)
    os.mkfifo(owned / "pipe.md")
    with pytest.raises(KnowledgeError) as error:
        files.document_text(owned, name)
    assert error.value.translation_key == "knowledge_unreadable"


@pytest.mark.parametrize(("content", "key"), [
    pytest.param(b"x" * (files.MAX_DOCUMENT_BYTES + 1), "knowledge_too_large", id="huge"),
    pytest.param(b"\x00\xff\xfe\x01", "knowledge_unreadable", id="binary"),
    pytest.param(b" \n ", "knowledge_empty", id="empty"),
    pytest.param(b"x" * files.MAX_DOCUMENT_BYTES, None, id="large"),
])  # fmt: skip
async def test_files_that_cannot_be_used(hass: HomeAssistant, owned: Path, content: bytes, key: str | None) -> None:
    (owned / "x.md").write_bytes(content)
    assert await key_of(UserDocuments(hass), "x.md") == key


async def test_another_folder(hass: HomeAssistant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "guide.md").write_text("Here.")
    (tmp_path / "outside.md").write_text("hunter2")
    monkeypatch.setenv("DOCS_USER_DIR", str(folder))
    documents = UserDocuments(hass)
    await documents.async_load([])
    assert documents.names == ("guide.md",)
    assert await key_of(documents, "../outside.md") == "knowledge_path"
    assert await key_of(documents, "USER_GUIDE.md") == "knowledge_no_file"


async def test_a_missing_document_is_told(hass: HomeAssistant, owned: Path, caplog: pytest.LogCaptureFixture) -> None:
    documents = UserDocuments(hass)
    anna = profile("rules.md", "gone.md", "../secrets.md", "house/boiler.txt")
    await documents.async_load([anna, Profile(subentry_id="q", name="Bert")])
    assert documents.of_profile.keys() == {"p"}
    assert documents.of_profile["p"].text == (
        "## Documentation: rules.md\n\n# Rules\nNo shoes on the carpet.\n\n"
        "## Documentation: house/boiler.txt\n\nPress twice."
    )
    issue = ir.async_get(hass).async_get_issue(DOMAIN, "system_documents_p")
    assert issue is not None
    placeholders = {"profile": "Anna", "documents": "gone.md, ../secrets.md", "folder": "home_agent/docs"}
    assert issue.translation_placeholders == placeholders
    assert ir.async_get(hass).async_get_issue(DOMAIN, "system_documents_q") is None
    await UserDocuments(hass).async_load([anna])  # as when the entry is loaded anew
    assert caplog.text.count("Agent Anna: There is no file gone.md in the documents folder.") == 1
    assert caplog.text.count("Agent Anna: ../secrets.md is outside the documents folder.") == 1
    assert "knowledge_" not in caplog.text
    (owned / "gone.md").write_text("Back.")
    await documents.async_load([profile("gone.md")])
    assert documents.of_profile["p"].text == "## Documentation: gone.md\n\nBack."
    assert ir.async_get(hass).async_get_issue(DOMAIN, "system_documents_p") is None


async def test_a_long_one_ends_with_a_line(hass: HomeAssistant, owned: Path, caplog: pytest.LogCaptureFixture) -> None:
    (owned / "long.txt").write_text("\n".join(f"Line {number} of many." for number in range(10_000)))
    documents = UserDocuments(hass)
    await documents.async_load([profile("long.txt")])
    kept = documents.of_profile["p"]
    assert 0.9 * user_documents.MAX_LENGTH < len(kept.text) <= user_documents.MAX_LENGTH
    assert kept.text.endswith(f" of many.\n\n{user_documents.REST}")
    assert "longer than 40000 characters" in caplog.text
    short = kept.within(100)
    assert short == kept.within(100)
    assert short.startswith("## Documentation: long.txt\n\nLine 0 of many.\n")
    assert short.endswith(f" of many.\n\n{user_documents.REST}")
    assert len(short) < 600
    assert kept.within(0) == user_documents.REST
