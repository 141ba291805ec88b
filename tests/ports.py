"""Ports for servers that are told theirs before they start."""

from contextlib import suppress
import secrets
import socket

FIRST, END = 15_000, 32_000
"""Below those that Linux gives to outgoing connections (32768 to 60999 by default): none of these takes one meanwhile."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that was free a moment ago. Raises `OSError` where none can be had."""
    for _ in range(100):
        port = FIRST + secrets.randbelow(END - FIRST)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port
    raise OSError(f"no free port from {FIRST} to {END}")
