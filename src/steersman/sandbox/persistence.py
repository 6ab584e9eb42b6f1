# SPDX-License-Identifier: Apache-2.0
"""Persistence of a cluster: all objects and the latest writes in an SQLite database in `--data`.

    write ─► Store ─journal─► waiting ─► one transaction for all that wait, in a thread ─► durable ─► answers are sent

A transaction is on disk when committed (WAL, synchronous=FULL). Callers await `durable()` before
they answer, so a crash loses no acknowledged write. Concurrent writes are coalesced.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import msgspec

from steersman import api
from steersman.api import Object, key
from steersman.base import InputError
from steersman.cluster.apiserver import storage_class
from steersman.cluster.store import Commit, Document, EventType, Store, typed
from steersman.sandbox.credentials import SandboxCredentials

FORMAT: Final = 1
DATABASE: Final = "cluster.sqlite"
LOCK: Final = "lock"
MAX_WATCH_LAG: Final = 10_000
"""Maximum number of writes that a watch may lag behind over a restart."""
MAX_AT_ONCE: Final = 2000
"""Maximum number of writes per transaction."""
OWNER_ONLY: Final = 0o700
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (
    kind TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, document BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (
    version INTEGER PRIMARY KEY, kind TEXT NOT NULL, type TEXT NOT NULL, document BLOB, old_document BLOB
);
"""


class RestoredCluster(NamedTuple):
    """Contents of the database. `now` is the last time of the cluster's clock."""

    version: int
    now: float
    objects: Sequence[tuple[type[Object], Document]]
    commits: Sequence[Commit]


class ClusterData:
    """Locked directory of one sandbox. Raises `InputError` if it cannot be used."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = _locked(directory)
        try:
            self._database = _opened(directory / DATABASE)
        except BaseException:
            self._lock.close()
            raise

    @property
    def file(self) -> Path:
        return self._directory / DATABASE

    def credentials(self, make: Callable[[], SandboxCredentials]) -> SandboxCredentials:
        """Return the credentials of the first start, so that kubeconfig files stay valid."""
        found = self._fact("credentials")
        if found is not None:
            return msgspec.json.decode(found, type=SandboxCredentials)
        made = make()
        self._note("credentials", msgspec.json.encode(made))
        return made

    @property
    def port(self) -> int:
        """Port of the last run; 0 if the cluster is new."""
        return int(self._fact("port") or 0)

    @port.setter
    def port(self, port: int) -> None:
        self._note("port", str(port).encode())

    def restore(self, declared: Iterable[type[Object]] = ()) -> RestoredCluster | None:
        """Return the stored cluster, or None. Kinds of plugins become their structs."""
        version, now = self._fact("version"), self._fact("now")
        if version is None or now is None:
            return None
        kinds = _Kinds(declared)
        try:
            rows = self._database.execute("SELECT kind, document FROM objects ORDER BY version").fetchall()
            objects = [(kinds.named(name), msgspec.json.decode(document)) for name, document in rows]
            return RestoredCluster(int(version), float(now), objects, list(self._commits(kinds)))
        except (sqlite3.DatabaseError, msgspec.MsgspecError, ValueError) as error:
            raise _damaged(self.file, error) from error

    def write(self, commits: Sequence[Commit], now: float) -> None:
        """Write a transaction; it is on disk on return."""
        with self._database as database:
            for commit in commits:
                _write(database, commit)
            newest = commits[-1].version
            database.execute("DELETE FROM history WHERE version <= ?", (newest - MAX_WATCH_LAG,))
            _set_fact(database, "version", str(newest).encode())
            _set_fact(database, "now", repr(now).encode())

    def close(self) -> None:
        self._database.close()
        self._lock.close()

    def _commits(self, kinds: _Kinds) -> Iterator[Commit]:
        query = "SELECT version, kind, type, document, old_document FROM history ORDER BY version"
        for version, name, what, document, old_document in self._database.execute(query):
            kind = kinds.named(name)
            whole = None if document is None else msgspec.json.decode(document)
            before = None if old_document is None else msgspec.json.decode(old_document)
            struct = None if whole is None else typed(whole, kind)
            if what == EventType.DELETED:
                yield Commit(version, kind, EventType.DELETED, struct, None, whole, before)
            else:
                old = None if before is None else typed(before, kind)
                yield Commit(version, kind, EventType(what), old, struct, whole, before)

    def _note(self, name: str, value: bytes) -> None:
        if self._fact(name) == value:
            return
        try:
            with self._database as database:
                _set_fact(database, name, value)
        except sqlite3.OperationalError as error:
            raise _unwritable(self.file, error) from error

    def _fact(self, name: str) -> bytes | None:
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])


class WriteJournal:
    """Writes a store's commits to disk in the background. `failed` is called if that fails."""

    def __init__(self, store: Store, data: ClusterData, failed: Callable[[Exception], None]) -> None:
        self._store = store
        self._data = data
        self._failed = failed
        self._waiting: list[Commit] = []
        self._durable = store.version
        self._is_writing = False
        self._failure: Exception | None = None
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        store.journal = self._add

    async def durable(self) -> None:
        """Return when all current contents are on disk; raise if writing failed."""
        version = self._store.version
        if self._failure is not None:
            raise self._failure
        if version > self._durable:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append((version, waiter))
            await waiter

    async def close(self) -> None:
        """Write the remaining commits and close the files."""
        self._store.journal = None
        if self._failure is None:
            await self.durable()
        self._thread.shutdown()

    def _add(self, commit: Commit) -> None:
        self._waiting.append(commit)
        if not self._is_writing and self._failure is None:
            self._is_writing = True
            # Deferred to the end of the loop iteration, so that all its writes share a transaction.
            asyncio.get_running_loop().call_soon(self._write_next)

    def _write_next(self) -> None:
        batch, self._waiting = self._waiting[:MAX_AT_ONCE], self._waiting[MAX_AT_ONCE:]
        work = asyncio.get_running_loop().run_in_executor(
            self._thread, self._data.write, batch, self._store.clock.now()
        )
        work.add_done_callback(lambda done: self._written(done, batch[-1].version))

    def _written(self, done: asyncio.Future[None], version: int) -> None:
        error = done.exception()
        if error is not None:
            self._give_up(error)
            return
        self._durable = version
        ready = [waiter for wanted, waiter in self._waiters if wanted <= version]
        self._waiters = [entry for entry in self._waiters if entry[0] > version]
        for waiter in ready:
            if not waiter.done():
                waiter.set_result(None)
        if self._waiting:
            self._write_next()
        else:
            self._is_writing = False

    def _give_up(self, error: BaseException) -> None:
        hint = "make room on the disk and start it again: it has every write that was acknowledged"
        failure = InputError(f"cannot be written any more: {error}", file=str(self._data.file), hint=hint)
        self._failure = failure
        for _, waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(failure)
        self._waiters.clear()
        self._failed(failure)


class _Kinds:
    """Classes of stored objects by their names in rows."""

    def __init__(self, declared: Iterable[type[Object]]) -> None:
        self._declared = tuple(declared)
        self._found: dict[str, type[Object]] = {}

    def named(self, name: str) -> type[Object]:
        if name not in self._found:
            api_version, kind, plural, scope = name.split(" ")
            known = storage_class(api_version.rpartition("/")[0], kind, self._declared)
            custom = api.custom_kind(api_version, kind, plural, namespaced=scope == "Namespaced")
            self._found[name] = custom if known is None else known
        return self._found[name]


def kind_name(kind: type[Object]) -> str:
    """Return the name of a kind in rows of the database."""
    return f"{kind.API_VERSION} {kind.KIND} {kind.PLURAL} {'Namespaced' if kind.NAMESPACED else 'Cluster'}"


def _write(database: sqlite3.Connection, commit: Commit) -> None:
    name, what = kind_name(commit.kind), commit.type.value
    document = msgspec.json.encode(commit.document)
    before = None if commit.old_document is None else msgspec.json.encode(commit.old_document)
    place = key(commit.new or commit.old)  # type: ignore[arg-type]  # one of them is there
    if commit.new is None:
        database.execute("DELETE FROM objects WHERE kind = ? AND key = ?", (name, place))
    else:
        values = (name, place, commit.version, document)
        database.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", values)
    database.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?)", (commit.version, name, what, document, before))


def _set_fact(database: sqlite3.Connection, name: str, value: bytes) -> None:
    database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


# -- the directory -----------------------------------------------------------------------------------------------------


def _locked(directory: Path) -> IO[str]:
    """Return a locked file; the lock ends with the process in any case."""
    try:
        directory.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
        file = open(directory / LOCK, "a+", encoding="utf-8")  # noqa: SIM115  # open until the process ends
    except OSError as error:
        raise InputError(f"cannot be used: {error.strerror}", file=str(directory)) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        owner = file.read().strip() or "unknown"
        file.close()
        hint = "end that one first, or use another directory"
        raise InputError(f"is in use by another sandbox (process {owner})", file=str(directory), hint=hint) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def _opened(file: Path) -> sqlite3.Connection:
    try:
        database = sqlite3.connect(file, isolation_level="IMMEDIATE", check_same_thread=False)
        os.chmod(file, 0o600)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        found: Any = database.execute("PRAGMA quick_check(1)").fetchone()
        if found[0] != "ok":
            raise sqlite3.DatabaseError(str(found[0]))
        written: int = database.execute("PRAGMA user_version").fetchone()[0]
        _check_format(file, written)
        if written != FORMAT:
            database.executescript(_SCHEMA)
            database.execute(f"PRAGMA user_version={FORMAT}")
    except sqlite3.OperationalError as error:
        raise _unwritable(file, error) from error
    except (sqlite3.DatabaseError, OSError) as error:
        raise _damaged(file, error) from error
    return database


def _check_format(file: Path, written: int) -> None:
    if written not in (0, FORMAT):
        message = f"was written by another version of Steersman (format {written}, this one reads {FORMAT})"
        raise InputError(message, file=str(file), hint="use that version, or another directory")


def _unwritable(file: Path, error: Exception) -> InputError:
    hint = "make room on its disk, and see whether it may be written"
    return InputError(f"cannot be written: {error}", file=str(file), hint=hint)


def _damaged(file: Path, error: Exception) -> InputError:
    hint = "move the directory away and start again, or restore it from a copy"
    return InputError(f"is damaged or no database of a sandbox: {error}", file=str(file), hint=hint)
