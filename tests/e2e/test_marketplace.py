"""Home Agent is installed by the Marketplace of Home Assistant 2026.11, from its catalog and from a link."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
import json
from pathlib import Path
import sys
from typing import Any

import pytest

from .github import ADDRESS, REPOSITORY, REPOSITORY_ID, LoopbackGitHub
from .harness import DOMAIN, Hass
from .process import CONFIGURATION, ROOT

HOME_ASSISTANT = find_spec("homeassistant")  # found, not imported
assert HOME_ASSISTANT is not None
assert HOME_ASSISTANT.origin is not None
pytestmark = pytest.mark.skipif(
    not (Path(HOME_ASSISTANT.origin).parent / "components" / "marketplace").is_dir(),
    reason="this release has no Marketplace",
)
LAUNCHER = (sys.executable, "-m", "tests.e2e.github")
SHIPPED = "custom_components/home_agent/"
SECONDS = 60  # for what the Marketplace does by itself


@asynccontextmanager
async def store(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, in_catalog: bool
) -> AsyncGenerator[tuple[Hass, LoopbackGitHub]]:
    """Run a Home Assistant without Home Agent whose Marketplace asks a GitHub on loopback."""
    github = LoopbackGitHub(in_catalog=in_catalog)
    await github.start()
    monkeypatch.setenv(ADDRESS, github.url)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (folder / "custom_components").mkdir(parents=True)
    configuration = CONFIGURATION.format(name="Demo House", log_level="debug")
    (folder / "configuration.yaml").write_text(f"{configuration}marketplace:\n")
    try:
        async with Hass(folder, program=LAUNCHER).running() as hass:
            yield hass, github
    finally:
        await github.stop()


async def known(hass: Hass) -> dict[str, Any] | None:
    """Return Home Agent as the Marketplace lists it; None if it does not."""
    listed = await hass.command("marketplace/repositories/list", categories=["integration"])
    return next((item for item in listed if item["full_name"] == REPOSITORY), None)


async def started(hass: Hass, *, lists: bool) -> None:
    """Wait until the Marketplace has read its catalog, and accept its warning."""
    async with asyncio.timeout(SECONDS):
        while (await hass.command("marketplace/info"))["startup"] or (lists and await known(hass) is None):
            await asyncio.sleep(0.2)
    await hass.command("marketplace/warning/accept")


async def installed_files(hass: Hass) -> dict[str, bytes]:
    """Return what was written for Home Agent, by path below its folder."""
    folder = hass.process.folder / "custom_components" / DOMAIN
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


async def assert_works(hass: Hass, github: LoopbackGitHub) -> None:
    """Assert that all files are there, and that Home Agent is added and answers without a restart."""
    shipped = {
        path.removeprefix(SHIPPED): content for path, content in github.files.items() if path.startswith(SHIPPED)
    }
    assert await installed_files(hass) == shipped
    flow = await (await hass.config_flow()).submit(preset="no_model")
    assert flow.kind == "create_entry", flow.step
    await flow.skip_check()
    [agent] = await hass.agents()
    await hass.say("turn off the kitchen lights", agent=agent)
    await hass.wait_for("light.kitchen_lights", "off")


async def test_installed_from_the_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with store(tmp_path / "house", monkeypatch, in_catalog=True) as (hass, github):
        await started(hass, lists=True)
        await hass.command("marketplace/repository/install", repository=str(REPOSITORY_ID))
        item = await known(hass)
        assert item is not None
        assert item["installed"]
        assert item["config_flow"]
        assert item["installed_version"] == github.version
        assert not [path for path in github.asked if path.startswith("/api/repos")]  # it needs no account
        await assert_works(hass, github)


async def test_installed_from_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with store(tmp_path / "house", monkeypatch, in_catalog=False) as (hass, github):
        await started(hass, lists=False)
        await hass.stop()
        connect_github(hass.process.folder)
        await hass.start()
        await started(hass, lists=False)
        found = await hass.command("marketplace/repositories/detect", repository=f"https://github.com/{REPOSITORY}")
        assert found == {"categories": ["integration"]}
        await hass.command(
            "marketplace/repositories/add", repository=f"https://github.com/{REPOSITORY}", category="integration"
        )
        await hass.command("marketplace/repository/install", repository=str(REPOSITORY_ID))
        await assert_works(hass, github)


def connect_github(folder: Path) -> None:
    """Store a token, as the Marketplace does once its code was entered at GitHub."""
    path = folder / ".storage" / "core.config_entries"
    stored = json.loads(path.read_text())
    for entry in stored["data"]["entries"]:
        if entry["domain"] == "marketplace":
            entry["data"]["token"] = "gho_loopback"
    path.write_text(json.dumps(stored))
