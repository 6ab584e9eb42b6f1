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
"""Names of nodes, patterns such as `general-*`, or labels such as `topology.kubernetes.io/zone=a`; one or a list."""
JsonObject: TypeAlias = dict[str, Any]
AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1)]
NotNegative: TypeAlias = Annotated[int, Meta(ge=0)]


class _ScenarioPart(DocumentPart, frozen=True, kw_only=True):
    """Base of all parts of the document."""


# -- the timeline ------------------------------------------------------------------------------------------------------


class Scaling(_ScenarioPart, frozen=True):
    """Another number of replicas."""

    target: Annotated[str, Meta(description="A workload such as `deployment/default/web`.")]
    replicas: Annotated[int, Meta(ge=0, description="How many replicas it is to have.")]


class Rollout(_ScenarioPart, frozen=True):
    """A new template of a workload, and with it new pods; exactly one of `image`, `template`, `restart` and `undo`."""

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
    """Nodes that arrive."""

    count: Annotated[int, Meta(ge=1, description="How many.")] = 1
    pool: Annotated[str, Meta(description="One of `pools`.")] = ""
    template: Annotated[
        JsonObject | None,
        Meta(description="A Node instead of a pool; its name is the beginning of the nodes' names."),
    ] = None


class Tainting(_ScenarioPart, frozen=True):
    """Taints of nodes that come and go."""

    nodes: Annotated[NodeChoice, Meta(description="Names, patterns or labels of nodes.")]
    add: Annotated[list[str], Meta(description="Taints such as `dedicated=gpu:NoSchedule`.")] = []
    remove: Annotated[
        list[str], Meta(description="Taints to take away: `key`, `key:Effect` or `key=value:Effect`.")
    ] = []


class PriceChange(_ScenarioPart, frozen=True):
    """A new price of nodes, from now on; it holds for those that a pool makes later, too."""

    per_hour: Annotated[float, Meta(ge=0, description="The new price.")]
    pool: Annotated[str, Meta(description="All nodes of this pool.")] = ""
    nodes: Annotated[NodeChoice, Meta(description="Or these nodes.")] = []


class LoadChange(_ScenarioPart, frozen=True):
    """A new load for the pods of an autoscaled workload, from now on."""

    target: Annotated[str, Meta(description="A HorizontalPodAutoscaler or its target, `hpa/default/web`.")]
    curve: Annotated[
        str, Meta(description="As the annotation `steersman.dev/load`; its times count from the moment of the step.")
    ]
    metric: Annotated[str, Meta(description="Of one metric where the autoscaler has several.")] = ""


class Step(_ScenarioPart, frozen=True):
    """Something that happens at a moment; exactly one thing besides `at`, `every`, `times` and `name`."""

    at: Annotated[Time, Meta(description="Seconds since the start, or a duration such as `10m`.")]
    every: Annotated[Time | None, Meta(description="Happens again and again, so long after one another.")] = None
    times: Annotated[AtLeastOne | None, Meta(description="With `every`: how often; default: until the end.")] = None
    name: Annotated[str, Meta(description="What the report calls it.")] = ""
    apply: Annotated[
        list[str | JsonObject] | str | JsonObject | None,
        Meta(description="Manifests that are created, or change what exists: files, directories or objects."),
    ] = None
    scale: Annotated[Scaling | None, Meta(description="A workload gets another size.")] = None
    delete: Annotated[str | list[str] | None, Meta(description="Objects that go: `pod/default/web-0`, `node/n1`.")] = (
        None
    )
    rollout: Annotated[Rollout | None, Meta(description="A workload gets a new template.")] = None
    add_nodes: Annotated[NewNodes | None, Meta(description="Nodes arrive.")] = None
    crash: Annotated[NodeChoice | None, Meta(description="Kubelets of nodes fall silent.")] = None
    recover: Annotated[NodeChoice | None, Meta(description="Nodes that crashed are back.")] = None
    reboot: Annotated[NodeChoice | None, Meta(description="Nodes go down and come back.")] = None
    delete_nodes: Annotated[NodeChoice | None, Meta(description="Nodes are gone for good, with their pods.")] = None
    cordon: Annotated[NodeChoice | None, Meta(description="No new pods come to the nodes.")] = None
    uncordon: Annotated[NodeChoice | None, Meta(description="Pods may come again.")] = None
    drain: Annotated[NodeChoice | None, Meta(description="As `kubectl drain`: budgets are waited for.")] = None
    taint: Annotated[Tainting | None, Meta(description="Taints of nodes come and go.")] = None
    price: Annotated[PriceChange | None, Meta(description="Nodes get another price.")] = None
    load: Annotated[LoadChange | None, Meta(description="An autoscaled workload gets another load.")] = None


ACTIONS: Final = tuple(
    field.encode_name for field in msgspec.structs.fields(Step) if field.name not in ("at", "every", "times", "name")
)


# -- generators --------------------------------------------------------------------------------------------------------


class Poisson(_ScenarioPart, frozen=True):
    """Arrivals that know nothing of each other."""

    per_hour: Annotated[float, Meta(gt=0, description="How many, on average.")]


class Bursts(_ScenarioPart, frozen=True):
    """Many arrivals at a time, again and again."""

    every: Annotated[
        Time, Meta(description="From one burst to the next; a distribution such as `exponential(mean=600)`.")
    ]
    size: Annotated[int, Meta(ge=1, description="Arrivals of one burst.")] = 1
    spread: Annotated[Time, Meta(description="The arrivals of a burst come within so much time.")] = 0


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
    """Arrivals that were recorded; the first line of the file names its columns. An empty cell leaves the template's value."""

    file: Annotated[str, Meta(description="A CSV file.")]
    time: Annotated[str | ColumnWithUnit, Meta(description="The column with seconds or durations since the start.")] = (
        "time"
    )
    run_time: Annotated[str | ColumnWithUnit, Meta(description="The column with run times, if there is one.")] = ""
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
        str, Meta(description="The column with the number of pods; of a Job it is its completions and parallelism.")
    ] = ""


class Arrivals(_ScenarioPart, frozen=True):
    """When objects arrive; exactly one of these."""

    poisson: Annotated[Poisson | None, Meta(description="Independent arrivals at a rate.")] = None
    bursts: Annotated[Bursts | None, Meta(description="Many at a time.")] = None
    day: Annotated[DayCurve | None, Meta(description="A rate that follows the time of day.")] = None
    replay: Annotated[RecordedArrivals | None, Meta(description="A recorded list.")] = None


class RunTimeSamples(_ScenarioPart, frozen=True):
    """Run times that were measured; each is as likely as the others."""

    file: Annotated[str, Meta(description="A CSV file.")]
    column: Annotated[str, Meta(description="The column with seconds or durations.")] = "seconds"


class Generator(_ScenarioPart, frozen=True):
    """Pods or Jobs that arrive by chance or by a list."""

    name: Annotated[str, Meta(description="Names the objects, and their stream of random numbers.")]
    arrivals: Annotated[Arrivals, Meta(description="When they arrive.")]
    template: Annotated[str | JsonObject, Meta(description="A Pod or a Job, or the file of one.")]
    run_time: Annotated[
        Time | RunTimeSamples | None,
        Meta(description="How long each runs: as `steersman.dev/run-seconds`, or samples from a file."),
    ] = None
    since: Annotated[Time, Meta(description="When the arrivals begin.")] = 0
    until: Annotated[Time | None, Meta(description="When they end.")] = None
    count: Annotated[NotNegative | None, Meta(description="How many there are at most.")] = None


# -- the rest ----------------------------------------------------------------------------------------------------------


class AutoscalerSettings(_ScenarioPart, frozen=True):
    """The cluster autoscaler; runs if there are `pools`. Names and defaults follow cluster-autoscaler's flags."""

    enabled: Annotated[bool, Meta(description="Whether it runs.")] = True
    expander: Annotated[
        Literal["leastWaste", "cheapest", "mostPods", "priority"],
        Meta(description="Which pool grows if several would help."),
    ] = "leastWaste"
    priorities: Annotated[list[str], Meta(description="For `priority`: pools, the preferred ones first.")] = []
    scan_interval: Annotated[Time, Meta(description="How often it looks.")] = 10
    scale_down: Annotated[bool, Meta(description="Whether nodes are removed.")] = True
    scale_down_utilization_threshold: Annotated[
        float,
        Meta(ge=0, le=1, description="Nodes whose requests are below this share of their allocatable may be removed."),
    ] = 0.5
    scale_down_delay_after_add: Annotated[Time, Meta(description="After nodes were added, none goes for so long.")] = (
        "10m"
    )
    ignore_daemonsets_utilization: Annotated[
        bool, Meta(description="Whether pods of DaemonSets do not count for the utilisation.")
    ] = False
    skip_nodes_with_system_pods: Annotated[
        bool, Meta(description="Whether pods of `kube-system` without a budget keep their node.")
    ] = True
    skip_nodes_with_local_storage: Annotated[
        bool, Meta(description="Whether pods with `emptyDir` or `hostPath` volumes keep their node.")
    ] = True
    max_empty_bulk_delete: Annotated[
        int, Meta(ge=1, description="Maximum number of empty nodes removed at a time.")
    ] = 10
    max_pod_eviction_time: Annotated[
        Time, Meta(description="A node stays if its pods are not all gone after this time plus their grace periods.")
    ] = "2m"
    expendable_pods_priority_cutoff: Annotated[
        int, Meta(description="Pods of a lower priority neither add nor keep nodes.")
    ] = -10


class Stop(_ScenarioPart, frozen=True):
    """When the scenario ends; without `after`: when nothing would change without new input."""

    after: Annotated[Time | None, Meta(description="At this time.")] = None
    at_rest: Annotated[
        bool | None,
        Meta(
            description="As soon as timeline and generators are over and nothing would change; default: without `after`."
        ),
    ] = None
    pending_longer_than: Annotated[Time | None, Meta(description="As soon as a pod has waited so long.")] = None
    pending_more_than: Annotated[NotNegative | None, Meta(description="As soon as more pods wait.")] = None
    completed: Annotated[AtLeastOne | None, Meta(description="As soon as this number of pods have succeeded.")] = None


class ScenarioDocument(_ScenarioPart, frozen=True):
    """A document of kind Scenario: the events of a cluster over time, and what is expected of it."""

    api_version: Annotated[str, Meta(description="`steersman.dev/v1alpha1`.")] = SCENARIO_VERSION
    kind: Annotated[str, Meta(description="`Scenario`.")] = SCENARIO_KIND
    name: Annotated[str, Meta(description="A name for reports.")] = ""
    description: Annotated[str, Meta(description="What it is about.")] = ""
    parameters: Annotated[
        dict[str, str | int | float | bool],
        Meta(description="Values that stand for `${name}` everywhere below; `--set name=value` gives others."),
    ] = {}
    cluster: Annotated[
        list[str | JsonObject], Meta(description="What is there at the start: files, directories or objects.")
    ] = []
    config: Annotated[str | JsonObject | None, Meta(description="A KubeSchedulerConfiguration, or its file.")] = None
    plugins: Annotated[list[str], Meta(description="Python files with plugins.")] = []
    feature_gates: Annotated[dict[str, bool], Meta(description="Feature gates of the scheduler.")] = {}
    kubelets: Annotated[str | JsonObject | None, Meta(description="A KubeletPolicy, or its file.")] = None
    controllers: Annotated[bool, Meta(description="Whether Deployments and their like make pods.")] = True
    extenders: Annotated[bool, Meta(description="Whether extenders of the configuration are called, in real time.")] = (
        False
    )
    pools: Annotated[str | JsonObject | None, Meta(description="NodePools, or their file.")] = None
    autoscaler: Annotated[AutoscalerSettings, Meta(description="How pools grow and shrink.")] = AutoscalerSettings()
    timeline: Annotated[list[Step], Meta(description="What happens when.")] = []
    generators: Annotated[list[Generator], Meta(description="Pods or Jobs that arrive.")] = []
    stop: Annotated[Stop, Meta(description="When it ends.")] = Stop()
    measure: Annotated[list[str], Meta(description="The numbers to report; default: all.")] = []
    expect: Annotated[
        dict[str, int | float | str],
        Meta(description='What the numbers must be: `pending: 0`, `waitP99: "<= 30s"`; else the exit code is 1.'),
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
