"""A house has its folder and its port for itself, and does not outlive the script that started it."""

import asyncio
import os
from pathlib import Path
import signal
import socket
import sys

import pytest

from scripts import _exclusive
from scripts._exclusive import PORT, TakenError, choose_port, locked

from .process import ROOT, HassProcess

HOST = "127.0.0.1"
SCRIPT = """
import asyncio, sys
from pathlib import Path
from tests.e2e.process import HassProcess

async def main():
    house = HassProcess(Path(sys.argv[1]))
    await house.start()
    print(house._process.pid, flush=True)
    await house.wait()

asyncio.run(main())
"""


def test_folder_is_taken_as_long_as_its_lock_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_exclusive, "ROOT", tmp_path)
    monkeypatch.setattr(_exclusive, "LOCK_TIMEOUT", 0)
    folder = tmp_path / ".house"
    with locked(folder), pytest.raises(TakenError, match=rf"\.house.*process {os.getpid()}"), locked(folder):
        pass
    with locked(folder):
        pass


def test_busy_port_is_refused_when_it_was_asked_for() -> None:
    with socket.create_server((HOST, 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(TakenError, match=f"{HOST}:{port} is in use"):
            choose_port(HOST, port)
    assert choose_port(HOST, port) == port


def test_another_port_is_found_when_the_usual_one_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as busy:
        monkeypatch.setattr(_exclusive, "PORT", busy.getsockname()[1])
        assert choose_port(HOST, 0) not in (0, PORT, _exclusive.PORT)


def test_address_of_another_machine_is_refused() -> None:
    with pytest.raises(TakenError, match=r"192\.0\.2\.1"):
        choose_port("192.0.2.1", 0)


async def test_house_does_not_mistake_another_for_itself(tmp_path: Path) -> None:
    first, second = HassProcess(tmp_path / "first"), HassProcess(tmp_path / "second")
    await first.start()
    second.port = first.port
    try:
        with pytest.raises((RuntimeError, TimeoutError)):
            async with asyncio.timeout(2):
                await second.start()
    finally:
        await second.stop()
        await first.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child")
async def test_house_ends_with_a_script_that_was_killed(tmp_path: Path) -> None:
    script = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SCRIPT, tmp_path), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert script.stdout
    house = int(await script.stdout.readline())
    script.send_signal(signal.SIGKILL)
    await script.wait()
    async with asyncio.timeout(5):
        while runs(house):
            await asyncio.sleep(0.05)


def runs(pid: int) -> bool:
    """Return whether a process is there and not only its remains."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
