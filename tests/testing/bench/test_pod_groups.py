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

CLAIM = "resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]"
OBJECTS = {
    "node.yaml": """
apiVersion: v1
kind: Node
metadata: {name: "node-{{.Index}}"}
status: {capacity: {cpu: "32", memory: 32Gi, pods: "110"}, allocatable: {cpu: "32", memory: 32Gi, pods: "110"}}
""",
    "class.yaml": "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}",
    "slice.yaml": """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: gpus}
spec:
  {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, allNodes: true, devices: [{name: a}, {name: b}]}
""",
    "claim.yaml": """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
""",
    "group.yaml": GROUP.replace("spec: {", "spec: {" + CLAIM + ", "),
    "pod.yaml": POD.replace("  containers", f"  {CLAIM}\n  containers"),
    "performance-config.yaml": """
- name: SharedClaims
  featureGates: {GenericWorkload: true, DRAWorkloadResourceClaims: true}
  workloadTemplate:
  - {opcode: createNodes, count: 1, nodeTemplatePath: node.yaml}
  - {opcode: createAny, templatePath: class.yaml}
  - {opcode: createAny, templatePath: slice.yaml}
  - {opcode: createAny, templatePath: claim.yaml, namespace: gangs}
  - {opcode: createPodGroups, count: 2, namespace: gangs, templatePath: group.yaml, templateParams: {size: 4}}
  - {opcode: createPods, count: 8, namespace: gangs, podTemplatePath: pod.yaml, templateParams: {size: 4}, collectMetrics: true}
  workloads:
  - {name: two, params: {}}
""",
}


def test_members_share_the_claim_of_their_group(tmp_path: Path) -> None:
    for name, text in OBJECTS.items():
        (tmp_path / name).write_text(text)
    (selected,) = select(load(str(tmp_path / "performance-config.yaml")))
    outcome = run(prepare(selected, BenchOptions(emulated_version="1.37")))
    assert (outcome.verdict, outcome.reason) == (WorkloadVerdict.MEASURED, "")
    assert outcome.measurements[0].throughput.pods == 8


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
