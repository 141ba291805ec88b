"""One SQLite file that is never in the way: what cannot be read is set aside under another name and begun anew.

Everything here waits for the disk: it runs in the executor. Written so that a crash at any moment leaves either the
state before a change or the one after it.
"""

from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
import sqlite3
import threading
from typing import Any

from ..const import LOGGER
from ..errors import StoreError

BUSY_TIMEOUT = 1.0  # seconds that another program may keep the file locked
DAMAGED, EMPTY, NEWER = "damaged", "empty", "newer"

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_COMPANIONS = ("", "-wal", "-shm")


class Database:
    """A file with a schema of one version, opened when it is first needed, and again after it went wrong."""

    def __init__(self, path: Path, version: int, schema: Iterable[str], rescue: tuple[str, ...] = ()) -> None:
        """Remember what it has to look like. Rows of the tables to `rescue` are taken over from a damaged file."""
        self.path = path
        self.has_set_aside = True
        """Whether there may be files that were set aside and that the owner was not told of."""
        self.generation = 0
        """Counts up whenever another file takes the place of the one before."""
        self.ended = False
        """Whether nobody may open the file any more, however late a job comes."""
        self.lock = threading.RLock()
        self._version = version
        self._schema = tuple(schema)
        self._rescue = rescue
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Let go of the file."""
        with self.lock, suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def delete(self) -> None:
        """Delete the file and whatever was set aside of it. Never raises: what cannot be deleted is logged."""
        with self.lock:
            self.close()
            for path in (self.path, *(self.path.with_name(name) for name, _ in self.set_aside())):
                for companion in _COMPANIONS:
                    try:
                        path.with_name(path.name + companion).unlink(missing_ok=True)
                    except OSError as err:  # a folder that somebody put in its place
                        LOGGER.warning("%s cannot be deleted: %s", path.name + companion, type(err).__name__)

    def set_aside(self) -> list[tuple[str, str]]:
        """Return name and reason of files that were set aside, as long as they are there, whoever did it and when."""
        reasons = (DAMAGED, EMPTY, NEWER)
        found = {reason: self.path.parent.glob(f"{self.path.stem}.{reason}-*{self.path.suffix}") for reason in reasons}
        return [(path.name, reason) for reason, paths in found.items() for path in sorted(paths)]

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """Give the connection, opened if need be. Raises `StoreError`."""
        with self.lock, self._translated():
            yield self._opened()

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Give the connection within a transaction: all of it is kept, or nothing. Raises `StoreError`."""
        with self.lock, self._translated():
            connection = self._opened()
            if not self.path.exists():
                connection = self._restore(connection)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except sqlite3.DatabaseError as err:
            if _code(err) in _DAMAGE:  # found while in use: the next call begins with what can be rescued
                LOGGER.warning("%s is damaged", self.path.name)
                self.close()
                self._put_aside(DAMAGED)
                self._opened()
            raise self._error(err) from err
        except OSError as err:
            raise StoreError("store_file", store=self.path.name, detail=type(err).__name__) from err

    def _error(self, err: sqlite3.Error) -> StoreError:
        key = "store_locked" if _code(err) in _LOCKED else "store_file"
        return StoreError(key, store=self.path.name, detail=getattr(err, "sqlite_errorname", type(err).__name__))

    def _opened(self) -> sqlite3.Connection:
        if self.ended:
            raise StoreError("store_file", store=self.path.name, detail="closed")
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if reason := self._fault():
                self._put_aside(reason)
            self._connection = self._connect()
        return self._connection

    def _fault(self) -> str | None:
        """Return why the file cannot be used. Raises `sqlite3.OperationalError` when nobody can tell now."""
        if not self.path.exists():
            return None
        if not self.path.stat().st_size:
            return EMPTY
        try:
            with closing(self._plain()) as connection:
                if connection.execute("PRAGMA user_version").fetchone()[0] > self._version:
                    return NEWER
                sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
        except sqlite3.DatabaseError as err:
            if _code(err) not in _DAMAGE:
                raise
            sound = False
        return None if sound else DAMAGED

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

    def _restore(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Write the file anew that somebody deleted while it was open: the system keeps it until it is closed."""
        LOGGER.warning("%s was deleted while in use and is written again", self.path.name)
        for companion in _COMPANIONS[1:]:
            self.path.with_name(self.path.name + companion).unlink(missing_ok=True)
        try:
            connection.execute("VACUUM INTO ?", (str(self.path),))
        finally:
            self.close()
        return self._opened()

    def _put_aside(self, reason: str) -> None:
        """Rename the file with the time of day, and take over what can be read of it unless a newer version wrote it."""
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
        kept_as = self.path.with_name(f"{self.path.stem}.{reason}-{stamp}{self.path.suffix}")
        for companion in _COMPANIONS:
            with suppress(FileNotFoundError):
                self.path.with_name(self.path.name + companion).rename(kept_as.with_name(kept_as.name + companion))
        rescued = 0
        if reason == DAMAGED:
            with closing(self._connect()) as new:
                rescued = sum(_rescue(kept_as, new, table) for table in self._rescue)
        self.generation += 1
        LOGGER.warning("%s is %s; kept as %s, %s rows rescued", self.path.name, reason, kept_as.name, rescued)
        self.has_set_aside = True


def _rescue(old: Path, new: sqlite3.Connection, table: str) -> int:
    """Copy the rows of a table that can still be read, one by one; return how many."""
    count = 0
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{old.as_uri()}?mode=ro", uri=True)) as damaged:
        damaged.execute("PRAGMA writable_schema=ON")  # reads a file that is shorter than it says
        for row in _rows(damaged, table):
            with suppress(sqlite3.Error):
                new.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - our own names
                count += 1
    return count


def _rows(damaged: sqlite3.Connection, table: str) -> Generator[tuple[Any, ...]]:
    """Yield the rows of a damaged table, forwards until the first that cannot be read, then backwards."""
    first_unread = 0
    with suppress(sqlite3.Error):
        for number, *row in damaged.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid"):  # noqa: S608
            first_unread = number + 1
            yield tuple(row)
        return
    with suppress(sqlite3.Error):
        query = f"SELECT * FROM {table} WHERE rowid >= ? ORDER BY rowid DESC"  # noqa: S608
        yield from damaged.execute(query, (first_unread,))


def _code(err: sqlite3.Error) -> int:
    return getattr(err, "sqlite_errorcode", 0) & 0xFF
