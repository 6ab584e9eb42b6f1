# SPDX-License-Identifier: Apache-2.0
"""A status that is no outcome at an extension point becomes a fault in upstream's words, once."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from steersman.base.errors import InputError
from steersman.framework import Depends, FilterPlugin, NodeInfo, PodInfo, ScorePlugin
from steersman.framework.plugin import invalid_score
from steersman.framework.status import Code, Status, error
from steersman.scheduler.runtime.faults import as_fault, fault
from steersman.testing import Harness, make_node, make_pod


def test_a_fault_names_point_plugin_and_cause() -> None:
    assert fault("Score", "P", ValueError("x")) == Status(
        Code.ERROR, ('running Score plugins: plugin "P" failed with: ValueError: x',), "P"
    )


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ("PreFilter", 'running PreFilter plugin "P": boom'),
        ("AddPod", 'running AddPod on PreFilter plugin "P": boom'),
        ("RemovePod", 'running RemovePod on PreFilter plugin "P": boom'),
        ("Filter", 'running "P" filter plugin: boom'),
        ("PreScore", 'running PreScore plugin "P": boom'),
        ("Score", 'running Score plugins: plugin "P" failed with: boom'),
        ("NormalizeScore", 'running Normalize on Score plugins: plugin "P" failed with: boom'),
        ("Reserve", 'running Reserve plugin "P": boom'),
        ("Bind", 'running Bind plugin "P": boom'),
    ],
)
def test_each_point_has_upstreams_words(point: str, text: str) -> None:
    assert fault(point, "P", "boom").message == text


def test_a_score_out_of_bounds_has_upstreams_words() -> None:
    assert invalid_score("P", 101).message == (
        'applying score defaultWeights on Score plugins: plugin "P" returns an invalid score 101, it should in the range of '
        "[0, 100] after normalizing"
    )


def test_a_foreign_status_is_turned_into_a_fault() -> None:
    assert as_fault("Permit", "P", error("boom")) == Status(Code.ERROR, ('running Permit plugin "P": boom',), "P")


def test_a_fault_stays_as_it_is() -> None:
    for point in ("Permit", "Filter", "Score"):
        first = fault(point, "P", "boom")
        assert as_fault(point, "P", first) is first


# -- what the log shows ------------------------------------------------------------------------------------------------


class Divides(FilterPlugin):
    name = "Divides"

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return self._ratio(pod) > 1

    def _ratio(self, pod: PodInfo) -> float:
        return pod.priority / 0


def test_a_plugin_that_raises_is_logged_with_its_own_frames(caplog: pytest.LogCaptureFixture) -> None:
    harness = Harness(plugins=[Divides], nodes=[make_node("n")])
    harness.add(make_pod("web"))

    harness.run()

    assert 'running "Divides" filter plugin: ZeroDivisionError: division by zero' in harness.message(make_pod("web"))
    record = next(r for r in caplog.records if "Divides" in r.getMessage())
    assert record.getMessage() == 'plugin "Divides" raised at Filter'
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    frames = traceback.extract_tb(record.exc_info[2])
    assert [(Path(frame.filename).name, frame.name) for frame in frames] == [
        ("test_faults.py", "filter"),
        ("test_faults.py", "_ratio"),
    ]


def test_a_plugin_that_raises_for_every_node_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    class ForEveryNode(ScorePlugin):
        name = "ForEveryNode"
        depends = Depends.NODE

        def score(self, pod: PodInfo, node: NodeInfo) -> int:
            raise KeyError(node.name)

    harness = Harness(plugins=[ForEveryNode], nodes=[make_node(f"n{n}") for n in range(50)])
    harness.add(make_pod("web"))

    harness.run()

    assert [r.getMessage() for r in caplog.records] == ['plugin "ForEveryNode" raised at Score']


def test_an_error_for_users_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert fault("Bind", "P", InputError("is taken")).message == 'running Bind plugin "P": InputError: is taken'
    assert caplog.records == []
