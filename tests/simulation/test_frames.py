# SPDX-License-Identifier: Apache-2.0
"""Results as tables: CSV, Parquet, Arrow, and what is said where a library is missing. tests/e2e/notebook has the others."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.simulation.clusters import a_pod, nodes, pods

from steersman import Result, Simulation
from steersman.base.errors import InputError, SteersmanError
from steersman.simulation.results.frames import NO_LIBRARY, TABLES


@pytest.fixture
def result() -> Result:
    return Simulation.load(nodes("a", "b"), pods(3), a_pod("huge", "64").obj()).run()


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_placements_have_a_row_per_pod(result: Result) -> None:
    rows = rows_of(result.to_csv())
    assert [(row["pod"], row["namespace"], row["name"], row["is_pending"]) for row in rows] == [
        ("default/pod-0", "default", "pod-0", "False"),
        ("default/pod-1", "default", "pod-1", "False"),
        ("default/pod-2", "default", "pod-2", "False"),
        ("default/huge", "default", "huge", "True"),
    ]
    assert {row["node"] for row in rows} == {"a", "b", ""}
    assert rows[3]["reason"] == "Unschedulable"


def test_placements_have_the_times_requests_and_priority_of_each_pod() -> None:
    first = a_pod("first", "3").annotation("steersman.dev/run-seconds", "60").priority(7).obj()
    simulation = Simulation.load(nodes("a"), first, a_pod("huge", "64").obj())
    simulation.run(until=20.25)
    second = a_pod("second", "3").annotation("steersman.dev/run-seconds", "30").obj()
    rows = {row["name"]: row for row in rows_of(simulation.add(second).run().to_csv())}
    columns = ("created", "bound_at", "finished", "priority", "cpu", "memory")
    assert [rows["first"][name] for name in columns] == ["0.0", "0.0", "60.0", "7", "3000", str(128 * 2**20)]
    assert [rows["second"][name] for name in columns[:4]] == ["20.25", "60.0", "90.0", "0"]
    assert (rows["huge"]["finished"], rows["huge"]["requests"]) == ("", '{"cpu":64000,"memory":134217728}')


def test_pods_made_by_controllers_have_the_time_of_their_creation() -> None:
    simulation = Simulation.load(nodes("a"))
    simulation.run(until=5.5)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    simulation.add({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec})
    assert [each.created for each in simulation.run().placements.values()] == [5.5]


def test_namespaces_are_summed_up_and_compared_by_jains_index() -> None:
    """Two pods of a minute each on one node: the second one waits for the first."""
    both = [a_pod("p", "3").namespace(name).annotation("steersman.dev/run-seconds", "60").obj() for name in ("x", "y")]
    result = Simulation.load(nodes("a"), both).run()
    rows = rows_of(result.to_csv(table="namespaces"))
    columns = ("namespace", "finished", "wait_mean", "slowdown_mean", "served", "cpu_seconds")
    assert [[row[name] for name in columns] for row in rows] == [
        ["x", "1", "0.0", "1.0", "1.0", "180.0"],
        ["y", "1", "60.0", "2.0", "0.5", "180.0"],
    ]
    assert result.makespan == 120
    assert (result.jain_index("cpu_seconds"), result.jain_index()) == (1.0, 0.9)
    with pytest.raises(InputError, match="is not a number of a namespace"):
        result.jain_index("colour")


def test_utilisation_has_a_row_per_node_and_resource(result: Result) -> None:
    rows = rows_of(result.to_csv(table="utilisation"))
    assert {(row["node"], row["resource"]) for row in rows} == {
        (node, resource) for node in "ab" for resource in ("cpu", "memory", "pods")
    }
    cpu = sum(int(row["requested"]) for row in rows if row["resource"] == "cpu")
    assert cpu == 3000


def test_series_have_a_row_per_moment_and_value() -> None:
    """One pod ends after a minute, and makes room for the other."""
    long = a_pod("first", "3").annotation("steersman.dev/run-seconds", "60").obj()
    result = Simulation.load(nodes("a"), long, a_pod("second", "3").obj()).run()
    rows = rows_of(result.to_csv(table="series"))
    cpu = [
        float(row["value"]) for row in rows if (row["measure"], row["pool"], row["of"]) == ("utilisation", "", "cpu")
    ]
    assert len(cpu) == len(result.series.times) >= 2
    assert max(cpu) == 0.75
    assert {row["measure"] for row in rows} >= {"utilisation", "pending", "lanes", "waiting", "preemptions", "cost"}


def test_a_csv_file_holds_what_is_returned(result: Result, tmp_path: Path) -> None:
    text = result.to_csv(tmp_path / "events.csv", "events")
    assert (tmp_path / "events.csv").read_text() == text
    assert {row["reason"] for row in rows_of(text)} == {"Scheduled", "FailedScheduling"}


@pytest.mark.parametrize("table", TABLES)
def test_parquet_is_read_back_as_the_arrow_table(result: Result, tmp_path: Path, table: str) -> None:
    result.to_parquet(tmp_path / "t.parquet", table)
    assert parquet.read_table(tmp_path / "t.parquet").equals(result.to_frame(table, "pyarrow"))
    first = (tmp_path / "t.parquet").read_bytes()
    result.to_parquet(tmp_path / "t.parquet", table)
    assert (tmp_path / "t.parquet").read_bytes() == first


def test_a_table_without_rows_has_the_same_types(result: Result) -> None:
    empty = Simulation.load(nodes("a")).run()
    for table in TABLES:
        assert empty.to_frame(table, "pyarrow").schema == result.to_frame(table, "pyarrow").schema


def test_a_table_that_there_is_not_is_named_with_those_that_there_are(result: Result) -> None:
    with pytest.raises(InputError) as refusal:
        result.to_csv(table="pods")
    assert str(refusal.value) == (
        'is not a table of a result (got "pods"); use one of placements, namespaces, utilisation, events, preempted, series'
    )


def test_an_unknown_library_is_refused(result: Result) -> None:
    with pytest.raises(InputError, match="is not a library for data frames"):
        result.to_frame(library="excel")


def test_a_file_that_cannot_be_written_is_bad_input(result: Result, tmp_path: Path) -> None:
    for write in (result.to_csv, result.to_parquet):
        with pytest.raises(InputError, match="nowhere/t: cannot be written"):
            write(tmp_path / "nowhere" / "t")


def test_without_a_library_the_error_says_what_to_install(result: Result) -> None:
    """The environment of the tests has neither pandas nor polars."""
    with pytest.raises(SteersmanError, match=NO_LIBRARY):
        result.to_frame()
    with pytest.raises(SteersmanError, match="polars is not installed; pip install polars"):
        result.to_frame(library="polars")
