# SPDX-License-Identifier: Apache-2.0
"""`steersman sweep --ray` on a real Ray cluster of two nodes, one of which is killed in the middle.

Ray is installed beside Steersman (`.venv-ray`), so that what it needs does not mix with what Steersman is tested with.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.e2e.sweep.ray_cluster import RayCluster, environment
from tests.sweep.sweeps import objects, write_sweep

FILES = ("manifest.json", "results.parquet")
SECONDS = 300.0


@pytest.fixture(scope="module")
def python() -> str:
    found = os.environ.get("RAY_PYTHON", "")
    if not found and os.environ.get("CI") != "true":
        pytest.skip("`make e2e` installs Ray and sets RAY_PYTHON")
    return found


@pytest.fixture
def cluster(python: str) -> Iterator[RayCluster]:
    with RayCluster(python) as running:
        yield running


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty runs of a few tenths of a second, in a folder that workers need not see: it has no name that they know."""
    folder = tmp_path_factory.mktemp("sweep")
    path = write_sweep(folder, seeds=20)
    (folder / "cluster.yaml").write_text(yaml.safe_dump_all(objects(nodes=200, pods=3000)))
    return path


@pytest.fixture(scope="module")
def local(python: str, sweep: Path) -> list[bytes]:
    """The results of this machine's own cores."""
    finished(started(python, sweep, "local", "--workers", "1"))
    return contents(sweep.with_name("local"))


def started(python: str, sweep: Path, output: str, *options: str) -> subprocess.Popen[str]:
    command = [python, "-m", "steersman", "sweep", str(sweep), "--output", str(sweep.with_name(output)), *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(), process_group=0
    )


def finished(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, said
    return said


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def workers(journal: Path) -> list[int]:
    """The processes of the runs that are done, in the order in which they were."""
    lines = journal.read_text().splitlines()[1:] if journal.exists() else []
    return [
        int(json.loads(line.partition(" ")[2])["worker"].rpartition(":")[2]) for line in lines if line.endswith("}")
    ]


def wait_for_runs(process: subprocess.Popen[str], journal: Path, is_enough: object) -> None:
    assert callable(is_enough)
    while not is_enough(workers(journal)):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)


def interrupted(python: str, cluster: RayCluster, sweep: Path) -> str:
    """Interrupt a sweep after its third run and return its output. On a busy machine a sweep may end before the
    signal arrives; it is started again then."""
    for _ in range(5):
        process = started(python, sweep, "moved", "--ray", cluster.address)
        wait_for_runs(process, sweep.with_name("moved") / "journal.jsonl", lambda done: len(done) >= 3)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=SECONDS)
        if process.returncode != 0:
            break
        shutil.rmtree(sweep.with_name("moved"))
    assert process.returncode == 130, said
    return said


def test_results_are_the_same_bytes_when_a_node_dies_in_the_middle(
    python: str, cluster: RayCluster, sweep: Path, local: list[bytes]
) -> None:
    head, other = cluster.nodes
    process = started(python, sweep, "killed", "--ray", cluster.address)
    journal = sweep.with_name("killed") / "journal.jsonl"
    wait_for_runs(process, journal, lambda done: any(map(other.has, done)) and any(map(head.has, done)))
    lost = set(filter(other.has, workers(journal)))
    other.kill()
    before = len(workers(journal))
    finished(process)
    assert before < 38
    assert len(workers(journal)) == 40
    assert not lost & set(workers(journal)[before + 2 :])
    assert contents(sweep.with_name("killed")) == local


def test_a_sweep_that_was_interrupted_on_ray_goes_on_here(
    python: str, cluster: RayCluster, sweep: Path, local: list[bytes]
) -> None:
    said = interrupted(python, cluster, sweep)
    # Ray itself may say a line of its own while the driver leaves.
    assert any(line.startswith("Error: interrupted; what is done is in ") for line in said.splitlines()), said
    finished(started(python, sweep, "moved", "--workers", "2", "--resume"))
    assert contents(sweep.with_name("moved")) == local


def test_an_address_where_no_cluster_is_gets_one_line(python: str, sweep: Path) -> None:
    process = started(python, sweep, "nowhere", "--ray", "127.0.0.1:1")
    said, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 2
    assert said == (
        "Error: --ray: no Ray cluster answers: [Errno 111] Connection refused "
        '(got "127.0.0.1:1"); start one with `ray start --head`, or give the HOST:PORT of one\n'
    )
    assert not sweep.with_name("nowhere").exists()
