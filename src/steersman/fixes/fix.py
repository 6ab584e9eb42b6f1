# SPDX-License-Identifier: Apache-2.0
"""A fix as data: what to change so that a pending pod is scheduled, as a sentence, as commands and as patches.

Made by `search`, printed by `text`. All names are Kubernetes'; `to_dict` gives them in camelCase.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class FixKind(StrEnum):
    """The kinds of fixes, for programs. Of fixes that change as much, the earlier kind comes first."""

    SCHEDULING_GATES = "RemoveSchedulingGates"
    RESUME_JOB = "ResumeJob"
    SCHEDULER_NAME = "SetSchedulerName"
    UNCORDON = "UncordonNode"
    TOLERATION = "AddToleration"
    REQUESTS = "LowerRequests"
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
    """Goes with others: the pod is deleted, so that its workload makes it again from the changed template."""
    SEVERAL = "Several"


class ObjectName(msgspec.Struct, frozen=True, rename="camel"):
    """Which object; the namespace of a cluster-scoped one is ""."""

    kind: str
    namespace: str
    name: str


class ObjectDeletion(msgspec.Struct, frozen=True, rename="camel"):
    """An object to remove, and what becomes of what it has made: removed too (`Background`), or left alone (`Orphan`)."""

    kind: str
    namespace: str
    name: str
    propagation_policy: str = "Background"


class PodMove(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """A pod that is evicted from a node, which takes no pods meanwhile, so that its controller makes it again elsewhere."""

    namespace: str
    name: str
    source: str
    #: Where the pod went when the fix was tried.
    target: str


class ObjectPatch(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON merge patch (RFC 7396) of one object: lists are given whole."""

    kind: str
    namespace: str
    name: str
    merge_patch: dict[str, Any]


class Fix(msgspec.Struct, frozen=True, rename="camel"):
    """Changes that were tried together on a copy of the cluster, from the beginning, and made the pod schedule.

    A program carries out `moves`, `patches`, `delete` and `create` in this order. Of files, the patches have everything, and
    moves are among them. Of a live cluster they are such that an API server takes them: what cannot be changed is removed and
    created again; a machine to add is in `new_nodes` alone.
    """

    kind: FixKind
    #: A sentence: what to change, and where the pod goes then.
    summary: str
    #: To be run in this order.
    commands: tuple[str, ...]
    patches: tuple[ObjectPatch, ...] = ()
    #: Manifests of objects to create.
    create: tuple[dict[str, Any], ...] = ()
    #: Objects to remove.
    delete: tuple[ObjectDeletion, ...] = ()
    #: Of a live cluster, the shape of a machine to add: its Node, and what drivers would publish about it. Nothing to create:
    #: a kubelet registers its node itself.
    new_nodes: tuple[dict[str, Any], ...] = ()
    #: Pods to move.
    moves: tuple[PodMove, ...] = ()
    #: Where the pod went when the fix was tried.
    node: str = ""
    #: Pods that were preempted for it, and running pods that end because their Job is written again.
    evicts: tuple[str, ...] = ()
    #: The kinds of the parts; more than one if no single change helps.
    parts: tuple[FixKind, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values, named as in Kubernetes' JSON."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain
