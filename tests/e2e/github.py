"""GitHub and the community catalog on loopback, as far as an installation asks them: this repository, with one release.

Run as a program, it starts `hass` with the Marketplace led here instead of to the internet.
"""

import base64
from dataclasses import replace
from importlib import import_module
import io
import json
import os
from pathlib import Path
import subprocess
import sys
from typing import Any
import zipfile

from aiohttp import web

from .process import ROOT

REPOSITORY = "home-agent/home-agent"
REPOSITORY_ID = 987654321
BRANCH = "main"
ADDRESS = "LOOPBACK_GITHUB"  # the variable of the environment that names this server to `hass`


def _files() -> dict[str, bytes]:
    """Return what git would put into the archive of a release, the working tree's version of it, by path."""
    listed = subprocess.run(("git", "-C", ROOT, "ls-files", "-z"), capture_output=True, check=True, text=True).stdout
    return {path: file.read_bytes() for path in listed.split("\0") if path and (file := ROOT / path).is_file()}


class LoopbackGitHub:
    """Serves the release and, if asked to list it, the catalog with it."""

    def __init__(self, *, in_catalog: bool) -> None:
        """Read the files."""
        self.files = _files()
        described = json.loads(self.files["custom_components/home_agent/manifest.json"])
        self.version = f"v{described['version']}"
        self.in_catalog = in_catalog
        self.asked: list[str] = []
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self) -> None:
        """Listen on a free port."""
        app = web.Application()
        app.router.add_get("/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        kind, _, path = request.path.removeprefix("/").partition("/")
        if kind == "catalog":
            return web.json_response(self._catalog(path.partition("/")[0]))
        if kind == "raw":  # owner/name/ref/path
            content = self.files.get("/".join(path.split("/")[3:]))
            return web.Response(status=404) if content is None else web.Response(body=content)
        if kind == "github":
            archive = f"{REPOSITORY}/archive/"
            return web.Response(body=self._archive()) if path.startswith(archive) else web.Response(status=404)
        return self._api(path.removeprefix(f"repos/{REPOSITORY}").removeprefix("/"))

    def _catalog(self, category: str) -> Any:
        if category in ("removed", "critical"):
            return []
        if category != "integration" or not self.in_catalog:
            return {}
        entry = {
            "description": "Talk to your home",
            "domain": "home_agent",
            "etag_repository": "1",
            "full_name": REPOSITORY,
            "last_commit": "0" * 7,
            "last_fetched": 1_790_000_000,
            "last_updated": "2026-11-20T00:00:00Z",
            "last_version": self.version,
            "manifest": {"name": "Home Agent"},
            "manifest_name": "Home Agent",
        }
        return {str(REPOSITORY_ID): entry}

    def _api(self, path: str) -> web.Response:
        release = {"tag_name": self.version, "name": self.version, "assets": [], "prerelease": False, "draft": False}
        release |= {"published_at": "2026-11-20T00:00:00Z", "body": "", "id": 1}
        answers: dict[str, Any] = {
            "": {
                "id": REPOSITORY_ID,
                "full_name": REPOSITORY,
                "default_branch": BRANCH,
                "description": "Talk to your home",
                "archived": False,
                "fork": False,
                "pushed_at": "2026-11-20T00:00:00Z",
                "topics": [],
                "open_issues_count": 0,
                "stargazers_count": 0,
            },
            "releases": [release],
            "releases/latest": release,
            f"branches/{BRANCH}": {"commit": {"sha": "0" * 40}},
            "rate_limit": {
                "resources": {"core": {"limit": 5000, "used": 0, "remaining": 5000, "reset": 2_000_000_000}}
            },
        }
        if path.startswith("git/trees/"):
            folders = {str(parent) for name in self.files for parent in Path(name).parents} - {"."}
            tree = [{"path": name, "type": "blob"} for name in self.files]
            tree += [{"path": name, "type": "tree"} for name in folders]
            tree.sort(key=lambda item: item["path"])
            return web.json_response({"sha": "0" * 40, "tree": tree, "truncated": False})
        if path.startswith("contents/") and (content := self.files.get(path.removeprefix("contents/"))) is not None:
            encoded = base64.b64encode(content).decode()
            return web.json_response({"content": encoded, "encoding": "base64", "path": path.removeprefix("contents/")})
        return web.json_response(answers[path], headers={"Etag": "1"}) if path in answers else web.Response(status=404)

    def _archive(self) -> bytes:
        """Return the zip of the release as GitHub makes it: everything below one folder."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path, content in self.files.items():
                archive.writestr(f"home-agent-{self.version.removeprefix('v')}/{path}", content)
        return out.getvalue()


def run_hass() -> int:
    """Lead the Marketplace here, then be `hass`."""
    from homeassistant.__main__ import main  # only where it is the program

    profiles = import_module("homeassistant.components.marketplace.profiles")  # only 2026.11 has it
    url = os.environ[ADDRESS]
    ours = replace(
        profiles.GITHUB, api=f"{url}/api", github=(f"{url}/github",), raw=(f"{url}/raw",), catalog=(f"{url}/catalog",)
    )
    profiles.PROFILES[profiles.DEFAULT_PROFILE] = ours
    return main()


if __name__ == "__main__":
    sys.exit(run_hass())
