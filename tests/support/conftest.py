"""What the tests of requests share with those of tools that make them, and a disk that is full."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
import errno

import pytest

from tests.tools.custom.conftest import run, server, write_yaml

__all__ = ["run", "server", "write_yaml"]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """Return what fills the disk while it is entered: the one failure that no test can make happen."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    @contextmanager
    def fill() -> Iterator[None]:
        with monkeypatch.context() as patched:
            patched.setattr("homeassistant.util.file.AtomicWriter", full)
            yield

    return fill
