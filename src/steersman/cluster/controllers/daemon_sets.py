# SPDX-License-Identifier: Apache-2.0
"""The DaemonSet controller: creates a pod for each eligible node, which the scheduler binds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, cast

import msgspec

from steersman.api import (
    FINISHED_PHASES,
    ControllerRevision,
    DaemonSet,
    DaemonSetStatus,
    LabelSelector,
    Node,
    Object,
    OwnerReference,
    Pod,
    codec,
    key,
)
from steersman.cluster.controllers.controller import Cluster
from steersman.cluster.controllers.daemon_pods import (
    TEMPLATE_GENERATION_LABEL,
    DaemonCount,
    DaemonEligibility,
    DaemonFit,
    oldest_first,
    pinned,
    pinned_document,
    template_generation,
    with_daemon_tolerations,
)
from steersman.cluster.controllers.owned_pods import compiled_selector
from steersman.cluster.controllers.pod_owner import PodOwnerController
from steersman.cluster.controllers.pod_states import is_ready, scaled
from steersman.cluster.controllers.pod_template import PodMaker
from steersman.cluster.controllers.revisions import REVISION_LABEL, RevisionHistory
from steersman.cluster.store import EventType, NamespaceTerminating, NotFound, StatusError

BURST_REPLICAS: Final = 250
"""Maximum number of pods that one sync creates or deletes."""
SELECTS_ALL: Final = "This daemon set is selecting all pods. A non-empty selector is required."
ROLLING_UPDATE: Final = "RollingUpdate"

_replace = msgspec.structs.replace


class Work(NamedTuple):
    """Nodes that need a pod, and pods to delete."""

    nodes: list[str]
    pods: list[Pod]


class DaemonSetController(PodOwnerController[DaemonSet]):
    NAME = "daemonset"
    KIND = DaemonSet

    def __init__(self, cluster: Cluster) -> None:
        self._history = RevisionHistory(cluster.store)
        #: DaemonSet uid → its count, created by the first sync.
        self._counts: dict[str, DaemonCount] = {}
        super().__init__(cluster)
        self._nodes = self.store.objects(Node)
        self.store.subscribe(self._on_node, (Node,))

    # -- events ------------------------------------------------------------------------------------

    def owner_went(self, owner: DaemonSet) -> None:
        self._counts.pop(owner.metadata.uid, None)

    def pod_changed(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        count = self._counts.get(owner.uid)
        if count is not None:
            count.change(before, after)

    def _on_node(self, _: EventType, old: Object | None, new: Object | None) -> None:
        """Enqueue all DaemonSets if labels or taints change, which determine eligibility."""
        before, after = cast("Node | None", old), cast("Node | None", new)
        if before is not None and after is not None:
            same_labels = before.metadata.labels == after.metadata.labels
            if same_labels and before.spec.taints == after.spec.taints:
                return
        name = cast("Node", after or before).metadata.name
        for daemon_set in self.store.objects(DaemonSet).values():
            count = self._counts.get(daemon_set.metadata.uid)
            if count is not None:
                count.dirty[name] = None
            self.enqueue(key(daemon_set))

    # -- reconciling -------------------------------------------------------------------------------

    def reconcile(self, key: str) -> None:
        daemon_set = self.store.find(DaemonSet, key)
        if daemon_set is None or not daemon_set.spec.template:
            return  # an API server rejects objects without a template
        if daemon_set.spec.selector == LabelSelector():
            self.cluster.record(daemon_set, "SelectingAll", SELECTS_ALL, is_warning=True)
            return
        if daemon_set.metadata.deletion_timestamp is not None:
            return
        selector = compiled_selector(daemon_set.spec.selector)
        if not self.is_template_selected(daemon_set, selector, daemon_set.spec.template):
            return
        known = self._history.revisions_of(daemon_set, selector)
        collisions = daemon_set.status.collision_count or 0
        latest, collisions = self._history.current(daemon_set, daemon_set.spec.template, known, collisions)
        self.adopt(daemon_set, selector)
        count = self._count(daemon_set, latest.metadata.labels.get(REVISION_LABEL, ""))
        failure = self._work(daemon_set, count)
        self._write_status(daemon_set, count, collisions or None)
        self._truncate(daemon_set, known, latest)
        if failure is not None:
            raise failure

    def _truncate(self, daemon_set: DaemonSet, known: list[ControllerRevision], latest: ControllerRevision) -> None:
        limit = daemon_set.spec.revision_history_limit or 0
        if len(known) <= limit:
            return
        digests = {
            pod.metadata.labels.get(REVISION_LABEL) for pod in self.owned.owned_by(daemon_set.metadata.uid).values()
        }
        in_use = {old.metadata.name for old in known if old.metadata.labels.get(REVISION_LABEL) in digests}
        self._history.truncate(known, {latest.metadata.name, *in_use}, limit)

    def _count(self, daemon_set: DaemonSet, digest: str) -> DaemonCount:
        """Return the count of the DaemonSet, recomputed if the template has changed."""
        uid, generation = daemon_set.metadata.uid, template_generation(daemon_set)
        seconds, known = daemon_set.spec.min_ready_seconds, self._counts.get(uid)
        if known and (known.digest, known.generation, known.min_ready_seconds) == (digest, generation, seconds):
            return known
        spec = self.templates.read(daemon_set.spec.template, daemon_set).spec
        count = self._counts[uid] = DaemonCount(DaemonEligibility(spec), digest, generation, seconds)
        for pod in self.owned.owned_by(uid).values():
            count.change(None, pod)
        count.dirty.update(dict.fromkeys(self._nodes))
        return count

    def _work(self, daemon_set: DaemonSet, count: DaemonCount) -> StatusError | None:
        """Sync the pods of changed nodes, then continue the update; return the first error."""
        now = self.store.clock.now()
        changed = [*count.dirty, *count.due(now)]
        count.dirty.clear()
        work = Work([], [])
        for name in changed:
            self._look_at(daemon_set, count, name, work)
        failure = self._do(daemon_set, count, work)
        self._recount(count, [*changed, *count.dirty])
        if failure is not None:
            count.dirty.update(dict.fromkeys(changed))
            return failure
        if count.outdated and daemon_set.spec.update_strategy.type == ROLLING_UPDATE and not work.nodes:
            failure = self._do(daemon_set, count, self._next_replacements(daemon_set, count, now))
            self._recount(count, list(count.dirty))
        return failure

    def _recount(self, count: DaemonCount, names: Iterable[str]) -> None:
        now = self.store.clock.now()
        for name in names:
            count.recount(self._nodes.get(name), name, now)

    # -- nodes -------------------------------------------------------------------------------------

    def _look_at(self, daemon_set: DaemonSet, count: DaemonCount, name: str, work: Work) -> None:
        """Add the pods to create and delete on a node to `work`."""
        node = self._nodes.get(name)
        selector = compiled_selector(daemon_set.spec.selector)
        pods = count.pods_on(name)
        unselected = [pod for pod in pods if not selector.matches(pod.metadata.labels)]
        if unselected:
            self.release(daemon_set, unselected)
            pods = [pod for pod in pods if pod not in unselected]
        if node is None:
            work.pods.extend(pod for pod in pods if not pod.spec.node_name and _stays(pod))
            return
        fit = count.eligibility.fit(node)
        if fit.should_run and not pods:
            work.nodes.append(name)
        elif fit.may_stay:
            self._tidy(daemon_set, count, name, fit, [pod for pod in pods if _stays(pod)], work)
        else:
            work.pods.extend(filter(_stays, pods))

    def _tidy(
        self, daemon_set: DaemonSet, count: DaemonCount, name: str, fit: DaemonFit, pods: list[Pod], work: Work
    ) -> None:
        """Delete finished and surplus pods of a node; with surge, create a missing one."""
        running = []
        for pod in pods:
            if pod.status.phase in FINISHED_PHASES:
                self._remove_ended(daemon_set, count, name, pod, work)
            else:
                running.append(pod)
        running = oldest_first(running)
        if not _surge(daemon_set, 1):
            work.pods.extend(running[1:])
        elif not running and fit.should_run:
            work.nodes.append(name)
        elif len(running) > 1:
            self._tidy_surge(count, running, work)

    def _remove_ended(self, daemon_set: DaemonSet, count: DaemonCount, name: str, pod: Pod, work: Work) -> None:
        who = f"{pod.metadata.namespace}/{pod.metadata.name} on node {name}"
        has_failed = pod.status.phase == "Failed"
        if has_failed or self.ended_at_once(daemon_set):
            place = (daemon_set.metadata.uid, daemon_set.status.observed_generation, name)
            left = self.backoffs.remaining_seconds(place, self.store.clock.now())
            if left:
                count.dirty[name] = None
                self.enqueue_after(key(daemon_set), left, is_background=not has_failed)
                return
        if not has_failed:
            message = f"Found succeeded daemon pod {who}, will try to delete it"
            self.cluster.record(daemon_set, "SucceededDaemonPod", message)
        else:
            message = f"Found failed daemon pod {who}, will try to kill it"
            self.cluster.record(daemon_set, "FailedDaemonPod", message, is_warning=True)
        work.pods.append(pod)

    def _tidy_surge(self, count: DaemonCount, running: list[Pod], work: Work) -> None:
        """Delete surplus pods, and the old pod if it is not ready or the new one is available."""
        new = [pod for pod in running if pod.metadata.labels.get(REVISION_LABEL) == count.digest]
        old = [pod for pod in running if pod.metadata.labels.get(REVISION_LABEL) != count.digest]
        work.pods.extend([*new[1:], *old[1:]])
        if new and old and (not is_ready(old[0]) or count.is_available(new[0], self.store.clock.now())):
            work.pods.append(old[0])

    # -- updates -----------------------------------------------------------------------------------

    def _next_replacements(self, daemon_set: DaemonSet, count: DaemonCount, now: float) -> Work:
        desired = count.total.desired
        rolling = daemon_set.spec.update_strategy.rolling_update
        surge = _surge(daemon_set, desired)
        unavailable = scaled(rolling.max_unavailable if rolling else 1, desired, rounds_up=True)
        if surge:
            return self._surge_replacements(count, surge, now)
        return self._replacements_in_place(count, unavailable or 1, now)

    def _replacements_in_place(self, count: DaemonCount, unavailable: int, now: float) -> Work:
        """Replace unavailable old pods at once, and available ones within maxUnavailable."""
        work, candidates = Work([], []), list[Pod]()
        for name in count.outdated:
            new, old, _ = count.sort_pods(name)
            if old is None or new is not None:
                continue
            (candidates if count.is_available(old, now) else work.pods).append(old)
        work.pods.extend(candidates[: max(0, unavailable - count.total.is_without)])
        return work

    def _surge_replacements(self, count: DaemonCount, surge: int, now: float) -> Work:
        """Replace old pods with surge: delete them when the new pods are available."""
        work, candidates, leaving, doubled = Work([], []), list[str](), list[Pod](), 0
        for name in count.outdated:
            new, old, _ = count.sort_pods(name)
            if old is None:
                continue
            if new is not None:
                if count.is_available(new, now):
                    work.pods.append(old)
                else:
                    doubled += 1
                continue
            node, is_available = self._nodes.get(name), count.is_available(old, now)
            if node is not None and count.eligibility.fit(node).should_run:
                (candidates if is_available else work.nodes).append(name)
            else:
                (leaving if is_available else work.pods).append(old)
        work.nodes.extend(candidates[: max(0, surge - doubled)])
        work.pods.extend(leaving[: max(0, count.total.is_served - count.total.desired)])
        return work

    # -- writing -----------------------------------------------------------------------------------

    def _do(self, daemon_set: DaemonSet, count: DaemonCount, work: Work) -> StatusError | None:
        """Create and delete pods up to the burst limit; return an error, if any."""
        failure = None
        if work.nodes:
            failure = self._create(daemon_set, count, work.nodes[:BURST_REPLICAS])
        for pod in work.pods[:BURST_REPLICAS]:
            failure = self._delete(daemon_set, pod) or failure
        left = [*work.nodes[BURST_REPLICAS:], *(pod.spec.node_name for pod in work.pods[BURST_REPLICAS:])]
        if left:
            count.dirty.update(dict.fromkeys(left))
            self.enqueue(key(daemon_set))
        return failure

    def _create(self, daemon_set: DaemonSet, count: DaemonCount, nodes: list[str]) -> StatusError | None:
        """Create pods in growing batches, up to the first batch with an error."""
        maker = self.templates.pod_maker(daemon_set.spec.template, daemon_set)
        labels = {**maker.metadata.labels, REVISION_LABEL: count.digest}
        if count.generation:
            labels[TEMPLATE_GENERATION_LABEL] = count.generation
        pattern = Pod(
            metadata=_replace(maker.metadata, labels=labels), spec=with_daemon_tolerations(maker.template.spec)
        )
        position, batch = 0, 1
        while position < len(nodes):
            attempts = [
                self._create_on(daemon_set, maker, pattern, name) for name in nodes[position : position + batch]
            ]
            refusals = [attempt for attempt in attempts if attempt is not None]
            if refusals:
                return refusals[0]
            position, batch = position + batch, 2 * batch
        return None

    def _create_on(self, daemon_set: DaemonSet, maker: PodMaker, pattern: Pod, node: str) -> StatusError | None:
        spec = _replace(pattern.spec, affinity=pinned(pattern.spec.affinity, node))
        pod, fields = _replace(pattern, spec=spec), {}
        if self.store.keeps_documents:
            written = maker.template.document["spec"].get("affinity")
            tolerations = codec.to_dict(Pod(spec=spec))["spec"]["tolerations"]
            fields = {"affinity": pinned_document(written, node), "tolerations": tolerations}
        try:
            made = maker.create_as(pod, **fields)
        except NamespaceTerminating:
            return None
        except StatusError as refusal:
            self.cluster.record(daemon_set, "FailedCreate", f"Error creating: {refusal.message}", is_warning=True)
            return refusal
        self.cluster.record(daemon_set, "SuccessfulCreate", f"Created pod: {made.metadata.name}")
        return None

    def _delete(self, daemon_set: DaemonSet, pod: Pod) -> StatusError | None:
        try:
            self.pods.delete(key(pod), grace_period_seconds=None)
        except NotFound:
            return None
        except StatusError as refusal:
            self.cluster.record(daemon_set, "FailedDelete", f"Error deleting: {refusal.message}", is_warning=True)
            return refusal
        self.cluster.record(daemon_set, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        return None

    def _write_status(self, daemon_set: DaemonSet, count: DaemonCount, collisions: int | None) -> None:
        total = count.total
        status = DaemonSetStatus(
            current_number_scheduled=total.current,
            number_misscheduled=total.misscheduled,
            desired_number_scheduled=total.desired,
            number_ready=total.ready,
            observed_generation=daemon_set.metadata.generation,
            updated_number_scheduled=total.updated,
            number_available=total.available,
            number_unavailable=total.desired - total.available,
            collision_count=collisions,
            conditions=daemon_set.status.conditions,
        )
        if status != daemon_set.status:
            self.store.update_status(_replace(daemon_set, status=status))
        moment = count.next_due()
        if moment is not None:
            self.enqueue_after(key(daemon_set), moment - self.store.clock.now())


def _surge(daemon_set: DaemonSet, nodes: int) -> int:
    """Return the maximum number of nodes with two pods during an update."""
    strategy = daemon_set.spec.update_strategy
    if strategy.type != ROLLING_UPDATE or strategy.rolling_update is None:
        return 0
    return scaled(strategy.rolling_update.max_surge, nodes, rounds_up=True)


def _stays(pod: Pod) -> bool:
    """Return whether the pod is not terminating."""
    return pod.metadata.deletion_timestamp is None
