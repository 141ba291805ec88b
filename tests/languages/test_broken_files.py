"""A file of words that does not fit costs its own language, and no other."""

import json
from pathlib import Path
import shutil
from typing import Any

import pytest

from custom_components.home_agent.languages import data


@pytest.mark.parametrize("broken", [
    {"claims": {"nonsense": []}}, {"nonsense": []}, {"commands": [{"nonsense": 1}]}, {"prompt": {}}, {"asks": {"x": 1}}, [], "",
    None,
], ids=str)  # fmt: skip
def test_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: Any
) -> None:
    for path in Path(data.__file__).parent.glob("*.json"):
        shutil.copy(path, tmp_path)
    (tmp_path / "it.json").write_text("{" if broken is None else json.dumps(broken))
    monkeypatch.setattr(data, "_FOLDER", tmp_path)
    monkeypatch.setattr(data, "_BROKEN", set())
    first, second = data.all_data(), data.all_data()
    assert first["it"] == second["it"] == data.LanguageData()
    assert all(first[code].yes for code in ("en", "de", "fr", "es", "nl", "pl"))
    assert caplog.text.count("language it cannot be read") == 1
