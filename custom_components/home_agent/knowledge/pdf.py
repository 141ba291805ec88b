"""Text of PDF files, page by page. The library is installed with the first such file; it is pure Python."""

from io import BytesIO
import time

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.importlib import async_import_module
from homeassistant.requirements import async_process_requirements

from ..const import DOMAIN
from ..errors import KnowledgeError
from .passages import Section

MODULE = "pypdf"
REQUIREMENT = "pypdf>=6.0,<8"
MAX_PAGES = 2000
MAX_SECONDS = 120  # of one file; some are made to take for ever


async def async_load(hass: HomeAssistant) -> None:
    """Make sure that PDF files can be read. Raises `KnowledgeError` when the library cannot be installed."""
    try:
        await async_process_requirements(hass, DOMAIN, [REQUIREMENT], is_built_in=False)
        await async_import_module(hass, MODULE)
    except (HomeAssistantError, ImportError) as err:
        raise KnowledgeError("knowledge_pdf", detail=type(err).__name__) from err


def sections_of_pdf(content: bytes, path: str) -> list[Section]:
    """Return the text of each page; of a file that takes too long the first ones. Raises `KnowledgeError` for a broken one."""
    from pypdf import PdfReader

    began = time.monotonic()
    sections: list[Section] = []
    try:
        for number, page in enumerate(PdfReader(BytesIO(content)).pages, start=1):
            sections.append(Section(page.extract_text() or "", page=number))
            if number == MAX_PAGES or time.monotonic() - began > MAX_SECONDS:
                break
    except Exception as err:  # whatever a broken file makes the library raise
        raise KnowledgeError("knowledge_unreadable", path=path, detail=type(err).__name__) from err
    return sections
