"""What one demo house has for itself: its folder and its port."""

from collections.abc import Generator
from contextlib import contextmanager
import errno
import fcntl
import os
from pathlib import Path
import socket
import time

from tests.e2e.process import ROOT
from tests.ports import free_port

LOCK_TIMEOUT = 2  # seconds: a house whose script was killed is about to end
PORT = 8123
"""The one that everybody knows."""


class TakenError(Exception):
    """Somebody else has it; the text is for whoever started the script."""


@contextmanager
def locked(folder: Path) -> Generator[int]:
    """Hold the lock of a house's folder; yield its file, for the house to hold it as well. Raises `TakenError`.

    The lock lies elsewhere: a new house begins with deleting the old one's folder.
    """
    path = ROOT / ".cache" / f"{folder.name.removeprefix('.')}.lock"
    path.parent.mkdir(exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _locks(descriptor):
            owner = path.read_text().strip() or "unknown"
            raise TakenError(
                f"another Home Assistant runs in {folder.name}, started by process {owner}: end that first"
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _locks(descriptor: int) -> bool:
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        else:
            return True


def choose_port(host: str, wanted: int) -> int:
    """Return the wanted port, or without one `PORT` or any that is free. Raises `TakenError`."""
    try:
        _try_port(host, wanted or PORT)
    except OSError as err:
        if not wanted and err.errno == errno.EADDRINUSE:
            return free_port()
        at = f"{host}:{wanted or PORT}"
        what = "is in use" if err.errno == errno.EADDRINUSE else f"cannot be listened on: {err.strerror or err}"
        raise TakenError(f"{at} {what}") from err
    return wanted or PORT


def _try_port(host: str, port: int) -> None:
    """Take the port for a moment, as a web server would. Raises `OSError`."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
