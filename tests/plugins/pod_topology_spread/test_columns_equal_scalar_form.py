# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the cluster, the kernels of PodTopologySpread say what its scalar form says."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.equivalence.examples import search
from tests.plugins.many_terms import every_pod_has_many_terms
from tests.plugins.pod_topology_spread.column_cluster import Probe, SpreadCluster

from steersman import api
from steersman.config import DefaultingType, PodTopologySpreadArgs
from steersman.testing import NodeBuilder, PodBuilder, exists, is_in, make_node, make_pod, make_service, not_in
from steersman.testing.selecting import Selecting

NODES = tuple(f"node{n}" for n in range(6))
PODS = tuple(f"pod{n}" for n in range(20))
RACK = "rack"
SELECTORS: tuple[Selecting, ...] = (
    *({"app": "web"},) * 6,
    {"app": "db"},
    {"app": "web", "version": "1"},
    exists("version"),
    not_in("app", "db"),
    {},
    None,
)
POLICIES = ("Honor", "Ignore", None)
#: By name: what services select.
SERVICES = {"web": {"app": "web"}, "first": {"version": "1"}}
DEFAULTS = (
    api.TopologySpreadConstraint(topology_key=api.ZONE_LABEL, max_skew=1, when_unsatisfiable="DoNotSchedule"),
    api.TopologySpreadConstraint(topology_key=api.HOSTNAME_LABEL, max_skew=2, when_unsatisfiable="ScheduleAnyway"),
    api.TopologySpreadConstraint(topology_key=RACK, max_skew=1, when_unsatisfiable="ScheduleAnyway"),
)
ARGS = (
    PodTopologySpreadArgs(defaulting_type=DefaultingType.SYSTEM),
    PodTopologySpreadArgs(defaulting_type=DefaultingType.LIST, default_constraints=DEFAULTS),
    PodTopologySpreadArgs(defaulting_type=DefaultingType.LIST),
)

labels = st.fixed_dictionaries(
    {"app": st.sampled_from(["web", "web", "web", "db"])}, optional={"version": st.sampled_from(["1", "2"])}
)
namespaces = st.sampled_from(["red", "red", "red", "blue"])
seldom = st.sampled_from([False, False, False, True])


@st.composite
def some_nodes(draw: st.DrawFn) -> NodeBuilder:
    name = draw(st.sampled_from(NODES))
    # Hostnames are the node's own, as a rule; a missing or shared one takes the general way through the tables.
    hostname = draw(st.sampled_from([*[name] * 6, "shared", None]))
    zone = draw(st.sampled_from([*["east", "west"] * 3, "north", "", None]))
    rack = draw(st.sampled_from(["r1", "r2", "r1", "r2", None]))
    chosen = {
        api.HOSTNAME_LABEL: hostname,
        api.ZONE_LABEL: zone,
        RACK: rack,
        "disk": draw(st.sampled_from(["ssd", "hdd", None])),
    }
    node = make_node(name).labels({key: value for key, value in chosen.items() if value is not None})
    taint = draw(st.sampled_from([None, None, "NoSchedule", "PreferNoSchedule", "NoExecute"]))
    return node if taint is None else node.taint("dedicated", "db", effect=taint)


@st.composite
def spreading_pods(draw: st.DrawFn) -> PodBuilder:
    """Pods to be scheduled: with constraints of their own, or with the default ones."""
    pod = make_pod().namespace(draw(namespaces)).labels(draw(labels))
    for _ in range(draw(st.integers(0, 3))):
        pod = _with_constraint(draw, pod)
    if draw(seldom):
        pod = pod.node_selector("disk", "ssd")
    expressions = (is_in("disk", "ssd", "hdd"), exists(RACK), is_in(RACK, "r1"))
    for expression in draw(st.lists(st.sampled_from(expressions), max_size=2)) if draw(seldom) else ():
        fields = draw(
            st.sampled_from([(), (), (is_in("metadata.name", "node1"),), (not_in("metadata.name", "node2"),)])
        )
        pod = pod.required_node_affinity(expression, fields=fields)
    return pod.toleration("dedicated", operator="Exists") if draw(seldom) else pod


def _with_constraint(draw: st.DrawFn, pod: PodBuilder) -> PodBuilder:
    return pod.spread(
        draw(st.sampled_from([api.HOSTNAME_LABEL, api.ZONE_LABEL, RACK])),
        max_skew=draw(st.sampled_from([1, 1, 2, 5])),
        when=draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway", "ScheduleAnyway"])),
        selector=draw(st.sampled_from(SELECTORS)),
        min_domains=draw(st.sampled_from([None, None, 1, 2, 4])),
        node_affinity_policy=draw(st.sampled_from(POLICIES)),
        node_taints_policy=draw(st.sampled_from(POLICIES)),
        match_label_keys=draw(st.sampled_from([(), (), ("version",)])),
    )


class Events(RuleBasedStateMachine):
    """Nodes, pods and services come, change and go; a few pods are compared after each event."""

    @initialize(
        pods=st.lists(spreading_pods(), min_size=2, max_size=2),
        args=st.sampled_from(ARGS),
        nodes=st.lists(some_nodes(), min_size=3, max_size=10),
        places=st.dictionaries(st.sampled_from(PODS), st.sampled_from(NODES), min_size=5),
        services=st.sets(st.sampled_from(sorted(SERVICES))),
    )
    def begin(
        self,
        pods: list[PodBuilder],
        args: PodTopologySpreadArgs,
        nodes: list[NodeBuilder],
        places: dict[str, str],
        services: set[str],
    ) -> None:
        self.cluster = SpreadCluster()
        self.probes = [Probe(pod.info(), self.cluster, args) for pod in pods]
        for node in nodes:
            self.cluster.set_node(node)
        for name, node_name in places.items():
            self.cluster.set_pod(make_pod(name).namespace("red").label("app", "web").node(node_name))
        for name in services:
            self.cluster.set_object(make_service(name).namespace("red").selector(SERVICES[name]).obj())

    @rule(node=some_nodes())
    def a_node_comes_or_changes(self, node: NodeBuilder) -> None:
        self.cluster.set_node(node)
        self.compare()

    @rule(name=st.sampled_from(NODES))
    def a_node_goes(self, name: str) -> None:
        self.cluster.remove_node(name)
        self.compare()

    @rule(
        labels=labels,
        namespace=namespaces,
        places=st.dictionaries(st.sampled_from(PODS), st.sampled_from(NODES), min_size=1),
        terminating=st.sampled_from([False, False, False, True]),
    )
    def pods_come_or_change(
        self, labels: dict[str, str], namespace: str, places: dict[str, str], terminating: bool
    ) -> None:
        pod = make_pod().namespace(namespace).labels(labels)
        for name, node in places.items():
            self.cluster.set_pod((pod.terminating() if terminating else pod).name(name).node(node))
        self.compare()

    @rule(name=st.sampled_from(PODS))
    def a_pod_goes(self, name: str) -> None:
        self.cluster.remove_pod(name)
        self.compare()

    @rule(name=st.sampled_from(sorted(SERVICES)), namespace=namespaces, comes=st.booleans())
    def a_service_comes_or_goes(self, name: str, namespace: str, comes: bool) -> None:
        change = self.cluster.set_object if comes else self.cluster.remove_object
        change(make_service(name).namespace(namespace).selector(SERVICES[name]).obj())
        self.compare()

    def compare(self) -> None:
        for probe in self.probes:
            probe.compare()


TestEvents = Events.TestCase
TestEvents.settings = search(35, stateful_step_count=25)


class EventsWithManyTerms(Events):
    """The same with the algorithms of pods that have very many terms."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = every_pod_has_many_terms()

    def teardown(self) -> None:
        self.patches.close()


TestEventsWithManyTerms = EventsWithManyTerms.TestCase
TestEventsWithManyTerms.settings = search(17, stateful_step_count=25)
