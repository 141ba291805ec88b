"""One SQLite file of what can be made again: a file that cannot be read is deleted and begun anew.

Everything here waits for the disk: it runs in the executor. Written so that a crash at any moment leaves either the
state before a change or the one after it.
"""

from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from pathlib import Path
import sqlite3
import threading

from ..support.const import LOGGER
from ..support.errors import StoreError

BUSY_TIMEOUT = 1.0  # seconds that another program may keep the file locked

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class Database:
    """A file with a schema of one version, opened when it is first needed, and again after it went wrong."""

    def __init__(self, path: Path, version: int, schema: Iterable[str]) -> None:
        """Remember what it has to look like."""
        self.path = path
        self.generation = 0
        """Counts up whenever the file is opened: it may be another one than before."""
        self.ended = False
        """Whether the file stays closed, however late a job comes."""
        self.lock = threading.RLock()
        self._version = version
        self._schema = tuple(schema)
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Let go of the file."""
        with self.lock, suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def delete(self) -> None:
        """Delete the file, and what earlier releases kept of damaged ones. Never raises: what stays is logged."""
        with self.lock:
            self.close()
            for path in self.path.parent.glob(f"{self.path.stem}.*"):
                try:
                    path.unlink(missing_ok=True)
                except OSError as err:  # a folder stands in its place
                    LOGGER.warning("%s cannot be deleted: %s", path.name, type(err).__name__)

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Give the connection, opened if need be. Raises `StoreError`."""
        with self.lock:
            try:
                yield self._opened()
            except sqlite3.DatabaseError as err:
                code = _code(err)
                if code in _DAMAGE:  # found while in use: the next call begins with an empty file
                    with suppress(OSError):
                        self._discard("damaged")
                key = "store_locked" if code in _LOCKED else "store_file"
                detail = getattr(err, "sqlite_errorname", type(err).__name__)
                raise StoreError(key, store=self.path.name, detail=detail) from err
            except OSError as err:
                raise StoreError("store_file", store=self.path.name, detail=type(err).__name__) from err

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Give the connection within a transaction: all of it is kept, or nothing. Raises `StoreError`."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        """Return the connection. Raises `StoreError` after the end, `sqlite3.Error` or `OSError` when it cannot be had."""
        if self.ended:
            raise StoreError("store_file", store=self.path.name, detail="closed")
        if self._connection is not None and not self.path.exists():
            self._discard("gone")
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and (fault := self._fault()):
                self._discard(fault)
            self._connection = self._connect()
            self.generation += 1
        return self._connection

    def _fault(self) -> str | None:
        """Return what is wrong with the file. Raises `sqlite3.OperationalError` when that cannot be told now."""
        try:
            with closing(self._plain()) as connection:
                if connection.execute("PRAGMA user_version").fetchone()[0] > self._version:
                    return "of a newer version"
                if connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok":
                    return None
        except sqlite3.DatabaseError as err:
            if _code(err) not in _DAMAGE:
                raise
        return "damaged"

    def _discard(self, fault: str) -> None:
        LOGGER.warning("%s is %s and is made anew", self.path.name, fault)
        self.close()
        for companion in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + companion).unlink(missing_ok=True)

    def _plain(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)

    def _connect(self) -> sqlite3.Connection:
        connection = self._plain()
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in self._schema:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={self._version:d}")
            connection.execute("COMMIT")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _code(err: sqlite3.Error) -> int:
    return getattr(err, "sqlite_errorcode", 0) & 0xFF
