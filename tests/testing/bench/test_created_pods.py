# SPDX-License-Identifier: Apache-2.0
"""Pods that `createPods` makes."""

from __future__ import annotations

from pathlib import Path

from tests.testing.bench.workload_texts import pod

from steersman import api
from steersman.testing.bench.created_objects import pod_drafts
from steersman.testing.bench.operations import CreatePods
from steersman.testing.bench.templates import Templates

CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nspec: {accessModes: [ReadOnlyMany]}\n"
CSI_VOLUME = "apiVersion: v1\nkind: PersistentVolume\nspec: {csi: {driver: csi.example}}\n"
AWS_VOLUME = "apiVersion: v1\nkind: PersistentVolume\nspec: {awsElasticBlockStore: {volumeID: x}}\n"


def made(operation: CreatePods, default: str | None = None) -> list[tuple[api.Object, ...]]:
    groups = pod_drafts(operation, "ns", default, Templates())
    return [tuple(draft.object for draft in group) for group in groups]


def test_the_usual_pod_asks_for_a_tenth_of_a_core() -> None:
    ((first,), _) = made(CreatePods(opcode="createPods", count=2))
    assert isinstance(first, api.Pod)
    assert (first.metadata.generate_name, first.metadata.namespace) == ("pod-", "ns")
    assert first.spec.containers[0].resources.requests == {"cpu": "100m", "memory": "500Mi"}


def test_a_template_of_the_operation_comes_before_that_of_the_test_case(tmp_path: Path) -> None:
    for name in ("own", "default"):
        (tmp_path / f"{name}.yaml").write_text(pod(metadata=f"generateName: {name}-"))
    default = str(tmp_path / "default.yaml")
    own = CreatePods(opcode="createPods", count=1, pod_template_path=str(tmp_path / "own.yaml"))
    assert made(own, default)[0][0].metadata.generate_name == "own-"
    assert made(CreatePods(opcode="createPods", count=1), default)[0][0].metadata.generate_name == "default-"


def with_volumes(folder: Path, volume: str) -> tuple[api.PersistentVolumeClaim, api.PersistentVolume, api.Pod]:
    (folder / "pv.yaml").write_text(volume)
    (folder / "pvc.yaml").write_text(CLAIM)
    operation = CreatePods(
        opcode="createPods",
        count=1,
        persistent_volume_template_path=str(folder / "pv.yaml"),
        persistent_volume_claim_template_path=str(folder / "pvc.yaml"),
    )
    ((claim, made_volume, made_pod),) = made(operation)
    assert isinstance(claim, api.PersistentVolumeClaim)
    assert isinstance(made_volume, api.PersistentVolume)
    assert isinstance(made_pod, api.Pod)
    return claim, made_volume, made_pod


def test_claim_and_volume_of_a_pod_are_bound_to_each_other(tmp_path: Path) -> None:
    claim, volume, made_pod = with_volumes(tmp_path, CSI_VOLUME)
    assert (claim.spec.volume_name, claim.status.phase) == (volume.metadata.name, "Bound")
    assert volume.spec.claim_ref is not None
    assert (volume.spec.claim_ref.namespace, volume.spec.claim_ref.name) == ("ns", claim.metadata.name)
    source = made_pod.spec.volumes[0].persistent_volume_claim
    assert source is not None
    assert source.claim_name == claim.metadata.name


def test_every_volume_is_a_disk_of_its_own(tmp_path: Path) -> None:
    _, volume, _ = with_volumes(tmp_path, CSI_VOLUME)
    assert volume.spec.csi is not None
    assert volume.spec.csi.volume_handle == volume.metadata.name == "ns-vol-0"
    _, volume, _ = with_volumes(tmp_path, AWS_VOLUME)
    assert volume.spec.aws_elastic_block_store is not None
    assert volume.spec.aws_elastic_block_store.volume_id == "vol-0"
