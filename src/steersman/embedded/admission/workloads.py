# SPDX-License-Identifier: Apache-2.0
"""Defaults of controllers: one replica, and of a replication controller the selector."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from steersman.api import Deployment, Job, ReplicaSet, ReplicationController, StatefulSet
from steersman.embedded.store import ClusterView

Replicated = TypeVar("Replicated", Deployment, ReplicaSet, StatefulSet, ReplicationController)

_replace = msgspec.structs.replace


def admit_replicas(controller: Replicated, _: Replicated | None, __: ClusterView) -> Replicated:
    if controller.spec.replicas is not None:
        return controller
    return _replace(controller, spec=_replace(controller.spec, replicas=1))


def admit_replication_controller(
    controller: ReplicationController, old: ReplicationController | None, view: ClusterView
) -> ReplicationController:
    """A controller selects, and is labelled with, the labels of its pods if it does not say otherwise."""
    controller = admit_replicas(controller, old, view)
    template, meta = controller.spec.template, controller.metadata
    if template is None or not template.metadata.labels:
        return controller
    labels = template.metadata.labels
    spec = _replace(controller.spec, selector=controller.spec.selector or labels)
    return _replace(controller, metadata=_replace(meta, labels=meta.labels or labels), spec=spec)


def admit_job(job: Job, _: Job | None, __: ClusterView) -> Job:
    """Without any numbers one pod is to complete, at a time and in all."""
    spec = job.spec
    completions = 1 if spec.completions is None and spec.parallelism is None else spec.completions
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    labels = job.metadata.labels or spec.template.metadata.labels
    return _replace(
        job,
        metadata=_replace(job.metadata, labels=labels),
        spec=_replace(spec, completions=completions, parallelism=parallelism),
    )
