# SPDX-License-Identifier: Apache-2.0
"""The document of kind Scenario: every field with its description for users.

`loading` reads and checks it, `execution` runs it. The JSON schema for editors
(`scenario.schema.json`) and the reference in the docs are generated from these structs.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from steersman.api import DocumentPart
from steersman.base import SCENARIO_VERSION, SCHEMA_DIALECT

SCENARIO_KIND: Final = "Scenario"

Time: TypeAlias = str | int | float
"""Seconds, or a duration such as `1h30m`."""
NodeChoice: TypeAlias = str | list[str]
"""Names of nodes, patterns such as `general-*`, or labels such as `topology.kubernetes.io/zone=a`;
one or a list."""
JsonObject: TypeAlias = dict[str, Any]
AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1)]
NotNegative: TypeAlias = Annotated[int, Meta(ge=0)]


class _ScenarioPart(DocumentPart, frozen=True, kw_only=True):
    """Base of all parts of the document."""


# -- the timeline ------------------------------------------------------------------------------------------------------


class Scaling(_ScenarioPart, frozen=True):
    """Another number of replicas."""

    target: Annotated[str, Meta(description="A workload such as `deployment/default/web`.")]
    replicas: Annotated[int, Meta(ge=0, description="The new number of replicas.")]


class Rollout(_ScenarioPart, frozen=True):
    """A new pod template of a workload; exactly one of `image`, `template`, `restart` and `undo`."""

    target: Annotated[str, Meta(description="A Deployment, StatefulSet or DaemonSet such as `deployment/default/web`.")]
    image: Annotated[str, Meta(description="The new image.")] = ""
    container: Annotated[str, Meta(description="The container that gets the image; default: the first one.")] = ""
    template: Annotated[
        JsonObject | None,
        Meta(description="A merge patch of the pod template; containers are matched by name."),
    ] = None
    restart: Annotated[bool, Meta(description="As `kubectl rollout restart`.")] = False
    undo: Annotated[bool, Meta(description="As `kubectl rollout undo`, of a Deployment.")] = False


class NewNodes(_ScenarioPart, frozen=True):
    """Nodes to add."""

    count: Annotated[int, Meta(ge=1, description="Number of nodes.")] = 1
    pool: Annotated[str, Meta(description="One of `pools`.")] = ""
    template: Annotated[
        JsonObject | None,
        Meta(description="A Node instead of a pool; its name is the prefix of the nodes' names."),
    ] = None


class Tainting(_ScenarioPart, frozen=True):
    """Taints to add to nodes, and to remove from them."""

    nodes: Annotated[NodeChoice, Meta(description="Names, patterns or labels of nodes.")]
    add: Annotated[list[str], Meta(description="Taints such as `dedicated=gpu:NoSchedule`.")] = []
    remove: Annotated[list[str], Meta(description="Taints to remove: `key`, `key:Effect` or `key=value:Effect`.")] = []


class PriceChange(_ScenarioPart, frozen=True):
    """A new price of nodes from this time on, including nodes that the pool adds later."""

    per_hour: Annotated[float, Meta(ge=0, description="The new price.")]
    pool: Annotated[str, Meta(description="All nodes of this pool.")] = ""
    nodes: Annotated[NodeChoice, Meta(description="Or these nodes.")] = []


class LoadChange(_ScenarioPart, frozen=True):
    """A new load of the pods of an autoscaled workload from this time on."""

    target: Annotated[str, Meta(description="A HorizontalPodAutoscaler or its target, `hpa/default/web`.")]
    curve: Annotated[str, Meta(description="As the annotation `steersman.dev/load`; times are relative to the step.")]
    metric: Annotated[str, Meta(description="The metric, if the autoscaler has several.")] = ""


class Step(_ScenarioPart, frozen=True):
    """An action at a time; exactly one field besides `at`, `every`, `times` and `name`."""

    at: Annotated[Time, Meta(description="Seconds since the start, or a duration such as `10m`.")]
    every: Annotated[Time | None, Meta(description="Interval at which the step is repeated.")] = None
    times: Annotated[
        AtLeastOne | None, Meta(description="With `every`: number of executions; default: until the end.")
    ] = None
    name: Annotated[str, Meta(description="Name in the report.")] = ""
    apply: Annotated[
        list[str | JsonObject] | str | JsonObject | None,
        Meta(description="Manifests to create or update: files, directories or objects."),
    ] = None
    scale: Annotated[Scaling | None, Meta(description="Change the number of replicas of a workload.")] = None
    delete: Annotated[
        str | list[str] | None, Meta(description="Objects to delete: `pod/default/web-0`, `node/n1`.")
    ] = None
    rollout: Annotated[Rollout | None, Meta(description="Change the pod template of a workload.")] = None
    add_nodes: Annotated[NewNodes | None, Meta(description="Add nodes.")] = None
    crash: Annotated[NodeChoice | None, Meta(description="Stop the kubelets of nodes.")] = None
    recover: Annotated[NodeChoice | None, Meta(description="Start the kubelets of crashed nodes.")] = None
    reboot: Annotated[NodeChoice | None, Meta(description="Restart nodes.")] = None
    delete_nodes: Annotated[NodeChoice | None, Meta(description="Delete nodes with their pods.")] = None
    cordon: Annotated[NodeChoice | None, Meta(description="Make nodes unschedulable.")] = None
    uncordon: Annotated[NodeChoice | None, Meta(description="Make nodes schedulable again.")] = None
    drain: Annotated[NodeChoice | None, Meta(description="As `kubectl drain`, which waits for disruption budgets.")] = (
        None
    )
    taint: Annotated[Tainting | None, Meta(description="Change the taints of nodes.")] = None
    price: Annotated[PriceChange | None, Meta(description="Change the price of nodes.")] = None
    load: Annotated[LoadChange | None, Meta(description="Change the load of an autoscaled workload.")] = None


ACTIONS: Final = tuple(
    field.encode_name for field in msgspec.structs.fields(Step) if field.name not in ("at", "every", "times", "name")
)


# -- generators --------------------------------------------------------------------------------------------------------


class Poisson(_ScenarioPart, frozen=True):
    """Independent arrivals at a constant rate."""

    per_hour: Annotated[float, Meta(gt=0, description="Mean number of arrivals per hour.")]


class Bursts(_ScenarioPart, frozen=True):
    """Repeated bursts of arrivals."""

    every: Annotated[Time, Meta(description="Time between bursts; a distribution such as `exponential(mean=600)`.")]
    size: Annotated[int, Meta(ge=1, description="Number of arrivals per burst.")] = 1
    spread: Annotated[Time, Meta(description="Duration of a burst.")] = 0


class DayCurve(_ScenarioPart, frozen=True):
    """A Poisson process whose rate follows the time of day."""

    per_hour: Annotated[
        dict[str, float],
        Meta(description="Rates by time of day, `{'00:00': 5, '09:00': 100}`, interpolated."),
    ]
    begins: Annotated[str, Meta(description="The time of day at the start of the scenario.")] = "00:00"


class ColumnWithUnit(_ScenarioPart, frozen=True):
    """A column of plain numbers, and their unit."""

    column: Annotated[str, Meta(description="The name of the column.")]
    unit: Annotated[str, Meta(description="Of amounts `m`, `k`, `Mi`, `Gi`, …, of times `ms`, `s`, `h`, …; or empty.")]


class RecordedArrivals(_ScenarioPart, frozen=True):
    """Recorded arrivals; the first line of the file names its columns. An empty cell keeps the template's value."""

    file: Annotated[str, Meta(description="A CSV file.")]
    time: Annotated[str | ColumnWithUnit, Meta(description="The column with seconds or durations since the start.")] = (
        "time"
    )
    run_time: Annotated[str | ColumnWithUnit, Meta(description="The column with run times, if any.")] = ""
    requests: Annotated[
        dict[str, str | ColumnWithUnit],
        Meta(
            description="Columns by resource, for the first container: `{cpu: cores, memory: {column: gib, unit: Gi}}`."
        ),
    ] = {}
    namespace: Annotated[str, Meta(description="The column with namespaces.")] = ""
    labels: Annotated[dict[str, str], Meta(description="Columns by label of the pods: `{team: user}`.")] = {}
    node_selector: Annotated[dict[str, str], Meta(description="Columns by label of the nodes.")] = {}
    priority: Annotated[str, Meta(description="The column with priorities: numbers, or names of PriorityClasses.")] = ""
    replicas: Annotated[
        str, Meta(description="The column with the number of pods: completions and parallelism of a Job.")
    ] = ""


class Arrivals(_ScenarioPart, frozen=True):
    """When objects arrive; exactly one of these."""

    poisson: Annotated[Poisson | None, Meta(description="Independent arrivals at a rate.")] = None
    bursts: Annotated[Bursts | None, Meta(description="Repeated bursts.")] = None
    day: Annotated[DayCurve | None, Meta(description="A rate that follows the time of day.")] = None
    replay: Annotated[RecordedArrivals | None, Meta(description="Arrivals from a file.")] = None


class RunTimeSamples(_ScenarioPart, frozen=True):
    """Measured run times, all equally likely."""

    file: Annotated[str, Meta(description="A CSV file.")]
    column: Annotated[str, Meta(description="The column with seconds or durations.")] = "seconds"


class Generator(_ScenarioPart, frozen=True):
    """Pods or Jobs that arrive at random times or by a recorded list."""

    name: Annotated[str, Meta(description="Prefix of the objects' names; also selects the stream of random numbers.")]
    arrivals: Annotated[Arrivals, Meta(description="When the objects arrive.")]
    template: Annotated[str | JsonObject, Meta(description="A Pod or a Job, or a file with one.")]
    run_time: Annotated[
        Time | RunTimeSamples | None,
        Meta(description="Run time of each: as `steersman.dev/run-seconds`, or samples from a file."),
    ] = None
    since: Annotated[Time, Meta(description="Start of the arrivals.")] = 0
    until: Annotated[Time | None, Meta(description="End of the arrivals.")] = None
    count: Annotated[NotNegative | None, Meta(description="Maximum number of objects.")] = None


# -- the rest ----------------------------------------------------------------------------------------------------------


class AutoscalerSettings(_ScenarioPart, frozen=True):
    """The cluster autoscaler; runs if there are `pools`. Names and defaults follow cluster-autoscaler's flags."""

    enabled: Annotated[bool, Meta(description="Whether the autoscaler runs.")] = True
    expander: Annotated[
        Literal["leastWaste", "cheapest", "mostPods", "priority"],
        Meta(description="Choice between several pools that would help."),
    ] = "leastWaste"
    priorities: Annotated[list[str], Meta(description="For `priority`: pools in order of preference.")] = []
    scan_interval: Annotated[Time, Meta(description="Time between scans.")] = 10
    scale_down: Annotated[bool, Meta(description="Whether nodes are removed.")] = True
    scale_down_utilization_threshold: Annotated[
        float,
        Meta(ge=0, le=1, description="Nodes whose requests are below this share of their allocatable may be removed."),
    ] = 0.5
    scale_down_delay_after_add: Annotated[Time, Meta(description="Time without removals after nodes were added.")] = (
        "10m"
    )
    ignore_daemonsets_utilization: Annotated[
        bool, Meta(description="Whether pods of DaemonSets do not count for the utilisation.")
    ] = False
    skip_nodes_with_system_pods: Annotated[
        bool,
        Meta(
            description="Whether pods of `kube-system` without a disruption budget prevent the removal of their node."
        ),
    ] = True
    skip_nodes_with_local_storage: Annotated[
        bool, Meta(description="Whether pods with `emptyDir` or `hostPath` volumes prevent the removal of their node.")
    ] = True
    max_empty_bulk_delete: Annotated[
        int, Meta(ge=1, description="Maximum number of empty nodes removed at a time.")
    ] = 10
    max_pod_eviction_time: Annotated[
        Time, Meta(description="A node stays if its pods are not all gone after this time plus their grace periods.")
    ] = "2m"
    expendable_pods_priority_cutoff: Annotated[
        int, Meta(description="Pods of a lower priority neither cause nodes to be added nor prevent removals.")
    ] = -10


class Stop(_ScenarioPart, frozen=True):
    """When the scenario ends; without `after`: when nothing changes any more without new input."""

    after: Annotated[Time | None, Meta(description="Time of the end.")] = None
    at_rest: Annotated[
        bool | None,
        Meta(
            description="End when timeline and generators are over and nothing changes any more; default: without `after`."
        ),
    ] = None
    pending_longer_than: Annotated[
        Time | None, Meta(description="End when a pod has been pending for longer than this.")
    ] = None
    pending_more_than: Annotated[NotNegative | None, Meta(description="End when more pods than this are pending.")] = (
        None
    )
    completed: Annotated[AtLeastOne | None, Meta(description="End when this number of pods have succeeded.")] = None


class ScenarioDocument(_ScenarioPart, frozen=True):
    """A document of kind Scenario: events of a cluster over time, and expected results."""

    api_version: Annotated[str, Meta(description="`steersman.dev/v1alpha1`.")] = SCENARIO_VERSION
    kind: Annotated[str, Meta(description="`Scenario`.")] = SCENARIO_KIND
    name: Annotated[str, Meta(description="A name for reports.")] = ""
    description: Annotated[str, Meta(description="A description for readers.")] = ""
    parameters: Annotated[
        dict[str, str | int | float | bool],
        Meta(description="Values of `${name}` in all other fields; `--set name=value` overrides them."),
    ] = {}
    cluster: Annotated[
        list[str | JsonObject], Meta(description="Objects at the start: files, directories or objects.")
    ] = []
    config: Annotated[str | JsonObject | None, Meta(description="A KubeSchedulerConfiguration, or its file.")] = None
    plugins: Annotated[list[str], Meta(description="Python files with plugins.")] = []
    feature_gates: Annotated[dict[str, bool], Meta(description="Feature gates of the scheduler.")] = {}
    kubelets: Annotated[str | JsonObject | None, Meta(description="A KubeletPolicy, or its file.")] = None
    controllers: Annotated[
        bool, Meta(description="Whether controllers create pods of Deployments and other workloads.")
    ] = True
    extenders: Annotated[bool, Meta(description="Whether extenders of the configuration are called, in real time.")] = (
        False
    )
    pools: Annotated[str | JsonObject | None, Meta(description="NodePools, or their file.")] = None
    autoscaler: Annotated[AutoscalerSettings, Meta(description="Settings of the cluster autoscaler.")] = (
        AutoscalerSettings()
    )
    timeline: Annotated[list[Step], Meta(description="Actions by time.")] = []
    generators: Annotated[list[Generator], Meta(description="Pods or Jobs that arrive.")] = []
    stop: Annotated[Stop, Meta(description="When the scenario ends.")] = Stop()
    measure: Annotated[list[str], Meta(description="Measures to report; default: all.")] = []
    expect: Annotated[
        dict[str, int | float | str],
        Meta(description='Required values of measures: `pending: 0`, `waitP99: "<= 30s"`; else the exit code is 1.'),
    ] = {}


def json_schema() -> dict[str, Any]:
    """Return the shipped JSON schema: the checks of `api.document_fields`, not those of files."""
    (reference,), parts = msgspec.json.schema_components((ScenarioDocument,), ref_template="#/$defs/{name}")
    top = parts.pop(reference["$ref"].rpartition("/")[2])
    top["properties"]["apiVersion"] = {**top["properties"]["apiVersion"], "const": SCENARIO_VERSION}
    top["properties"]["kind"] = {**top["properties"]["kind"], "const": SCENARIO_KIND}
    return {
        "$schema": SCHEMA_DIALECT,
        **top,
        "title": SCENARIO_KIND,
        "required": ["apiVersion", "kind"],
        "$defs": parts,
    }
