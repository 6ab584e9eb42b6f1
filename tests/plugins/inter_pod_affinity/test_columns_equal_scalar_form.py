# SPDX-License-Identifier: Apache-2.0
"""Whatever happens to the cluster, the kernels of InterPodAffinity say what its scalar form says."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.equivalence.examples import search
from tests.plugins.inter_pod_affinity.column_cluster import AffinityCluster, Probe
from tests.plugins.many_terms import every_pod_has_many_terms

from steersman.config import InterPodAffinityArgs
from steersman.testing import NodeBuilder, PodBuilder, exists, is_in, make_node, make_pod, not_in
from steersman.testing.selecting import Selecting

HOSTNAME = "kubernetes.io/hostname"
NODES = tuple(f"node{n}" for n in range(6))
PODS = tuple(f"pod{n}" for n in range(8))
NAMESPACES = ("red", "red", "blue", "green")
SELECTORS: tuple[Selecting, ...] = (
    {"app": "web"},
    {"app": "web"},
    {"app": "db"},
    {"app": "web", "tier": "front"},
    exists("tier"),
    not_in("app", "db"),
    {},
    None,
)
NAMESPACE_SELECTORS: tuple[Selecting, ...] = (
    None,
    None,
    {},
    {"team": "one"},
    is_in("team", "one", "two"),
    not_in("team", "one"),
)

labels = st.fixed_dictionaries(
    {"app": st.sampled_from(["web", "web", "db"])}, optional={"tier": st.sampled_from(["front", "back"])}
)
team = st.none() | st.fixed_dictionaries({"team": st.sampled_from(["one", "two"])})


@st.composite
def some_nodes(draw: st.DrawFn) -> NodeBuilder:
    name = draw(st.sampled_from(NODES))
    node = make_node(name)
    # Hostnames are the node's own, as a rule; a missing or shared one takes the general way through the tables.
    hostname = draw(st.sampled_from([name, name, name, "shared", None]))
    zone = draw(st.sampled_from(["east", "west", "north", None]))
    rack = draw(st.sampled_from(["r1", "r2", None]))
    chosen = {HOSTNAME: hostname, "zone": zone, "rack": rack}
    return node.labels({key: value for key, value in chosen.items() if value is not None})


@st.composite
def some_pods(draw: st.DrawFn, least_terms: int = 0) -> PodBuilder:
    pod = make_pod().namespace(draw(st.sampled_from(NAMESPACES))).labels(draw(labels))
    for _ in range(draw(st.integers(least_terms, 3))):
        pod = _with_term(draw, pod)
    return pod


def _with_term(draw: st.DrawFn, pod: PodBuilder) -> PodBuilder:
    add = draw(st.sampled_from([pod.pod_affinity, pod.anti_affinity]))
    return add(
        draw(st.sampled_from([HOSTNAME, "zone", "rack"])),
        draw(st.sampled_from(SELECTORS)),
        weight=draw(st.sampled_from([0, 0, 1, 7, 100])),
        namespaces=draw(st.sampled_from([(), (), ("red",), ("blue", "green")])),
        namespace_selector=draw(st.sampled_from(NAMESPACE_SELECTORS)),
    )


@st.composite
def placed_pods(draw: st.DrawFn) -> PodBuilder:
    pod = draw(some_pods()).name(draw(st.sampled_from(PODS))).node(draw(st.sampled_from(NODES)))
    return pod.terminating() if draw(st.integers(0, 3)) == 3 else pod


class Events(RuleBasedStateMachine):
    """Nodes, pods and namespaces come, change and go; a few pods are compared after each event."""

    @initialize(
        probes=st.lists(some_pods(least_terms=1), min_size=2, max_size=2),
        anyone=some_pods(),
        hard_weight=st.sampled_from([0, 1, 100]),
        ignores_preferences=st.booleans(),
        nodes=st.lists(some_nodes(), min_size=2, max_size=6),
        pods=st.lists(placed_pods(), max_size=6),
    )
    def begin(
        self,
        probes: list[PodBuilder],
        anyone: PodBuilder,
        hard_weight: int,
        ignores_preferences: bool,
        nodes: list[NodeBuilder],
        pods: list[PodBuilder],
    ) -> None:
        self.cluster = AffinityCluster.holding(nodes, pods, [])
        args = InterPodAffinityArgs(
            hard_pod_affinity_weight=hard_weight, ignore_preferred_terms_of_existing_pods=ignores_preferences
        )
        self.probes = [Probe(pod.info(), self.cluster, args) for pod in (*probes, anyone)]
        self.compare()

    @rule(node=some_nodes())
    def a_node_comes_or_changes(self, node: NodeBuilder) -> None:
        self.cluster.set_node(node)
        self.compare()

    @rule(name=st.sampled_from(NODES))
    def a_node_goes(self, name: str) -> None:
        self.cluster.remove_node(name)
        self.compare()

    @rule(pod=placed_pods())
    def a_pod_comes_or_changes(self, pod: PodBuilder) -> None:
        self.cluster.set_pod(pod)
        self.compare()

    @rule(name=st.sampled_from(PODS))
    def a_pod_goes(self, name: str) -> None:
        self.cluster.remove_pod(name)
        self.compare()

    @rule(name=st.sampled_from(NAMESPACES), labels=team)
    def a_namespace_changes(self, name: str, labels: dict[str, str] | None) -> None:
        self.cluster.set_namespace(name, labels)
        self.compare()

    def compare(self) -> None:
        for probe in self.probes:
            probe.compare()


TestEvents = Events.TestCase
TestEvents.settings = search(50, stateful_step_count=15)


class EventsWithManyTerms(Events):
    """The same with the algorithms of pods that have very many terms."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = every_pod_has_many_terms()

    def teardown(self) -> None:
        self.patches.close()


TestEventsWithManyTerms = EventsWithManyTerms.TestCase
TestEventsWithManyTerms.settings = search(25, stateful_step_count=15)
