# SPDX-License-Identifier: Apache-2.0
"""The tools: the arguments and the command line of each.

Arguments are structs, from which the input schemas are made; one that does not fit is an
`InputError` that names it. All commands only read. A tool cannot set options that write a file or
run code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Final, Self

import msgspec
from msgspec import Meta

from steersman.base import InputError

_POD: Final = "NAME in the namespace default, or NAMESPACE/NAME."
_FILES: Final = (
    "Manifests or dumps of a cluster (YAML, JSON, .gz), such as `kubectl get nodes,pods,… -A -o json`: files or directories of "
    "the machine that the server runs on. Without any, the live cluster of the server's kubeconfig is read."
)
_NODES: Final = "Names of nodes, label selectors such as topology.kubernetes.io/zone=a, or pool/NAME."
Files = Annotated[list[str], Meta(description=_FILES)]
Seed = Annotated[int, Meta(description="Seed for the choice among equally good nodes.")]
Nodes = Annotated[list[str], Meta(min_length=1, description=_NODES)]
ConfigurationName = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")]


class ToolArguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Base class of the arguments of all tools; its subclasses are the tools."""

    #: The words of the command, before its options.
    COMMAND: ClassVar[tuple[str, ...]] = ()
    TITLE: ClassVar[str] = ""
    #: Exit codes that come with an answer.
    ANSWERS: ClassVar[frozenset[int]] = frozenset({0, 1})
    #: Value of --config if the server was started without one; "" to omit the option.
    OWN_CONFIG: ClassVar[str] = ""

    files: Files = []

    @classmethod
    def name(cls) -> str:
        """Return the name of the tool: `plan_drain`."""
        return "_".join(cls.COMMAND)

    @classmethod
    def decoded(cls, arguments: dict[str, Any]) -> Self:
        """Parse the arguments of a call. Raises `InputError`."""
        try:
            return msgspec.convert(arguments, cls)
        except msgspec.ValidationError as error:
            raise InputError(str(error), object=f"arguments of {cls.name()}") from error

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        found = msgspec.json.schema(cls)
        schema: dict[str, Any] = found["$defs"][cls.__name__]
        return {key: value for key, value in schema.items() if key not in ("title", "description")}

    def paths(self) -> Iterator[str]:
        """Yield the files that are read, to be checked before."""
        yield from self.files

    def texts(self) -> dict[str, str]:
        """Return documents of the call by the option that takes a file with each, including the
        name that the option takes before the file, if any: `--config=packed`."""
        return {}

    def options(self) -> Iterator[str]:
        """Yield the options of the command line, except files and those that select the cluster."""
        yield from ()

    def positional(self) -> list[str]:
        """Return the positional arguments of the command line, after `--`."""
        return []


class Simulate(ToolArguments):
    """Schedule pods without a cluster, in virtual time, with kube-scheduler's decisions: where every pod goes, what stays
    pending and why, how full nodes are. Manifests of the call come on top of the files or of the live cluster: what would
    happen if they were applied."""

    COMMAND = ("simulate",)
    TITLE = "Simulate scheduling"
    ANSWERS = frozenset({0, 1, 4})

    manifests_yaml: Annotated[str, Meta(description="Further manifests, as YAML text.")] = ""
    explain: Annotated[list[str], Meta(description=f"Pods to explain: {_POD}")] = []
    fixes: Annotated[
        bool, Meta(description="Also look for the smallest changes that make the explained pods schedule.")
    ] = False
    until: Annotated[str, Meta(description="Stop after so much virtual time, for example 10m.")] = ""
    seed: Seed = 0

    def texts(self) -> dict[str, str]:
        return {"--filename": self.manifests_yaml} if self.manifests_yaml else {}

    def options(self) -> Iterator[str]:
        yield f"--seed={self.seed}"
        for pod in self.explain:
            yield f"--explain={pod}"
        if self.fixes and self.explain:
            yield "--fixes"
        if self.until:
            yield f"--until={self.until}"


class Explain(ToolArguments):
    """Say why pods are pending or where they are: the cause in a sentence, groups of nodes by the objection that decides, the
    smallest verified changes that would help as kubectl commands and patches, and when the pod is tried again."""

    COMMAND = ("explain",)
    TITLE = "Explain pods"

    pods: Annotated[list[str], Meta(description=f"The pods: {_POD} Without any, all pods that wait for a node.")] = []
    namespace: Annotated[str, Meta(description="Of pods without one, and of all pods that wait.")] = ""
    fixes: Annotated[
        bool, Meta(description="Look for changes that make a pending pod schedule, each tried on a copy.")
    ] = True
    to: Annotated[str, Meta(description="Of a placed pod: what would bring it to this node.")] = ""

    def options(self) -> Iterator[str]:
        yield "--fixes" if self.fixes else "--no-fixes"
        if not self.pods:
            yield "--all-pending"
        if self.namespace:
            yield f"--namespace={self.namespace}"
        if self.to:
            yield f"--to={self.to}"

    def positional(self) -> list[str]:
        return self.pods


class PlanCapacity(ToolArguments):
    """How many more of these pods fit in the cluster, what limits it and where."""

    COMMAND = ("plan", "capacity")
    TITLE = "Plan: capacity"

    pods: Annotated[
        list[str],
        Meta(description="Files with a Pod, or a workload whose template is used; FILE:WEIGHT makes a mix."),
    ] = []
    pod_yaml: Annotated[str, Meta(description="A Pod or workload as YAML text, instead of files.")] = ""
    preemption: Annotated[bool, Meta(description="Also: how many fit if pods of lower priority may be preempted.")] = (
        False
    )
    at_least: Annotated[int, Meta(ge=0, description="The answer is yes if at least this number fits.")] = 1

    def paths(self) -> Iterator[str]:
        yield from self.files
        yield from self.pods  # a file may have such a name
        yield from (pod.rpartition(":")[0] for pod in self.pods if _has_weight(pod))

    def texts(self) -> dict[str, str]:
        return {"--pod": self.pod_yaml} if self.pod_yaml else {}

    def options(self) -> Iterator[str]:
        yield from (f"--pod={pod}" for pod in self.pods)
        yield f"--at-least={self.at_least}"
        if self.preemption:
            yield "--preemption"


class PlanDrain(ToolArguments):
    """Where pods go if nodes are drained, and what stands in the way: budgets, pods that no controller recreates, room."""

    COMMAND = ("plan", "drain")
    TITLE = "Plan: drain"

    nodes: Nodes
    one_by_one: Annotated[bool, Meta(description="A rolling replacement: a new node takes the place of each.")] = False
    at_a_time: Annotated[int, Meta(ge=1, description="With one_by_one: nodes to replace together.")] = 1
    keep_going: Annotated[bool, Meta(description="With one_by_one: go on after a node that stays.")] = False

    def options(self) -> Iterator[str]:
        if self.one_by_one:
            yield from ("--one-by-one", "--at-a-time", str(self.at_a_time))
        if self.one_by_one and self.keep_going:
            yield "--keep-going"

    def positional(self) -> list[str]:
        return self.nodes


class PlanLose(ToolArguments):
    """Where pods go if nodes, a zone or a pool are gone at once, and what is lost or pending."""

    COMMAND = ("plan", "lose")
    TITLE = "Plan: lose"

    nodes: Nodes

    def positional(self) -> list[str]:
        return self.nodes


class PlanTaint(ToolArguments):
    """Show where pods go if nodes get a taint."""

    COMMAND = ("plan", "taint")
    TITLE = "Plan: taint"

    nodes: Nodes
    taints: Annotated[list[str], Meta(min_length=1, description="KEY=VALUE:EFFECT or KEY:EFFECT.")]

    def positional(self) -> list[str]:
        return [*self.nodes, *self.taints]


class PlanCompact(ToolArguments):
    """Which moves of pods, in an order that disruption budgets allow, make pending pods fit or empty nodes."""

    COMMAND = ("plan", "compact")
    TITLE = "Plan: compact"

    budget: Annotated[int, Meta(ge=0, le=1000, description="Maximum number of moves.")] = 20
    pods: Annotated[list[str], Meta(description=f"Make these pending pods fit, and empty no nodes: {_POD}")] = []

    def options(self) -> Iterator[str]:
        yield f"--budget={self.budget}"
        yield from (f"--for={pod}" for pod in self.pods)


class PlanNodes(ToolArguments):
    """Find the cheapest nodes to add so that everything fits."""

    COMMAND = ("plan", "nodes")
    TITLE = "Plan: nodes"

    pools: Annotated[str, Meta(min_length=1, description="A file with a document of kind NodePools.")]
    remove: Annotated[bool, Meta(description="Allow removing existing nodes of the pools.")] = False

    def paths(self) -> Iterator[str]:
        yield from (*self.files, self.pools)

    def options(self) -> Iterator[str]:
        yield f"--pools={self.pools}"
        if self.remove:
            yield "--remove"


class PlanCompare(ToolArguments):
    """What other configurations of the scheduler would make of the same workload: pods pending, nodes in use, waiting, with
    intervals over seeds. They are compared with the server's own configuration, or with kube-scheduler's defaults."""

    COMMAND = ("plan", "compare")
    TITLE = "Plan: compare configurations"
    OWN_CONFIG = "default"

    configurations: Annotated[
        dict[ConfigurationName, str], Meta(description="Files with a KubeSchedulerConfiguration, by a name for each.")
    ] = {}
    proposed_yaml: Annotated[
        str, Meta(description="A KubeSchedulerConfiguration as YAML text, which is called proposed.")
    ] = ""
    seeds: Annotated[int, Meta(ge=1, le=100, description="Number of runs of each configuration.")] = 5
    reschedule: Annotated[bool, Meta(description="Place every pod again, including pods that have a node.")] = False

    def paths(self) -> Iterator[str]:
        yield from (*self.files, *self.configurations.values())

    def texts(self) -> dict[str, str]:
        return {"--config=proposed": self.proposed_yaml} if self.proposed_yaml else {}

    def options(self) -> Iterator[str]:
        yield from (f"--config={name}={file}" for name, file in self.configurations.items())
        yield f"--seeds={self.seeds}"
        if self.reschedule:
            yield "--reschedule"


class PlanRequests(ToolArguments):
    """What changes if pods asked for what they use: requests in all, pods that fit or stay pending, nodes with too little."""

    COMMAND = ("plan", "requests")
    TITLE = "Plan: requests"

    usage: Annotated[
        str, Meta(description="A CSV file of krr or Prometheus: namespace, pod, container, cpu, memory.")
    ] = ""
    usage_csv: Annotated[str, Meta(description="The same as text, instead of a file.")] = ""
    headroom: Annotated[float, Meta(ge=0, le=1000, description="Request this percentage more.")] = 0.0
    reschedule: Annotated[bool, Meta(description="Place every pod again, including pods that have a node.")] = False

    def paths(self) -> Iterator[str]:
        yield from self.files
        if self.usage:
            yield self.usage

    def texts(self) -> dict[str, str]:
        return {"--usage": self.usage_csv} if self.usage_csv else {}

    def options(self) -> Iterator[str]:
        if self.usage and not self.usage_csv:
            yield f"--usage={self.usage}"
        yield f"--headroom={self.headroom}"
        if self.reschedule:
            yield "--reschedule"


TOOLS: Final[dict[str, type[ToolArguments]]] = {
    tool.name(): tool
    for tool in (
        Explain,
        Simulate,
        PlanCapacity,
        PlanDrain,
        PlanLose,
        PlanTaint,
        PlanCompact,
        PlanNodes,
        PlanCompare,
        PlanRequests,
    )
}


def _has_weight(pod: str) -> bool:
    return pod.rpartition(":")[2].isdigit()
