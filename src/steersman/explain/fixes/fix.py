# SPDX-License-Identifier: Apache-2.0
"""A fix as data: what to change so that a pending pod is scheduled, as a sentence, commands and
patches.

Made by `search`, rendered by `explain.text`. Field names are Kubernetes', in camelCase as JSON.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from steersman import api
from steersman.base import PlainStruct


class FixKind(StrEnum):
    """Kinds of fixes, for programs. Among fixes of the same size, the earlier kind comes first."""

    SCHEDULING_GATES = "RemoveSchedulingGates"
    RESUME_JOB = "ResumeJob"
    SCHEDULER_NAME = "SetSchedulerName"
    UNCORDON = "UncordonNode"
    TOLERATION = "AddToleration"
    REQUESTS = "LowerRequests"
    MIN_COUNT = "LowerMinCount"
    TOPOLOGY_LEVEL = "ChangeTopologyLevel"
    CLAIM_SIZE = "LowerClaimSize"
    DEVICE_COUNT = "LowerDeviceCount"
    NODE_AFFINITY_VALUES = "RelaxNodeAffinity"
    NODE_SELECTOR = "DropNodeSelector"
    NODE_AFFINITY = "DropNodeAffinity"
    MAX_SKEW = "RaiseMaxSkew"
    SCHEDULE_ANYWAY = "ScheduleAnyway"
    POD_AFFINITY = "DropPodAffinity"
    POD_ANTI_AFFINITY = "DropPodAntiAffinity"
    HOST_PORT = "ChangeHostPort"
    NO_HOST_PORT = "DropHostPort"
    STORAGE_CLASS = "ChangeStorageClass"
    DEVICE_SELECTOR = "DropDeviceSelector"
    DEVICE_CONSTRAINT = "DropDeviceConstraint"
    DEVICE_CLASS = "ChangeDeviceClass"
    NODE_LABEL = "LabelNode"
    NODE_TAINT = "RemoveTaint"
    QUOTA = "RaiseQuota"
    CLAIM = "CreateClaim"
    VOLUME = "CreateVolume"
    MOVE = "MovePods"
    PRIORITY = "RaisePriority"
    ADD_NODE = "AddNode"
    RECREATE = "RecreatePod"
    """Part of other fixes: the pod is deleted, so that its workload recreates it from the changed
    template."""
    SEVERAL = "Several"


class ObjectName(msgspec.Struct, frozen=True, rename="camel"):
    """Kind, namespace and name of an object; the namespace of a cluster-scoped object is ""."""

    kind: str
    namespace: str
    name: str


def object_name(obj: api.Object) -> ObjectName:
    """Return the kind, namespace and name of the object."""
    return ObjectName(obj.KIND, obj.metadata.namespace if obj.NAMESPACED else "", obj.metadata.name)


class ObjectDeletion(msgspec.Struct, frozen=True, rename="camel"):
    """An object to delete; its dependents are deleted too (`Background`) or kept (`Orphan`)."""

    kind: str
    namespace: str
    name: str
    propagation_policy: str = "Background"


class PodMove(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """A pod that is evicted from a cordoned node, so that its controller recreates it elsewhere."""

    namespace: str
    name: str
    source: str
    #: Node of the pod in the trial.
    target: str


class ObjectPatch(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON merge patch (RFC 7396) of one object, in which lists are whole."""

    kind: str
    namespace: str
    name: str
    merge_patch: dict[str, Any]


class Fix(PlainStruct, frozen=True, rename="camel"):
    """Changes that made the pod schedule when they were tried together on a copy of the cluster.

    A program carries out `moves`, `patches`, `delete` and `create` in this order. For files, the
    patches are complete and include the moves. For a live cluster they are accepted by an API
    server: immutable objects are deleted and recreated, and a node to add is only in `new_nodes`.
    """

    kind: FixKind
    #: The change, and the resulting node of the pod, as a sentence.
    summary: str
    #: Commands to run in this order.
    commands: tuple[str, ...]
    patches: tuple[ObjectPatch, ...] = ()
    #: Manifests of objects to create.
    create: tuple[dict[str, Any], ...] = ()
    #: Objects to remove.
    delete: tuple[ObjectDeletion, ...] = ()
    #: Live cluster only: the machine to add, as its Node and the objects that drivers publish about
    #: it. They are not created: a kubelet registers its node.
    new_nodes: tuple[dict[str, Any], ...] = ()
    #: Pods to move.
    moves: tuple[PodMove, ...] = ()
    #: Node of the pod in the trial.
    node: str = ""
    #: Pods that were preempted, and running pods that end because their Job is recreated.
    evicts: tuple[str, ...] = ()
    #: Kinds of the parts; several if no single change helps.
    parts: tuple[FixKind, ...] = ()
