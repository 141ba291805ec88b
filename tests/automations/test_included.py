"""Whether the configuration reads a file as automations, by what is written in it."""

from pathlib import Path

import pytest

from custom_components.home_agent.automations import included
from custom_components.home_agent.automations.included import Inclusion, inclusion

LINE = "automation: !include automations.yaml\n"


def found(folder: Path, configuration: str, **files: str) -> Inclusion:
    """Return how a configuration reads automations.yaml; `a__b` is the file `a/b.yaml`."""
    for name, text in {"configuration": configuration, **files}.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    return inclusion(folder, folder / "automations.yaml")[0]


@pytest.mark.parametrize("configuration", [
    pytest.param(f"default_config:\n{LINE}", id="among others"),
    pytest.param("automation: !include ./automations.yaml\n", id="with a dot"),
    pytest.param(f"\ufeff{LINE}", id="byte order mark"),
    pytest.param(f"x: !secret y\nz: !unknown {{a: b}}\n{LINE}", id="with other tags"),
    pytest.param("automation one: []\nautomation two: !include automations.yaml\n", id="one of two"),
    pytest.param("automation: !include_dir_merge_list .\n", id="its own folder"),
])  # fmt: skip
def test_it_is_read(tmp_path: Path, configuration: str) -> None:
    assert found(tmp_path, configuration) is Inclusion.YES


def test_an_absolute_path(tmp_path: Path) -> None:
    assert found(tmp_path, f"automation: !include {tmp_path}/automations.yaml\n") is Inclusion.YES


@pytest.mark.parametrize("configuration", [
    pytest.param("automations: !include automations.yaml\n", id="a word too long"),
    pytest.param("script: !include automations.yaml\n", id="as scripts"),
    pytest.param("automation:\n", id="nothing"),
    pytest.param("homeassistant:\n  packages:\n    one: {script: !include automations.yaml}\n", id="as scripts of a package"),
    pytest.param("homeassistant:\n  packages:\n", id="no packages"),
    pytest.param("other: {automation: !include automations.yaml}\n", id="too deep"),
])  # fmt: skip
def test_it_is_not_read(tmp_path: Path, configuration: str) -> None:
    assert found(tmp_path, configuration) is Inclusion.NO


@pytest.mark.parametrize("configuration", [
    pytest.param("automation: !env_var AUTOMATIONS\n", id="another tag"),
    pytest.param("- a list\n", id="a list"),
    pytest.param("automation: [\n", id="broken"),
    pytest.param("homeassistant:\n  packages: !include_dir_list parts\n", id="packages in another way"),
    pytest.param("homeassistant: !include missing.yaml\n", id="a file that is not there"),
    pytest.param("!include configuration.yaml\n", id="includes itself"),
])  # fmt: skip
def test_what_is_not_understood(tmp_path: Path, configuration: str) -> None:
    assert found(tmp_path, configuration) is Inclusion.UNKNOWN


def test_without_a_configuration(tmp_path: Path) -> None:
    assert inclusion(tmp_path, tmp_path / "automations.yaml") == (Inclusion.UNKNOWN, "")


def test_the_folder_that_is_read_instead(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text("automation: !include_dir_merge_list parts/\n")
    assert inclusion(tmp_path, tmp_path / "automations.yaml") == (Inclusion.FOLDER, "parts/")


def test_hidden_files_and_secrets_are_no_packages(tmp_path: Path) -> None:
    line = "automation: !include ../automations.yaml\n"
    packages = "homeassistant:\n  packages: !include_dir_named parts\n"
    files = {"parts__.one": line, "parts__secrets": line, "parts__.two__one": line.replace("..", "../..")}
    assert found(tmp_path, packages, **files) is Inclusion.NO


def test_a_package_in_a_folder_of_the_folder(tmp_path: Path) -> None:
    packages = "homeassistant:\n  packages: !include_dir_named parts\n"
    assert found(tmp_path, packages, parts__deep__one="automation: !include ../../automations.yaml\n") is Inclusion.YES


def test_an_empty_package(tmp_path: Path) -> None:
    packages = "homeassistant:\n  packages: !include_dir_named parts\n"
    assert found(tmp_path, packages, parts__one="") is Inclusion.NO


def test_a_configuration_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(included, "MAX_FILES", 3)
    packages = "homeassistant:\n  packages: !include_dir_named parts\n"
    many = {f"parts__p{n}": "script: []\n" for n in range(5)}
    assert found(tmp_path, packages, **many) is Inclusion.UNKNOWN
