"""PDF files are read page by page; the library for it is installed with the first one."""

from pathlib import Path

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.search import files as pdf_module
from custom_components.home_agent.search.files import sections_of
from custom_components.home_agent.support.errors import KnowledgeError

from .conftest import StartKnowledge
from .pdf_file import pdf

PAGES = [
    "This manual is for the dishwasher.",
    "Fill in salt when the lamp S is on.",
    "The short programme takes 45 minutes.",
]


async def test_pages_are_found_with_their_number(folder: Path, start: StartKnowledge) -> None:
    (folder / "dishwasher.pdf").write_bytes(pdf(PAGES))
    knowledge = await start()
    (passage,) = await knowledge.async_find("When do I fill salt into the dishwasher?", 1)
    assert (passage.text, passage.source, passage.metadata["page"]) == (PAGES[1], "dishwasher.pdf", 2)


@pytest.mark.parametrize(
    "content", [b"", b"%PDF-1.4 and no more", pdf(PAGES)[:300]], ids=["empty", "no PDF", "cut off"]
)
def test_a_broken_file_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.pdf").write_bytes(content)
    with pytest.raises(KnowledgeError):
        sections_of(tmp_path, "x.pdf")


async def test_a_scan_has_no_text(folder: Path, start: StartKnowledge, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "scan.pdf").write_bytes(pdf([""]))
    assert (await start()).counts["failed"] == 1
    assert "scan.pdf" in caplog.text


async def test_without_the_library_the_other_documents_work(
    hass: HomeAssistant, folder: Path, start: StartKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "dishwasher.pdf").write_bytes(pdf(PAGES))
    monkeypatch.setattr(pdf_module, "MODULE", "no_such_module_for_pdf")
    knowledge = await start()
    assert knowledge.counts == {"documents": 2, "passages": 4, "failed": 1}
    assert (await knowledge.async_find("guest network"))[0].source == "wifi.txt"
