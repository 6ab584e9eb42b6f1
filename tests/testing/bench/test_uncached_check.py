# SPDX-License-Identifier: Apache-2.0
"""The debug mode that computes everything anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.bench.clusters import Stage, play
from tests.testing.bench.workload_texts import CREATE_NODES, MEASURED_PODS, outcome_of, pod, test_case, write

from steersman.testing.bench import WorkloadError, WorkloadVerdict
from steersman.testing.bench.operations import CreatePods
from steersman.testing.bench.workload_run import UncachedCheck

pytestmark = pytest.mark.usefixtures("frozen_past")

SPREAD = """topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}"""


def test_decisions_are_the_same_when_nothing_is_kept(tmp_path: Path) -> None:
    pods = {**MEASURED_PODS, "podTemplatePath": "pod.yaml"}
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, pods), pod=pod(SPREAD)), check_every=1)
    assert outcome.verdict is WorkloadVerdict.MEASURED
    assert outcome.notes == ("4 evaluations are the same without caches",)


def test_one_in_n_decisions_may_be_compared(tmp_path: Path) -> None:
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS)), check_every=3)
    assert outcome.notes == ("1 evaluations are the same without caches",)


def test_a_column_that_is_wrong_is_found() -> None:
    async def act(stage: Stage) -> None:
        scheduler = stage.host.scheduler
        check = UncachedCheck(scheduler)
        await stage.do(CreatePods(opcode="createPods", count=1))
        scheduler.cache.nodes.pod_count.values[0] += 1
        with pytest.raises(WorkloadError, match="the columns are not what nodes and pods make them"):
            check.finish()

    play(act)


def test_a_decision_that_differs_is_found_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steersman.scheduler.engine.columnar import ColumnarEvaluation

    monkeypatch.setattr(ColumnarEvaluation, "feasible", lambda self: [])
    outcome = outcome_of(write(tmp_path, test_case(CREATE_NODES, MEASURED_PODS)), check_every=1)
    assert outcome.verdict is WorkloadVerdict.FAILED
    assert "is evaluated differently without caches: feasible" in outcome.reason


def test_sampled_nodes_cannot_be_compared(tmp_path: Path) -> None:
    config = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 50\n"
    )
    case = test_case(CREATE_NODES, MEASURED_PODS, schedulerConfigPath="sched.yaml")
    outcome = outcome_of(write(tmp_path, case, sched=config), check_every=1)
    assert outcome.verdict is WorkloadVerdict.FAILED
    assert "percentageOfNodesToScore leaves nodes out" in outcome.reason
