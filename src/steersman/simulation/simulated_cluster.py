# SPDX-License-Identifier: Apache-2.0
"""The state of a simulation, and the calls that change it.

    Simulation, Trial ─► SimulatedCluster ─┬─► store: the cluster
                                           ├─► driver: its scheduler and virtual time
                                           └─► journal: every call, so that it can be repeated

`Simulation` and `Trial` hold one `SimulatedCluster` each; other packages reach it as `internals`. A
method that is journaled has the same arguments in `JournaledCall`, and none of them changes
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self
from weakref import ref

from steersman import api
from steersman.base import InputError, ManualClock
from steersman.base.graph_copy import copied_attributes, no_value, shared_by_copies
from steersman.cluster.kubelets import check_annotations, cordon, uncordon
from steersman.cluster.store import CONTROLLED_FINALIZERS, KubeAdmission, Store, delete, evict
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.cycle import Decision
from steersman.simulation.inputs import changes
from steersman.simulation.inputs.changes import refusals_as_input_errors
from steersman.simulation.inputs.intake import Intake
from steersman.simulation.inputs.object_names import parse_reference, pod_key
from steersman.simulation.inputs.sources import Gathered
from steersman.simulation.journal import Journal, JournaledCall
from steersman.simulation.next_decision import NextDecision, check_feasible, next_decision
from steersman.simulation.results.explanation_recorder import ExplanationRecorder
from steersman.simulation.setup import SimulationSetup
from steersman.simulation.virtual_time.driver import Driver, OnDecision

GROUP_POLICIES: Final = "PodGroupPreemptionPolicy"
"""Gate with which pod groups have preemption policies."""


@shared_by_copies
class StateVersion(NamedTuple):
    """A value that changes whenever the simulation changes."""

    calls: int
    resource_version: str
    now: float
    decisions: int


class Origin(NamedTuple):
    """The cluster that a fork is a copy of, and its version at that time."""

    cluster: ref[SimulatedCluster]
    version: StateVersion

    @classmethod
    def from_cluster(cls, cluster: SimulatedCluster) -> Self:
        return cls(ref(cluster), cluster.version)


@copied_attributes(_finalizer=no_value, origin=no_value)
class SimulatedCluster:
    """A store, the driver of its scheduler, and the journal of the calls so far."""

    def __init__(self, setup: SimulationSetup) -> None:
        self.setup = setup
        clock = ManualClock(setup.start)
        awaited = CONTROLLED_FINALIZERS if setup.controllers else frozenset[str]()
        group_policies = setup.options.gates.enabled(GROUP_POLICIES)
        admission = KubeAdmission(check_annotations, group_policies=group_policies)
        self.store = Store(clock, admission=admission, awaited_finalizers=awaited)
        self.driver = Driver(
            self.store, clock, setup.seed, setup.options, setup.kubelets, controllers=setup.controllers
        )
        self.explanations = ExplanationRecorder(self.driver)
        self.journal = Journal(self.store)
        self.intake = Intake(self.store, has_controllers=setup.controllers)
        #: The cluster of which this is a fork, if any.
        self.origin: Origin | None = None
        self.close_when_dropped()

    @property
    def scheduler(self) -> Scheduler:
        return self.driver.scheduler

    @property
    def version(self) -> StateVersion:
        driver = self.driver
        return StateVersion(len(self.journal.calls), self.store.resource_version, driver.now, driver.decisions)

    def close_when_dropped(self) -> None:
        """Close the driver when this object is garbage."""
        self._finalizer = self.driver.closed_with(self)

    def become(self, other: SimulatedCluster) -> None:
        """Replace the state by that of another cluster, which must not be used afterwards. The
        origin stays."""
        origin = self.origin
        self.detach()
        other.detach()
        self.__dict__.update(other.__dict__)
        self.origin = origin
        self.close_when_dropped()

    def detach(self) -> None:
        """Let the tasks of the driver outlive this object."""
        self._finalizer.detach()

    def prepare_forks(self, *pods: str, preemption: bool = False) -> None:
        """Fill the caches that forks made from now on will share: for these pods, `namespace/name`,
        that have no node.

        With `preemption`, also the tables of victims. Plugins refresh what they know from outside.
        Nothing is decided.
        """
        driver = self.driver
        driver.refresh_plugins_once()
        for key in map(pod_key, pods):
            pod = self.store.find(api.Pod, key)
            if pod is not None and not pod.spec.node_name:
                driver.evaluate(driver.scheduler.cache.shapes.info(pod))
        if preemption:
            driver.prepare_preemption()

    # -- changes of the cluster --------------------------------------------------------------------------------------

    def add(self, gathered: Gathered, replaces: bool = False) -> None:
        """Store objects; with `replaces`, existing objects are updated."""
        with self.journal.recording(JournaledCall("add", (gathered, replaces))):
            added = sum(isinstance(given.object, api.Node) for given in gathered.objects)
            self.scheduler.ingest.expect(api.Node, len(self.store.objects(api.Node)) + added)
            self.intake.add(gathered, replaces=replaces)

    def delete(self, kind: type[api.Object], key: str) -> None:
        """Delete an object immediately, with its dependents."""
        with self.journal.recording(JournaledCall("delete", (kind, key))):
            with refusals_as_input_errors():
                delete(self.store, kind, key, propagation="Background", grace_period_seconds=0)
            self.driver.settle()  # objects that controllers held back, and dependents, are gone for the next reader

    def patch(self, what: str, document: Mapping[str, Any]) -> None:
        """Apply a JSON merge patch to the object that `what` names."""
        kind, key = parse_reference(what, self.scheduler.known_kinds)
        with self.journal.recording(JournaledCall("patch", (what, document))), refusals_as_input_errors():
            try:
                changes.patch(self.store, kind, key, document)
            except InputError as error:
                raise error.located(object=f"{kind.KIND} {key}") from error

    def evict(self, key: str) -> None:
        """Evict the pod as the eviction API does."""
        with self.journal.recording(JournaledCall("evict", (key,))), refusals_as_input_errors(f"Pod {key}"):
            evict(self.store, key, grace_period_seconds=None)

    def crash(self, node: str) -> None:
        self._change_node(node, "crash", self.driver.kubelets.crash)

    def recover(self, node: str) -> None:
        self._change_node(node, "recover", self.driver.kubelets.recover)

    def reboot(self, node: str) -> None:
        self._change_node(node, "reboot", self.driver.kubelets.reboot)

    def drain(self, node: str) -> None:
        self._change_node(node, "drain", self.driver.drain)

    def cordon(self, node: str) -> None:
        self._change_node(node, "cordon", lambda name: cordon(self.store, name))

    def uncordon(self, node: str) -> None:
        self._change_node(node, "uncordon", lambda name: uncordon(self.store, name))

    def _change_node(self, node: str, method: str, change: Callable[[str], None]) -> None:
        with self.journal.recording(JournaledCall(method, (node,))), refusals_as_input_errors():
            change(node)

    # -- scheduling --------------------------------------------------------------------------------------------------

    def run(self, until: float | None, on_decision: OnDecision | None = None) -> None:
        """Schedule until nothing changes any more, or until `until`. Raises `SimulationError` if
        that does not happen."""
        with self.journal.recording(JournaledCall("run", (until,))):
            self.driver.run(until, on_decision or self.explanations.decision_observer())

    def advance(
        self, until: float | None = None, *, stops_at_rest: bool = False, on_decision: OnDecision | None = None
    ) -> None:
        """Run without journaling a result; with `stops_at_rest` end before `until` if nothing
        changes any more."""
        with self.journal.recording(JournaledCall("advance", (until,), {"stops_at_rest": stops_at_rest})):
            observer = on_decision or self.explanations.decision_observer()
            self.driver.run(until, observer, stops_at_rest=stops_at_rest)

    def settle(self, *, places: bool = True) -> None:
        """Run the due timers of controllers and kubelets, then schedule the pods in activeQ if
        `places`."""
        with self.journal.recording(JournaledCall("settle", (), {"places": places})):
            self.driver.settle()
            if places:
                self.driver.decide_now()

    def schedule_now(self, *, only_ready: bool = False, on_decision: OnDecision | None = None) -> None:
        """Try the waiting pods; with `only_ready` only those in activeQ."""
        with self.journal.recording(JournaledCall("schedule_now", (), {"only_ready": only_ready})):
            if not only_ready:
                self.driver.activate_all()
            self.driver.decide_now(on_decision)

    def exclude(self, pods: Sequence[api.Pod]) -> None:
        """Remove pods without a node from the scheduler's view; they stay in the store."""
        with self.journal.recording(JournaledCall("exclude", (pods,))):
            for pod in pods:
                self.scheduler.ingest.deleted(pod)

    def step(self, until: float | None = None) -> Decision | None:
        """Make the next decision; return None if there is none until `until`."""
        with self.journal.recording(JournaledCall("step", (until,))):
            decision = self.driver.step(None, until)
        if decision is not None:
            self.explanations.decided(decision)
        return decision

    def next_decision(self, until: float | None = None, *, stops_at_rest: bool = False) -> NextDecision | None:
        """Return the choices of the next decision; None if there is none until `until`."""
        with self.journal.recording(JournaledCall("next_decision", (until,), {"stops_at_rest": stops_at_rest})):
            preview = self.driver.preview(until, stops_at_rest=stops_at_rest)
        return None if preview is None else next_decision(preview)

    def decide(self, node: str | None = None, *, wait: bool = False) -> Decision:
        """Place the pod of `next_decision` on the node. Without a node the scheduler chooses; with
        `wait` the pod stays pending."""
        with self.journal.recording(JournaledCall("decide", (node,), {"wait": wait})):
            preview = self.driver.preview()
            if preview is None:
                raise InputError("no pod waits for a decision", object="decide")
            if node is not None:
                check_feasible(preview, node)
            chosen = "" if wait else node
            decision = self.driver.step(None if chosen is None else (preview.pod.uid, chosen))
        assert decision is not None, "there is a pod to decide on"
        self.explanations.decided(decision)
        return decision
