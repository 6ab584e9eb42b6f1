# SPDX-License-Identifier: Apache-2.0
"""Operations of a workload file: one Struct per opcode, with upstream's field names.

`workload_files` decodes them, `preparation` replaces `$names` by values, `workload_executor`
executes them. A field `countParam` names the parameter with the value of `count`.
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar, Final

import msgspec

from steersman.api import Duration
from steersman.base import InputError


class Operation(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Base of all operations. `workload_files` makes paths relative to the file absolute."""

    OPCODE: ClassVar[str]
    #: Names of the fields with one or more paths.
    PATHS: ClassVar[tuple[str, ...]] = ()

    opcode: str

    def check(self) -> None:
        """Raise `InputError` for an invalid field; called after parameters are set."""

    @property
    def collects_metrics(self) -> bool:
        return False


class Counted(Operation, frozen=True, kw_only=True):
    """An operation with a count."""

    count: int = 0
    count_param: str = ""

    def check(self) -> None:
        _require(self.count >= 0, "count", self.count, "use 0 or more")


# -- nodes and namespaces ----------------------------------------------------------------------------------------------


class _OperationPart(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of maps within operations."""


class NodeResources(_OperationPart, frozen=True):
    count: int | None = None


class NodeAllocatable(_OperationPart, frozen=True):
    """`status.allocatable` of nodes, and volume limits of CSI drivers."""

    node_allocatable: dict[str, str] = {}
    csi_node_allocatable: dict[str, NodeResources] = {}
    migrated_plugins: tuple[str, ...] = ()


class LabelNodes(_OperationPart, frozen=True):
    """A label of nodes with values in rotation."""

    label_key: str = ""
    label_values: tuple[str, ...] = ()


class UniqueLabel(_OperationPart, frozen=True):
    label_key: str = ""


class CreateNodes(Counted, frozen=True, kw_only=True):
    OPCODE = "createNodes"
    PATHS = ("node_template_path",)

    node_template_path: str | None = None
    #: Values for the template; `$name` and `$name|default` are parameters of the workload.
    template_params: dict[str, Any] = {}
    node_allocatable_strategy: NodeAllocatable | None = None
    label_node_prepare_strategy: LabelNodes | None = None
    unique_node_label_strategy: UniqueLabel | None = None

    def check(self) -> None:
        super().check()
        labels = self.label_node_prepare_strategy
        if labels is not None:
            field = "labelNodePrepareStrategy.labelValues"
            _require(bool(labels.label_values), field, None, "give the nodes at least one value")


class CreateNamespaces(Counted, frozen=True, kw_only=True):
    OPCODE = "createNamespaces"
    PATHS = ("namespace_template_path",)

    prefix: str = ""
    namespace_template_path: str | None = None


# -- pods --------------------------------------------------------------------------------------------------------------


class CreatePods(Counted, frozen=True, kw_only=True):
    OPCODE = "createPods"
    PATHS = ("pod_template_path", "persistent_volume_template_path", "persistent_volume_claim_template_path")

    steady_state: bool = False
    steady_state_param: str = ""
    duration: str = "0s"
    duration_param: str = ""
    collect_metrics: bool = False
    namespace: str | None = None
    pod_template_path: str | None = None
    template_params: dict[str, Any] = {}
    #: Name of the parameter that `count` is multiplied with, such as the size of a group.
    count_multiplier_param: str = ""
    #: Number of consecutive pods with the same value of the label `signature`; 0 for no label.
    signature_batch_size: int = 0
    signature_batch_size_param: str = ""
    skip_wait_to_completion: bool = False
    persistent_volume_template_path: str | None = None
    persistent_volume_claim_template_path: str | None = None

    def check(self) -> None:
        super().check()
        seconds = seconds_of(self.duration, "duration")
        _require(self.signature_batch_size >= 0, "signatureBatchSize", self.signature_batch_size, "use 0 or more")
        skips = self.skip_wait_to_completion
        _require(not (skips and self.collect_metrics), "skipWaitToCompletion", True, "not along with collectMetrics")
        _require(not (skips and self.steady_state), "skipWaitToCompletion", True, "not along with steadyState")
        _require(
            not self.steady_state or seconds > 0, "duration", self.duration, "a steady state lasts longer than nothing"
        )
        paths = (self.persistent_volume_template_path, self.persistent_volume_claim_template_path)
        _require(
            (paths[0] is None) == (paths[1] is None),
            "persistentVolumeTemplatePath",
            paths[0],
            "give both templates, of the volume and of the claim, or neither",
        )

    @property
    def collects_metrics(self) -> bool:
        return self.collect_metrics


class CreatePodSets(Counted, frozen=True, kw_only=True):
    OPCODE = "createPodSets"

    namespace_prefix: str = ""
    create_pods_op: CreatePods

    @property
    def collects_metrics(self) -> bool:
        return self.create_pods_op.collect_metrics


class DeletePods(Operation, frozen=True, kw_only=True):
    OPCODE = "deletePods"

    namespace: str = ""
    label_selector: dict[str, str] = {}
    skip_wait_to_completion: bool = False
    delete_pods_per_second: int = 0

    def check(self) -> None:
        _require(self.delete_pods_per_second >= 0, "deletePodsPerSecond", self.delete_pods_per_second, "use 0 or more")


# -- objects of any kind -----------------------------------------------------------------------------------------------


class ChurnMode(enum.StrEnum):
    CREATE = "create"
    RECREATE = "recreate"


class Churn(Operation, frozen=True, kw_only=True):
    OPCODE = "churn"
    PATHS = ("template_paths",)

    mode: str = ""
    number: int = 0
    interval_milliseconds: int = 0
    namespace: str | None = None
    template_paths: tuple[str, ...] = ()

    def check(self) -> None:
        _require(self.mode in tuple(ChurnMode), "mode", self.mode, 'use "create" or "recreate"')
        least = 1 if self.mode == ChurnMode.RECREATE else 0
        _require(self.number >= least, "number", self.number, f"use {least} or more with mode {self.mode}")
        _require(self.interval_milliseconds >= 0, "intervalMilliseconds", self.interval_milliseconds, "use 0 or more")
        _require(bool(self.template_paths), "templatePaths", None, "name at least one template file")


class CreateAny(Operation, frozen=True, kw_only=True):
    OPCODE = "createAny"
    PATHS = ("template_path",)

    namespace: str = ""
    template_path: str = ""
    template_params: dict[str, Any] = {}
    count: int = 1
    count_param: str = ""

    def check(self) -> None:
        _require(bool(self.template_path), "templatePath", None, "name a template file")


class CreatePodGroups(Counted, frozen=True, kw_only=True):
    """Creates groups of pods; the scheduler knows them when it ends."""

    OPCODE = "createPodGroups"
    PATHS = ("template_path",)

    namespace: str = ""
    template_path: str = ""
    template_params: dict[str, Any] = {}

    def check(self) -> None:
        _require(self.count > 0, "count", self.count, "use 1 or more")
        _require(bool(self.namespace), "namespace", None, "name the namespace of the groups")
        _require(bool(self.template_path), "templatePath", None, "name a template file")


class UpdateAny(CreateAny, frozen=True, kw_only=True):
    OPCODE = "updateAny"

    update_per_second: int = 0
    subresources: tuple[str, ...] = ()

    def check(self) -> None:
        super().check()
        _require(self.update_per_second >= 0, "updatePerSecond", self.update_per_second, "use 0 or more")


# -- waiting and measuring ---------------------------------------------------------------------------------------------


class PodStage(enum.StrEnum):
    SCHEDULED = "Scheduled"
    ATTEMPTED = "Attempted"


class Barrier(Operation, frozen=True, kw_only=True):
    OPCODE = "barrier"

    namespaces: tuple[str, ...] = ()
    label_selector: dict[str, str] = {}
    stage_requirement: str = ""

    def check(self) -> None:
        stage = self.stage_requirement
        _require(not stage or stage in tuple(PodStage), "stageRequirement", stage, 'use "Scheduled" or "Attempted"')

    @property
    def stage(self) -> PodStage:
        return PodStage(self.stage_requirement or PodStage.SCHEDULED)


class Sleep(Operation, frozen=True, kw_only=True):
    OPCODE = "sleep"

    duration: str = "0s"
    duration_param: str = ""

    def check(self) -> None:
        seconds_of(self.duration, "duration")


class StartCollectingMetrics(Operation, frozen=True, kw_only=True):
    OPCODE = "startCollectingMetrics"

    name: str = ""
    namespaces: tuple[str, ...] = ()
    label_selector: dict[str, str] = {}

    def check(self) -> None:
        _require(bool(self.namespaces), "namespaces", None, "name the namespaces whose pods are counted")


class StopCollectingMetrics(Operation, frozen=True, kw_only=True):
    OPCODE = "stopCollectingMetrics"

    @property
    def collects_metrics(self) -> bool:
        return True


# -- devices -----------------------------------------------------------------------------------------------------------


class DeviceOperation(Operation, frozen=True, kw_only=True):
    """An operation that requires a controller of resource claims."""


class CreateResourceDriver(DeviceOperation, frozen=True, kw_only=True):
    """Publishes devices of a driver on each node whose name matches the pattern."""

    OPCODE = "createResourceDriver"

    driver_name: str = ""
    nodes: str = ""
    max_claims_per_node: int = 0
    max_claims_per_node_param: str = ""

    def check(self) -> None:
        _require(bool(self.driver_name), "driverName", None, "name the driver")
        _require(bool(self.nodes), "nodes", None, "give a pattern of node names")
        _require(self.max_claims_per_node >= 0, "maxClaimsPerNode", self.max_claims_per_node, "use 0 or more")


class CreateResourceClaims(DeviceOperation, frozen=True, kw_only=True):
    OPCODE = "createResourceClaims"
    PATHS = ("template_path",)

    count: int = 0
    count_param: str = ""
    namespace: str = ""
    template_path: str = ""

    def check(self) -> None:
        _require(self.count >= 0, "count", self.count, "use 0 or more")
        _require(bool(self.namespace), "namespace", None, "name the namespace of the claims")
        _require(bool(self.template_path), "templatePath", None, "name a template file")


class AllocResourceClaims(DeviceOperation, frozen=True, kw_only=True):
    """Allocates devices to claims without a pod, in one namespace or all."""

    OPCODE = "allocResourceClaims"

    namespace: str = ""


OPERATIONS: Final[dict[str, type[Operation]]] = {
    cls.OPCODE: cls
    for cls in (
        CreateNodes,
        CreateNamespaces,
        CreatePods,
        CreatePodSets,
        DeletePods,
        Churn,
        CreateAny,
        CreatePodGroups,
        UpdateAny,
        Barrier,
        Sleep,
        StartCollectingMetrics,
        StopCollectingMetrics,
        CreateResourceDriver,
        CreateResourceClaims,
        AllocResourceClaims,
    )
}


def seconds_of(text: str, field: str) -> float:
    """Parse a duration in Go's format. Raise `InputError` if it is invalid."""
    try:
        return Duration.parse(text).seconds
    except ValueError as error:
        raise InputError(
            "is not a duration", field=field, value=text, hint='write for example "30s" or "1m30s"'
        ) from error


def _require(met: bool, field: str, value: object, hint: str) -> None:
    if not met:
        raise InputError("cannot be used" if value is not None else "is missing", field=field, value=value, hint=hint)
