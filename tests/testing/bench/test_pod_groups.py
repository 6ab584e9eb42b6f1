# SPDX-License-Identifier: Apache-2.0
"""`createPodGroups`, and pods that are members."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.testing.bench.clusters import Stage, play

from steersman.base.errors import InputError
from steersman.testing.bench import BenchOptions, WorkloadVerdict, load, prepare, run, select
from steersman.testing.bench.operations import CreatePodGroups

GROUP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: "gang-{{.Index}}"}
spec: {schedulingPolicy: {gang: {minCount: {{.size}}}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: "pod-{{.Index}}"}
spec:
  schedulingGroup: {podGroupName: "gang-{{DivideInt .Index .size}}"}
  containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]
"""
WORKLOAD = """
- name: Gangs
  featureGates: {GenericWorkload: true}
  workloadTemplate:
  - {opcode: createNodes, count: 4}
  - opcode: createPodGroups
    countParam: $groups
    namespace: gangs
    templatePath: group.yaml
    templateParams: {size: $size}
  - opcode: createPods
    countParam: $groups
    countMultiplierParam: $size
    namespace: gangs
    podTemplatePath: pod.yaml
    templateParams: {size: $size}
    signatureBatchSize: 2
    collectMetrics: true
  workloads:
  - {name: few, params: {groups: 3, size: 4}}
"""


def test_gangs_are_scheduled_by_a_workload(tmp_path: Path) -> None:
    for name, text in (("group.yaml", GROUP), ("pod.yaml", POD), ("performance-config.yaml", WORKLOAD)):
        (tmp_path / name).write_text(text)
    (selected,) = select(load(str(tmp_path / "performance-config.yaml")))
    outcome = run(prepare(selected, BenchOptions(emulated_version="1.37", check_every=1)))
    assert (outcome.verdict, outcome.reason) == (WorkloadVerdict.MEASURED, "")
    assert outcome.measurements[0].throughput.pods == 12


def test_groups_without_their_feature_gate_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(GROUP)
    operation = CreatePodGroups(
        opcode="createPodGroups",
        count=1,
        namespace="gangs",
        template_path=str(tmp_path / "group.yaml"),
        template_params={"size": 2},
    )

    async def act(stage: Stage) -> None:
        with pytest.raises(InputError, match="GenericWorkload is off"):
            await stage.do(operation)

    play(act)
