# SPDX-License-Identifier: Apache-2.0
"""The files that upstream's dashboard reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.testing.bench.workload_texts import CREATE_NODES, MEASURED_PODS, outcome_of, test_case, write

from steersman.base.errors import InputError
from steersman.testing.bench import write_data_items


class Written(NamedTuple):
    """A file of data items: its name, and what is in it."""

    name: str
    document: dict[str, Any]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("measured")
    topic = folder / "misc"
    topic.mkdir()
    case = test_case(CREATE_NODES, MEASURED_PODS, workloads=[{"name": "small", "threshold": 7}])
    (file,) = write_data_items([outcome_of(write(topic, case))], str(folder / "out"), now=0.0)
    return Written(Path(file).name, json.loads(Path(file).read_text()))


def items_of(document: dict[str, Any], metric: str) -> list[dict[str, Any]]:
    return [item for item in document["dataItems"] if item["labels"]["Metric"] == metric]


def test_a_file_is_named_by_its_topic_and_time(written: Written) -> None:
    assert written.name == "BenchmarkPerfScheduling_benchmark_misc_1970-01-01T00:00:00Z.json"
    assert written.document["version"] == "v1"


def test_throughput_comes_with_percentiles_and_threshold(written: Written) -> None:
    (item,) = items_of(written.document, "SchedulingThroughput")
    assert item["unit"] == "pods/s"
    assert item["labels"]["Name"] == "BenchmarkPerfScheduling/Case/small/namespace-1"
    assert set(item["data"]) == {"Average", "Perc50", "Perc90", "Perc95", "Perc99", "AverageThreshold"}
    assert item["data"]["AverageThreshold"] == 7


def test_latencies_are_distinguished_by_labels_and_all_items_have_all_labels(written: Written) -> None:
    points = items_of(written.document, "scheduler_framework_extension_point_duration_seconds")
    assert {item["labels"]["extension_point"] for item in points} >= {"Filter", "Score"}
    (throughput,) = items_of(written.document, "SchedulingThroughput")
    assert throughput["labels"]["extension_point"] == "not applicable"
    assert len({tuple(item["labels"]) for item in written.document["dataItems"]}) == 1


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match="file: cannot be written"):
        write_data_items([], str(blocked), now=0.0)
