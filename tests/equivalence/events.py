"""What may happen to a cluster. An event that cannot happen at the moment has no effect, so that any list of them is a
story, and a shorter list is one too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from hypothesis import strategies as st
from tests.equivalence import vocabulary as words
from tests.equivalence.cluster import Cluster
from tests.equivalence.vocabulary import HOSTNAME, Call, Calls

from steersman import api
from steersman.state.cache import PodRecord
from steersman.state.pod_lifecycle import PodState
from steersman.testing import PodBuilder, make_namespace, make_replica_set, make_service


class Event(Protocol):
    def happen(self, cluster: Cluster) -> None: ...


@dataclass(frozen=True)
class SetNode:
    """A node is added or changed."""

    name: str
    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        cluster.cache.set_node(words.node_of(self.name, self.calls))


@dataclass(frozen=True)
class RemoveNode:
    name: str

    def happen(self, cluster: Cluster) -> None:
        row = cluster.cache.nodes.row_of(self.name)
        if row is not None:
            cluster.cache.remove_node(cluster.cache.nodes.node(row))


@dataclass(frozen=True)
class AddPod:
    """A pod is seen on a node, which may not be known."""

    name: str
    node: str
    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        pod = words.pod_of(self.name, self.calls).node(self.node).uid(self.name).obj()
        record = cluster.cache.get(self.name)
        if record is None or record.state is not PodState.ADDED:
            cluster.cache.add_pod(pod)


@dataclass(frozen=True)
class Assume:
    """The scheduler has decided."""

    name: str
    node: str
    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        if cluster.cache.get(self.name) is None and cluster.has_node(self.node):
            pod = words.pod_of(self.name, self.calls).uid(self.name)
            cluster.cache.assume(cluster.pending(pod.obj()), self.node)


@dataclass(frozen=True)
class Confirm:
    """The watch shows an assumed pod, on the node it was assumed on or on another."""

    name: str
    elsewhere: str | None
    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        record = cluster.cache.get(self.name)
        if record is not None and record.state is not PodState.ADDED:
            node = self.elsewhere or record.node_name
            cluster.cache.add_pod(_changed(record, self.calls, node))


@dataclass(frozen=True)
class EndOfBinding:
    """The binding of an assumed pod succeeded, or failed."""

    name: str
    success: bool

    def happen(self, cluster: Cluster) -> None:
        record = cluster.cache.get(self.name)
        if record is None or not cluster.cache.is_assumed(self.name):
            return
        if self.success:
            cluster.cache.finish_binding(record.info)
        else:
            cluster.cache.forget(record.info)


@dataclass(frozen=True)
class UpdatePod:
    name: str
    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        record = cluster.cache.get(self.name)
        if record is not None and record.state is PodState.ADDED:
            cluster.cache.update_pod(_changed(record, self.calls, record.node_name))


@dataclass(frozen=True)
class RemovePod:
    name: str

    def happen(self, cluster: Cluster) -> None:
        record = cluster.cache.get(self.name)
        if record is not None:
            cluster.cache.remove_pod(record.info.pod)


@dataclass(frozen=True)
class SetNamespace:
    """A namespace gets these labels; None: it is deleted."""

    name: str
    labels: Mapping[str, str] | None

    def happen(self, cluster: Cluster) -> None:
        namespace = make_namespace(self.name).labels(self.labels or {}).obj()
        if self.labels is None:
            cluster.objects.remove(namespace)
        else:
            cluster.objects.put(namespace)
        cluster.cache.nodes.namespaces_changed()


@dataclass(frozen=True)
class SetOwner:
    """A service or replica set selects pods by these labels; None: it is deleted."""

    service: bool
    name: str
    selector: Mapping[str, str] | None

    def happen(self, cluster: Cluster) -> None:
        make = make_service if self.service else make_replica_set
        owner: api.Object = make(self.name).selector(self.selector or {}).obj()
        if self.selector is None:
            cluster.objects.remove(owner)
        else:
            cluster.objects.put(owner)


@dataclass(frozen=True)
class Nominate:
    """A waiting pod is nominated to a node; without calls, the nominations of the node are dropped."""

    node: str
    calls: Calls | None

    def happen(self, cluster: Cluster) -> None:
        cluster.nominated.pop(self.node, None)
        if self.calls is not None:
            pod = words.pod_of("nominated", self.calls).uid(f"nominated-to-{self.node}")
            cluster.nominated[self.node] = [cluster.pending(pod.obj())]


@dataclass(frozen=True)
class ManyNodes:
    """A part of the cluster appears, or disappears, at once."""

    count: int
    remove: bool
    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        for index in range(self.count):
            name = f"many-{index}"
            if self.remove:
                RemoveNode(name).happen(cluster)
            else:
                SetNode(name, (*self.calls, Call("label", (HOSTNAME, name)))).happen(cluster)


@dataclass(frozen=True)
class ManyPods:
    """Every node gets a pod of one template."""

    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        for node in list(cluster.cache.nodes.rows):
            AddPod(f"pod-of-{node}", node, self.calls).happen(cluster)


def _changed(record: PodRecord, calls: Calls, node: str) -> api.Pod:
    """The pod of the record as the API server shows it after the calls."""
    builder = PodBuilder(record.info.pod)
    for each in calls:
        builder = getattr(builder, each.method)(*each.args, **each.kwargs)
    return builder.node(node).obj()


# -- random ones ---------------------------------------------------------------------------------------------------------

pod_names = st.sampled_from([f"p{index}" for index in range(8)])
label_maps = st.sampled_from([{}, {"team": "a"}, {"team": "b"}])
selector_maps = st.sampled_from([None, {"app": "web"}, {"app": "db"}, {"tier": "1"}])


def _usual_node(name: str, calls: Calls) -> SetNode:
    return SetNode(name, (Call("label", (HOSTNAME, name)), *calls))


node_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(_usual_node, words.names, words.usual_nodes),
    st.builds(SetNode, words.names, words.odd_nodes),
    st.builds(RemoveNode, words.names),
)
pod_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(AddPod, pod_names, words.names, words.pods),
    st.builds(AddPod, pod_names, words.names, words.pods),
    st.builds(Assume, pod_names, words.names, words.pods),
    st.builds(Confirm, pod_names, st.one_of(st.none(), words.names), words.changes_of_pods),
    st.builds(EndOfBinding, pod_names, st.booleans()),
    st.builds(UpdatePod, pod_names, words.changes_of_pods),
    st.builds(RemovePod, pod_names),
)
other_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(SetNamespace, st.sampled_from(words.NAMESPACES), st.one_of(st.none(), label_maps)),
    st.builds(SetOwner, st.booleans(), st.sampled_from(["web", "db"]), selector_maps),
    st.builds(Nominate, words.names, st.one_of(st.none(), words.waiting_pods)),
)
events: st.SearchStrategy[Event] = st.one_of(node_events, pod_events, pod_events, other_events)
bulk_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(ManyNodes, st.sampled_from([20, 45]), st.booleans(), words.usual_nodes),
    st.builds(ManyPods, words.pods),
    events,
)


def _beginning(nodes: list[Calls], pods: list[tuple[int, Calls]], owners: list[Event]) -> list[Event]:
    added: list[Event] = [_usual_node(name, calls) for name, calls in zip(words.NODE_NAMES, nodes, strict=False)]
    running = [
        AddPod(f"p{index}", words.NODE_NAMES[place % len(nodes)], calls) for index, (place, calls) in enumerate(pods)
    ]
    return [*added, *running, *owners]


beginnings: st.SearchStrategy[list[Event]] = st.builds(
    _beginning,
    st.lists(words.usual_nodes, min_size=3, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), words.pods), min_size=3, max_size=6),
    st.lists(st.builds(SetOwner, st.booleans(), st.sampled_from(["web", "db"]), selector_maps), max_size=2),
)
"""A cluster with a few usual nodes, pods on them, and services or replica sets."""
