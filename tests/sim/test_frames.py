# SPDX-License-Identifier: Apache-2.0
"""Results as tables: CSV, Parquet, Arrow, and what is said where a library is missing. tests/e2e/notebook has the others."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.sim.clusters import a_pod, nodes, pods

from steersman import Result, Simulation
from steersman.errors import InputError, SteersmanError
from steersman.sim.frames import NO_LIBRARY, TABLES


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
        'is no table of a result (got "pods"); use one of placements, utilisation, events, preempted, series'
    )


def test_a_library_that_nobody_knows_is_refused(result: Result) -> None:
    with pytest.raises(InputError, match="is no library for data frames"):
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
