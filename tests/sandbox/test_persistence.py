# SPDX-License-Identifier: Apache-2.0
"""A cluster on disk: everything comes back, nothing that was acknowledged is lost, and a bad directory is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.errors import InputError
from steersman.cluster.store import KubeAdmission, Store
from steersman.cluster.store.documents import typed
from steersman.sandbox.credentials import new_credentials
from steersman.sandbox.persistence import DATABASE, ClusterData, WriteJournal
from steersman.testing import make_pod

Widget = api.custom_kind("example.com/v1", "Widget", "widgets", namespaced=False)


def store() -> Store:
    return Store(ManualClock(1000.0), admission=KubeAdmission(), keeps_documents=True)


def filled(directory: Path) -> Store:
    """A store whose writes are in the directory."""

    async def run() -> Store:
        data, made = ClusterData(directory), store()
        journal = WriteJournal(made, data, lambda error: pytest.fail(str(error)))
        document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": {"hostAliases": [{"ip": "1"}]},
        }
        made.create(typed(document, api.Pod), document)
        made.create(make_pod("b").obj())
        made.delete(api.Pod, "default/b")
        made.create(Widget(metadata=api.ObjectMeta(name="w"), spec={"size": 3}))
        await journal.close()
        data.close()
        return made

    return asyncio.run(run())


def restored(directory: Path) -> Store:
    data, made = ClusterData(directory), store()
    found = data.restore()
    assert found is not None
    made.restore(found.version, ((typed(document, kind), document) for kind, document in found.objects), found.commits)
    data.close()
    return made


def test_objects_versions_and_history_come_back(tmp_path: Path) -> None:
    before = filled(tmp_path)
    after = restored(tmp_path)
    assert after.resource_version == before.resource_version
    for kind in (api.Pod, api.Namespace, Widget):
        assert after.documents(kind) == before.documents(kind)
        assert after.objects(kind) == before.objects(kind)
    told = [(commit.version, commit.type, commit.document) for commit in after.commits_since(1)]
    assert told == [(commit.version, commit.type, commit.document) for commit in before.commits_since(1)]
    assert after.create(make_pod("c").obj()).metadata.resource_version == str(before.version + 1)


def test_an_empty_directory_holds_nothing(tmp_path: Path) -> None:
    data = ClusterData(tmp_path / "new")
    assert data.restore() is None
    data.close()


def test_credentials_stay(tmp_path: Path) -> None:
    first = ClusterData(tmp_path)
    made = first.credentials(lambda: new_credentials("127.0.0.1"))
    first.close()
    second = ClusterData(tmp_path)
    assert second.credentials(lambda: pytest.fail("they are there")) == made
    second.close()


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    first = ClusterData(tmp_path)
    with pytest.raises(InputError, match="is in use by another sandbox"):
        ClusterData(tmp_path)
    first.close()
    ClusterData(tmp_path).close()


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 500])
def test_a_damaged_file_is_reported(tmp_path: Path, damage: bytes) -> None:
    filled(tmp_path)
    file = tmp_path / DATABASE
    whole = file.read_bytes()
    file.write_bytes(damage + whole[len(damage) or 4096 :] if damage else whole[: len(whole) // 2 - 100])
    with pytest.raises(InputError, match="damaged"):
        ClusterData(tmp_path).restore()


def test_an_answer_waits_until_its_write_is_on_disk(tmp_path: Path) -> None:
    async def run() -> None:
        data, made = ClusterData(tmp_path), store()
        journal = WriteJournal(made, data, lambda error: pytest.fail(str(error)))
        made.create(make_pod("a").obj())
        waiting = asyncio.ensure_future(journal.durable())
        await asyncio.sleep(0)
        assert not waiting.done()
        await waiting
        reader = ClusterDataReader(tmp_path)
        assert reader.keys() == {"default", "default/a"}
        await journal.close()
        data.close()

    asyncio.run(run())


class ClusterDataReader:
    """Reads the database beside the process that has it."""

    def __init__(self, directory: Path) -> None:
        import sqlite3

        self._database = sqlite3.connect(directory / DATABASE)

    def keys(self) -> set[str]:
        found = {row[0] for row in self._database.execute("SELECT key FROM objects")}
        self._database.close()
        return found


def test_a_disk_that_cannot_be_written_ends_the_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        data, made, told = ClusterData(tmp_path), store(), list[Exception]()
        journal = WriteJournal(made, data, told.append)

        def full(*_: object) -> None:
            raise OSError("no space left on device")

        monkeypatch.setattr(data, "write", full)
        made.create(make_pod("a").obj())
        with pytest.raises(InputError, match="no space left"):
            await journal.durable()
        assert "no space left" in str(told[0])
        await journal.close()
        data.close()

    asyncio.run(run())


def test_a_start_on_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    data = ClusterData(tmp_path)
    data._database.execute("PRAGMA max_page_count=1")
    with pytest.raises(InputError, match="cannot be written: database or disk is full; make room"):
        data.credentials(lambda: new_credentials("127.0.0.1"))
    data.close()
