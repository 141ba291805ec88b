"""A SQLite file of data that can be made again; an unreadable file is replaced. Slow: call all methods in the executor."""

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
    """A file with a schema of one version, opened with its first use, and again after an error."""

    def __init__(self, path: Path, version: int, schema: Iterable[str]) -> None:
        """Prepare; nothing is opened."""
        self.path = path
        self.generation = 0  # counts how often the file was opened: it may be another one each time
        self.ended = False  # whether the file must stay closed for late jobs
        self.lock = threading.RLock()
        self._version = version
        self._schema = tuple(schema)
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the file."""
        with self.lock, suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def delete(self) -> None:
        """Delete the file, and damaged ones that earlier releases kept. Never raises; failures are logged."""
        with self.lock:
            self.close()
            for path in self.path.parent.glob(f"{self.path.stem}.*"):
                try:
                    path.unlink(missing_ok=True)
                except OSError as err:  # such as a folder
                    LOGGER.warning("%s cannot be deleted: %s", path.name, type(err).__name__)

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Yield the open connection. Raises `StoreError`."""
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
        """Yield the connection in a transaction. Raises `StoreError`."""
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
        """Return the connection. Raises `StoreError` after the end, `sqlite3.Error` or `OSError` if it cannot be opened."""
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
        """Return what is wrong with the file, None if nothing. Raises `sqlite3.OperationalError` if that is unknown."""
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
