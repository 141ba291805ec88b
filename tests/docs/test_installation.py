"""What HACS and the Marketplace read of this repository."""

import json
from pathlib import Path
import re

import pytest

from .pages import DOCS, ROOT

MANIFEST = json.loads((ROOT / "hacs.json").read_text())
INTEGRATION = json.loads((ROOT / "custom_components" / "home_agent" / "manifest.json").read_text())


def test_the_repository_is_installed_as_it_is() -> None:
    """A file that has to be attached to each release can be missing; the catalog of the Marketplace has none."""
    assert MANIFEST.keys() == {"name", "homeassistant"}
    assert [path.parent.name for path in (ROOT / "custom_components").glob("*/manifest.json")] == ["home_agent"]


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "INSTALLATION.md"], ids=lambda path: path.name)
def test_both_ways_name_the_repository_and_the_oldest_release(page: Path) -> None:
    text = page.read_text()
    assert INTEGRATION["documentation"] in text
    [oldest] = re.findall(r"^(\d+\.\d+)\.", MANIFEST["homeassistant"])
    assert oldest in text
    assert "HACS" in text
    assert "Marketplace" in text
