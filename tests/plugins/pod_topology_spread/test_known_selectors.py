# SPDX-License-Identifier: Apache-2.0
"""The selectors that are remembered are those that would be found anew."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.equivalence.examples import search

from steersman import api
from steersman.framework.pod_info import PodShapes
from steersman.scheduler.plugins.pod_topology_spread.default_selector import DefaultSelectorCache, default_selector
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import (
    Expression,
    is_in,
    make_pod,
    make_replica_set,
    make_replication_controller,
    make_service,
    make_stateful_set,
)

NAMESPACES = ("red", "blue")
NAMES = ("one", "two")
KINDS = ("ReplicaSet", "StatefulSet", "ReplicationController", "Job")
labels = st.fixed_dictionaries(
    {}, optional={"app": st.sampled_from(["web", "db"]), "version": st.sampled_from(["1", "2"]), "index": st.just("7")}
)


@st.composite
def some_objects(draw: st.DrawFn) -> api.Object:
    name, namespace, selected = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMESPACES)), draw(labels)
    kind = draw(st.sampled_from(["Service", *KINDS[:3]]))
    if kind == "Service":
        return make_service(name).namespace(namespace).selector(selected).obj()
    if kind == "ReplicationController":
        return make_replication_controller(name).namespace(namespace).selector(selected).obj()
    make = make_replica_set if kind == "ReplicaSet" else make_stateful_set
    wrong = Expression("app", "Unknown", ("web",))
    selecting = draw(st.sampled_from([selected, selected, is_in("app", "web", "db"), wrong, None]))
    return make(name).namespace(namespace).selector(selecting).obj()


@st.composite
def some_pods(draw: st.DrawFn) -> api.Pod:
    pod = make_pod().namespace(draw(st.sampled_from(NAMESPACES))).labels(draw(labels))
    for _ in range(draw(st.integers(0, 2))):
        pod = pod.owner(draw(st.sampled_from(KINDS)), draw(st.sampled_from(NAMES)), controller=draw(st.booleans()))
    return pod.obj()


class Events(RuleBasedStateMachine):
    @initialize(pods=st.lists(some_pods(), min_size=3, max_size=6))
    def begin(self, pods: list[api.Pod]) -> None:
        self.objects = ObjectStore()
        self.known = DefaultSelectorCache(self.objects)
        self.pods = pods

    @rule(obj=some_objects())
    def an_object_comes_or_changes(self, obj: api.Object) -> None:
        self.objects.put(obj)
        self.compare()

    @rule(obj=some_objects())
    def an_object_goes(self, obj: api.Object) -> None:
        self.objects.remove(obj)
        self.compare()

    def compare(self) -> None:
        for pod in self.pods:
            assert self.known.selector_of(PodShapes().info(pod)) == default_selector(pod, self.objects)


TestEvents = Events.TestCase
TestEvents.settings = search(50, stateful_step_count=20)
