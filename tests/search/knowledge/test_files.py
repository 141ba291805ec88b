"""Nothing outside the folder is read, and a file that cannot be used costs nothing but itself."""

import os
from pathlib import Path

import pytest

from custom_components.home_agent.search import files
from custom_components.home_agent.search.files import files_in, path_within, sections_of
from custom_components.home_agent.support.errors import KnowledgeError


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "knowledge"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.md").write_text("# A\ntext")
    (tmp_path / "secrets.txt").write_text("secret")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "b.txt").write_text("secret")
    return folder


def test_links_hidden_files_and_other_kinds_are_left_out(inside: Path) -> None:
    (inside / "link.txt").symlink_to(inside.parent / "secrets.txt")
    (inside / "folder").symlink_to(inside.parent / "secrets", target_is_directory=True)
    (inside / ".hidden.md").write_text("x")
    (inside / "photo.jpg").write_bytes(b"x")
    os.mkfifo(inside / "pipe.txt")
    assert list(files_in(inside)) == ["sub/a.md"]


@pytest.mark.parametrize(
    "name", ["../secrets.txt", "/etc/passwd", "sub/../../secrets.txt", "", "link.txt", "sub", "a.md", "sub/a.md\x00"]
)
def test_paths_that_lead_elsewhere_are_refused(inside: Path, name: str) -> None:
    (inside / "link.txt").symlink_to(inside.parent / "secrets.txt")
    with pytest.raises(KnowledgeError):
        path_within(inside, name)


def test_a_path_within_is_taken(inside: Path) -> None:
    assert path_within(inside, " sub/a.md ") == "sub/a.md"


def test_a_file_that_became_a_link_is_not_followed(inside: Path) -> None:
    (inside / "link.txt").symlink_to(inside.parent / "secrets.txt")
    with pytest.raises(KnowledgeError) as error:
        sections_of(inside, "link.txt")
    assert error.value.translation_key == "knowledge_unreadable"


@pytest.mark.parametrize(
    ("content", "key"),
    [(b"\x00\xff\xfe\x01", "knowledge_unreadable"), (b" \n ", "knowledge_empty"), (b"x" * 20, "knowledge_too_large")],
    ids=["binary", "empty", "too large"],
)
def test_what_cannot_be_used_says_why(inside: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, key: str) -> None:
    monkeypatch.setattr(files, "MAX_TEXT_BYTES", 10)
    (inside / "x.txt").write_bytes(content)
    with pytest.raises(KnowledgeError) as error:
        sections_of(inside, "x.txt")
    assert error.value.translation_key == key


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_of_old_programs(inside: Path, encoding: str) -> None:
    (inside / "x.txt").write_bytes("Küche für Gäste".encode(encoding))
    assert sections_of(inside, "x.txt")[0].text == "Küche für Gäste"


@pytest.mark.parametrize(("language", "encoding", "text"), [
    pytest.param("ru", "cp1251", "Ключ от подвала висит на гвозде", id="Russian"),
    pytest.param("en", "cp1251", "Ключ от подвала висит на гвозде", id="Russian in an English house"),
    pytest.param("ru", "cp1252", "Die Öltemperatur darf 80 Grad nicht überschreiten", id="German in a Russian house"),
    pytest.param("pl", "cp1250", "Klucz wisi na gwoździu, żarówka jest w szufladzie", id="Polish"),
    pytest.param("ja", "cp932", "風呂の温度は四十度です", id="Japanese"),
    pytest.param("zh-Hans", "gb18030", "地下室的钥匙挂在门旁边", id="Chinese"),
    pytest.param("el", "cp1253", "Το κλειδί του υπογείου", id="Greek"),
])  # fmt: skip
def test_text_of_old_programs_elsewhere(inside: Path, language: str, encoding: str, text: str) -> None:
    (inside / "x.txt").write_bytes(text.encode(encoding))
    assert sections_of(inside, "x.txt", language)[0].text == text


def test_no_folder_is_no_documents(tmp_path: Path) -> None:
    assert files_in(tmp_path / "nothing") == {}
