"""A `hass` process in a folder of its own: nothing is fetched while it runs, and what it logs is kept."""

import asyncio
from collections.abc import Sequence
import ctypes
import json
from pathlib import Path
import re
import secrets
import signal
import sys
from typing import Any

from aiohttp import ClientError, ClientSession

from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
BOOT_TIMEOUT = 120  # seconds; 2 on a quiet machine
STOP_TIMEOUT = 30  # seconds
PR_SET_PDEATHSIG = 1  # of prctl(2)
TOKEN = "which-house.txt"
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None

# Integrations are named one by one: default_config fails as a whole where the go2rtc program is missing, and its parts
# look for a network.
CONFIGURATION = """
homeassistant:
  name: {name}
  latitude: 52.37
  longitude: 4.89
  elevation: 2
  unit_system: metric
  country: NL
  currency: EUR
  time_zone: Europe/Amsterdam
frontend:
config:
recorder:
history:
logbook:
conversation:
assist_pipeline:
demo:
automation: !include automations.yaml
script: !include scripts.yaml
scene: !include scenes.yaml
todo:
input_boolean:
input_number:
input_select:
input_text:
timer:
counter:
system_health:
logger:
  default: warning
  logs:
    custom_components.home_agent: {log_level}
"""

INCLUDED = ("automations.yaml", "scripts.yaml", "scenes.yaml")
"""What Home Assistant's own editors write."""

# The one onboarding step that installs packages and calls out (weather, speech, radio) counts as done.
ONBOARDING = {"version": 4, "minor_version": 1, "key": "onboarding", "data": {"done": ["core_config"]}}


def http_settings(host: str, port: int) -> dict[str, Any]:
    """Return the stored settings of the web server.

    Not an `http:` block: Home Assistant takes that over once, as a trial that ends with a restart on the old port.
    """
    stable = {
        "server_host": [host], "server_port": port, "cors_allowed_origins": [], "login_attempts_threshold": -1,
        "ip_ban_enabled": True, "ssl_profile": "modern", "use_x_frame_options": True,
        "created_at": "2026-01-01T00:00:00+00:00", "error": None, "error_message": None,
    }  # fmt: skip
    data = {"stable": stable, "pending": None, "yaml_migration_done": True}
    return {"version": 2, "minor_version": 2, "key": "http", "data": data}


_LOG_LINE = re.compile(
    r"^\d{4}-\d\d-\d\d [\d:.+-]+ (?P<level>[A-Z]+) \((?P<thread>.*?)\) \[(?P<logger>[^]]+)\] (?P<text>.*)"
)
_HARMLESS = ("We found a custom integration", "which has not been tested by Home Assistant")


class HassProcess:
    """Starts, stops and starts again one Home Assistant."""

    def __init__(
        self,
        folder: Path,
        *,
        name: str = "Demo House",
        log_level: str = "debug",
        host: str = "127.0.0.1",
        port: int = 0,
        inherited: Sequence[int] = (),
        program: Sequence[str | Path] = (),
    ) -> None:
        """Prepare the folder; what is in it from an earlier run is kept. Only this machine reaches the default `host`.

        `inherited` are open files that the process holds as long as it lives, a lock for one. `program` is run instead of `hass`.
        """
        self.folder = folder
        self.port = port or free_port()
        self._inherited = inherited
        self._program = program or (Path(sys.executable).with_name("hass"),)
        self._token = secrets.token_hex()
        self._process: asyncio.subprocess.Process | None = None
        self._log = folder / "hass.out"
        (folder / ".storage").mkdir(parents=True, exist_ok=True)
        (folder / "www").mkdir(exist_ok=True)
        (folder / "www" / TOKEN).write_text(self._token)
        if not (configuration := folder / "configuration.yaml").exists():
            configuration.write_text(CONFIGURATION.format(name=name, log_level=log_level))
        for included in INCLUDED:
            (folder / included).touch()
        (folder / ".storage" / "http").write_text(json.dumps(http_settings(host, self.port)))
        if not (onboarding := folder / ".storage" / "onboarding").exists():
            onboarding.write_text(json.dumps(ONBOARDING))
        if not (link := folder / "custom_components").exists():
            link.symlink_to(ROOT / "custom_components")

    @property
    def url(self) -> str:
        """Address of the frontend, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Everything logged since the folder was made."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    async def start(self) -> None:
        """Start Home Assistant and wait until its web server answers; it is then still setting up integrations."""
        with self._log.open("ab") as out:
            self._process = await asyncio.create_subprocess_exec(
                *(*self._program, "-c", self.folder, "--log-no-color", "--skip-pip"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # a Ctrl-C in the terminal is ours to handle
                pass_fds=self._inherited,
                preexec_fn=_die_with_parent,
            )
        try:
            async with asyncio.timeout(BOOT_TIMEOUT), ClientSession() as session:
                while not await self._answers(session):
                    await asyncio.sleep(0.1)
        except TimeoutError as err:
            raise TimeoutError(f"this house did not answer at {self.url} within {BOOT_TIMEOUT} s") from err

    async def _answers(self, session: ClientSession) -> bool:
        assert self._process
        if self._process.returncode is not None:
            raise RuntimeError(f"hass ended with {self._process.returncode}:\n{self.log[-4000:]}")
        try:
            async with session.get(f"{self.url}/local/{TOKEN}") as response:  # of this house, not of who has its port
                return response.status == 200 and await response.text() == self._token
        except ClientError:
            return False

    async def wait(self) -> int:
        """Wait until Home Assistant ends by itself, and return its exit code; 0 if it was not running."""
        return await self._process.wait() if self._process else 0

    async def stop(self) -> int:
        """Ask Home Assistant to stop, as its supervisor would; return its exit code, 0 if it was not running."""
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.returncode is not None:
            return process.returncode
        process.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(STOP_TIMEOUT):
                return await process.wait()
        except TimeoutError:
            process.kill()
            return await process.wait()

    async def kill(self) -> None:
        """End Home Assistant at once, as a power cut does: nothing is written any more."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


def _die_with_parent() -> None:
    """In the child: have Linux end this process when the one that started it is killed."""
    if _LIBC:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def problems_in(log: str) -> list[str]:
    """Return what must not be logged: errors and warnings that name us, a blocked event loop with us in its stack too."""
    found = []
    for entry in log_entries(log):
        match = _LOG_LINE.match(entry)
        if match is None or match["level"] not in ("WARNING", "ERROR", "CRITICAL"):
            continue
        named = "home_agent" in entry.replace(str(ROOT), "")  # wherever the checkout is
        if named and not all(part in entry for part in _HARMLESS):
            found.append(entry)
    return found


def log_entries(log: str) -> list[str]:
    """Return the log by entry: a traceback belongs to the line above it."""
    entries: list[str] = []
    for line in log.splitlines():
        if _LOG_LINE.match(line) or not entries:
            entries.append(line)
        else:
            entries[-1] += f"\n{line}"
    return entries
