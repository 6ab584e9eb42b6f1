# SPDX-License-Identifier: Apache-2.0
"""What may happen to a cluster. An event that cannot happen at the moment has no effect, so that any list of them is a
story, and a shorter list is one too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hypothesis import strategies as st
from tests.equivalence import vocabulary as words
from tests.equivalence.cluster import Cluster
from tests.equivalence.vocabulary import HOSTNAME, Call, Calls

from steersman import api
from steersman.scheduler.state.cache import PodRecord
from steersman.scheduler.state.pod_lifecycle import CachedPodState
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
class PodComes:
    """A new pod is seen on a node, which may not be known; or the scheduler decides so, if it is."""

    node: str
    assumed: bool
    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        pod = words.pod_of(cluster.new_pod_name(), self.calls)
        if not self.assumed:
            cluster.cache.add_pod(pod.node(self.node).obj())
        elif cluster.has_node(self.node):
            cluster.cache.assume(cluster.pending(pod.obj()), self.node)


@dataclass(frozen=True)
class PodGoes:
    which: int

    def happen(self, cluster: Cluster) -> None:
        record = cluster.some_pod(self.which)
        if record is not None:
            cluster.cache.remove_pod(record.info.pod)


@dataclass(frozen=True)
class PodChanges:
    """The watch shows a pod with changes. An assumed one is thereby confirmed, perhaps on another node."""

    which: int
    elsewhere: str | None
    calls: Calls

    def happen(self, cluster: Cluster) -> None:
        record = cluster.some_pod(self.which)
        if record is None:
            return
        pod = _changed(record, self.calls, self.elsewhere or record.node_name)
        if record.state is CachedPodState.ADDED:
            cluster.cache.update_pod(pod)
        else:
            cluster.cache.add_pod(pod)


@dataclass(frozen=True)
class BindingEnds:
    """The binding of an assumed pod succeeded, or failed."""

    which: int
    success: bool

    def happen(self, cluster: Cluster) -> None:
        record = cluster.some_pod(self.which, assumed=True)
        if record is None:
            return
        if self.success:
            cluster.cache.finish_binding(record.info)
        else:
            cluster.cache.forget(record.info)


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
        cluster.cache.nodes.on_namespaces_changed()


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
    """These pods, and no others, are nominated to a node."""

    node: str
    pods: Sequence[Calls]

    def happen(self, cluster: Cluster) -> None:
        builders = [words.pod_of("nominated", calls) for calls in self.pods]
        uids = [f"nominated-to-{self.node}-{index}" for index in range(len(builders))]
        pods = [cluster.pending(pod.uid(uid).obj()) for pod, uid in zip(builders, uids, strict=True)]
        cluster.nominated.put(self.node, pods)


@dataclass(frozen=True)
class NominateEvaluated:
    """One of the pods that are evaluated is nominated to a node, besides others."""

    node: str
    which: int

    def happen(self, cluster: Cluster) -> None:
        pod = cluster.evaluated[self.which % len(cluster.evaluated)]
        for name, others in list(cluster.nominated.by_node.items()):
            cluster.nominated.put(name, [other for other in others if other.uid != pod.uid])
        cluster.nominated.put(self.node, [*cluster.nominated.pods_on(self.node), pod])


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
            PodComes(node, False, self.calls).happen(cluster)


@dataclass(frozen=True)
class TimePasses:
    """The clock moves on, and no object changes."""

    seconds: float

    def happen(self, cluster: Cluster) -> None:
        cluster.clock.advance(self.seconds)


def _changed(record: PodRecord, calls: Calls, node: str) -> api.Pod:
    """The pod of the record as the API server shows it after the calls."""
    builder = PodBuilder(record.info.pod)
    for each in calls:
        builder = getattr(builder, each.method)(*each.args, **each.kwargs)
    return builder.node(node).obj()


# -- random ones ---------------------------------------------------------------------------------------------------------

numbers = st.integers(0, 9)
label_maps = st.sampled_from([{}, {"team": "a"}, {"team": "b"}])
selector_maps = st.sampled_from([None, {"app": "web"}, {"app": "db"}, {"tier": "1"}])


def _usual_node(name: str, calls: Calls) -> SetNode:
    return SetNode(name, (Call("label", (HOSTNAME, name)), *calls))


node_events: st.SearchStrategy[Event] = words.mostly(
    (3, st.builds(_usual_node, words.names, words.usual_nodes)),
    (2, st.builds(SetNode, words.names, words.odd_nodes)),
    (1, st.builds(RemoveNode, words.names)),
)
pod_events: st.SearchStrategy[Event] = words.mostly(
    (6, st.builds(PodComes, words.names, st.booleans(), words.pods)),
    (3, st.builds(PodGoes, numbers)),
    (2, st.builds(PodChanges, numbers, st.one_of(st.none(), words.names), words.changes_of_pods)),
    (1, st.builds(BindingEnds, numbers, st.booleans())),
)
other_events: st.SearchStrategy[Event] = st.one_of(
    st.builds(SetNamespace, st.sampled_from(words.NAMESPACES), st.one_of(st.none(), label_maps)),
    st.builds(SetOwner, st.booleans(), st.sampled_from(["web", "db"]), selector_maps),
    st.builds(Nominate, words.names, st.lists(words.waiting_pods, max_size=2)),
    st.builds(NominateEvaluated, words.names, numbers),
    st.builds(TimePasses, st.sampled_from([1.0, 60.0, 3600.0, 5 * 3600.0, 30 * 3600.0])),
)
events: st.SearchStrategy[Event] = words.mostly((7, pod_events), (2, node_events), (1, other_events))
nominating_events: st.SearchStrategy[Event] = words.mostly(
    (
        4,
        st.builds(
            Nominate, words.names, st.lists(words.mostly((3, words.modest_pods), (1, words.waiting_pods)), max_size=3)
        ),
    ),
    (1, st.builds(NominateEvaluated, words.names, numbers)),
    (4, events),
)
bulk_events: st.SearchStrategy[Event] = words.mostly(
    (3, st.builds(ManyNodes, st.sampled_from([20, 45]), st.booleans(), words.usual_nodes)),
    (1, st.builds(ManyPods, words.pods)),
    (3, events),
)


def _beginning(nodes: list[Calls], pods: list[tuple[int, Calls]], owners: list[Event]) -> list[Event]:
    added: list[Event] = [_usual_node(name, calls) for name, calls in zip(words.NODE_NAMES, nodes, strict=False)]
    running = [PodComes(words.NODE_NAMES[place % len(nodes)], False, calls) for place, calls in pods]
    return [*added, *running, *owners]


beginnings: st.SearchStrategy[list[Event]] = st.builds(
    _beginning,
    st.lists(words.usual_nodes, min_size=3, max_size=5),
    st.lists(st.tuples(numbers, words.pods), min_size=3, max_size=6),
    st.lists(st.builds(SetOwner, st.booleans(), st.sampled_from(["web", "db"]), selector_maps), max_size=2),
)
"""A cluster with a few usual nodes, pods on them, and services or replica sets."""
