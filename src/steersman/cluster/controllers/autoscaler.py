# SPDX-License-Identifier: Apache-2.0
"""The horizontal pod autoscaler: scales by load every fifteen seconds, within limits of size and
rate.

Loads come from annotations (`load_curve`). In a sandbox, an autoscaler without one uses the pod
usage of the metrics API (`pod_usage`); in a simulation it only keeps its target between minReplicas
and maxReplicas, and reports missing metrics. A simulation continues while the load changes, and
until replicas match it; then the autoscaler runs in the background.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import (
    Condition,
    CustomObject,
    Deployment,
    HorizontalPodAutoscaler,
    LabelSelector,
    MetricSpec,
    MetricStatus,
    Object,
    Pod,
    ReplicaSet,
    ReplicationController,
    ScalingRules,
    StatefulSet,
    from_label_selector,
    key,
    quantity,
    timestamps,
)
from steersman.base import InputError
from steersman.cluster.controllers.controller import Cluster, Controller, group
from steersman.cluster.controllers.load_curve import LoadCurve, annotated_curve, load_curve
from steersman.cluster.controllers.pod_usage import MEASURED, container_usage
from steersman.cluster.controllers.replica_proposals import (
    TOLERANCE,
    ScaledTarget,
    Tolerances,
    has_metrics,
    metric_name,
    propose,
    source_of,
)
from steersman.cluster.store import EventType, StatusError

SYNC_SECONDS: Final = 15.0
DOWNSCALE_SECONDS: Final = 300
"""Default stabilization window before replicas are removed."""
MAX_WAIT_SECONDS: Final = 3600.0
"""Maximum time that a simulation waits for replicas after the last change of the load."""
ABLE_TO_SCALE: Final = "AbleToScale"
SCALING_ACTIVE: Final = "ScalingActive"
SCALING_LIMITED: Final = "ScalingLimited"
DOWN_STABILIZED: Final = (
    "recent recommendations were higher than current one, applying the highest recent recommendation"
)
UP_STABILIZED: Final = "recent recommendations were lower than current one, applying the lowest recent recommendation"
_LIMITS: Final = {
    "ScaleUpLimit": "the desired replica count is increasing faster than the maximum scale rate",
    "ScaleDownLimit": "the desired replica count is decreasing faster than the maximum scale rate",
    "TooManyReplicas": "the desired replica count is more than the maximum replica count",
    "TooFewReplicas": "the desired replica count is less than the minimum replica count",
    "DesiredWithinRange": "the desired count is within the acceptable range",
}
_FAILURES: Final = {
    "Resource": "FailedGetResourceMetric",
    "ContainerResource": "FailedGetContainerResourceMetric",
    "Pods": "FailedGetPodsMetric",
    "Object": "FailedGetObjectMetric",
    "External": "FailedGetExternalMetric",
}
_SCALABLE: Final[tuple[type[Object], ...]] = (Deployment, ReplicaSet, StatefulSet, ReplicationController)

_replace = msgspec.structs.replace


class _Change(NamedTuple):
    """Number of replicas recommended or changed, and the time."""

    replicas: int
    time: float


class _Memory:
    """History of an autoscaler between syncs."""

    def __init__(self) -> None:
        self.recommendations: list[_Change] = []
        self.added: list[_Change] = []
        self.removed: list[_Change] = []

    def forget_before(self, time: float) -> None:
        for changes in (self.recommendations, self.added, self.removed):
            changes[:] = [change for change in changes if change.time >= time]


class HorizontalAutoscaler(Controller):
    """Autoscaler controller; keys are `namespace/name`."""

    NAME = "horizontal-pod-autoscaler"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._memories: dict[str, _Memory] = {}
        self.store.subscribe(self._on_autoscaler, (HorizontalPodAutoscaler,))

    def _on_autoscaler(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._memories.pop(key(old), None)
        elif old is None:
            self._memories[key(new)] = _Memory()
            self.enqueue_after(key(new), SYNC_SECONDS)

    def reconcile(self, name: str) -> None:
        autoscaler, memory = self.store.find(HorizontalPodAutoscaler, name), self._memories.get(name)
        if autoscaler is None or memory is None:
            return
        look = _AutoscalerSync(self, autoscaler, memory)
        look.run()
        if look.status != autoscaler.status:
            current = self.store.get(HorizontalPodAutoscaler, name)
            self.store.update_status(_replace(current, status=look.status))
        self.enqueue_after(name, SYNC_SECONDS, is_background=not look.is_awaited)


class _AutoscalerSync:
    """Sync of one autoscaler with its target and the load."""

    def __init__(self, controller: HorizontalAutoscaler, autoscaler: HorizontalPodAutoscaler, memory: _Memory) -> None:
        self._store = controller.store
        self._record = controller.cluster.record
        self._autoscaler = autoscaler
        self._memory = memory
        self._now = controller.store.clock.now()
        self.status = autoscaler.status
        #: Whether a simulation must continue until the next sync.
        self.is_awaited = False
        self._curves: list[tuple[LoadCurve, float]] = []

    def run(self) -> None:
        try:
            target = self._target()
        except InputError as error:
            self._warn("FailedGetScale", str(error))
            message = f"the HPA controller was unable to get the target's current scale: {error}"
            self._set(ABLE_TO_SCALE, "False", "FailedGetScale", message)
            return
        self._set(
            ABLE_TO_SCALE, "True", "SucceededGetScale", "the HPA controller was able to get the target's current scale"
        )
        current = _replicas(target)
        if not self._memory.recommendations:
            self._memory.recommendations.append(_Change(current, self._now))
        metrics: tuple[MetricStatus, ...] = ()
        try:
            desired, reason, metrics = self._desired(target, current)
        except InputError as error:
            self._warn("FailedComputeMetricsReplicas", str(error))
            self._write(current, self.status.desired_replicas, metrics)
            return
        if desired != current:
            self._rescale(target, current, desired, reason, metrics)
        else:
            self._write(current, current, metrics)

    # -- the target --------------------------------------------------------------------------------

    def _target(self) -> Object:
        reference = self._autoscaler.spec.scale_target_ref
        for kind in (*_SCALABLE, *self._store.kinds):
            if reference.kind != kind.KIND or group(kind.API_VERSION) != group(reference.api_version):
                continue
            found = self._store.find(kind, f"{self._autoscaler.metadata.namespace}/{reference.name}")
            if found is not None:
                return found
            plural = kind.PLURAL if not group(kind.API_VERSION) else f"{kind.PLURAL}.{group(kind.API_VERSION)}"
            raise InputError(f'{plural} "{reference.name}" not found')
        matches = f'no matches for kind "{reference.kind}" in group "{group(reference.api_version)}"'
        raise InputError(matches)

    def _rescale(
        self, target: Object, current: int, desired: int, reason: str, metrics: tuple[MetricStatus, ...]
    ) -> None:
        try:
            self._store.update(_scaled(target, desired))
        except StatusError as refusal:
            self._warn("FailedRescale", f"New size: {desired}; reason: {reason}; error: {refusal.message}")
            message = f"the HPA controller was unable to update the target scale: {refusal.message}"
            self._set(ABLE_TO_SCALE, "False", "FailedUpdateScale", message)
            self._write(current, self.status.desired_replicas, metrics)
            return
        message = f"the HPA controller was able to update the target scale to {desired}"
        self._set(ABLE_TO_SCALE, "True", "SucceededRescale", message)
        self._record(self._autoscaler, "SuccessfulRescale", f"New size: {desired}; reason: {reason}")
        changes = self._memory.added if desired > current else self._memory.removed
        changes.append(_Change(abs(desired - current), self._now))
        self.is_awaited = True
        self._write(current, desired, metrics, is_rescaled=True)

    # -- how many ----------------------------------------------------------------------------------

    def _desired(self, target: Object, current: int) -> tuple[int, str, tuple[MetricStatus, ...]]:
        """Return the desired replicas, the reason, and the measured metrics."""
        spec = self._autoscaler.spec
        least = 1 if spec.min_replicas is None else spec.min_replicas
        if not current and least:
            message = "scaling is disabled since the replica count of the target is zero"
            self._set(SCALING_ACTIVE, "False", "ScalingDisabled", message)
            return 0, "", ()
        if current > spec.max_replicas:
            return spec.max_replicas, "Current number of replicas above Spec.MaxReplicas", ()
        if current < least:
            return least, "Current number of replicas below Spec.MinReplicas", ()
        proposed, metric, statuses = self._proposed(target, current)
        reason = f"{metric} above target" if proposed > current else "All metrics below target"
        desired = self._normalized(current, proposed, least)
        self._wait_for_load(current, min(max(proposed, least), spec.max_replicas))
        return desired, reason, statuses

    def _proposed(self, target: Object, current: int) -> tuple[int, str, tuple[MetricStatus, ...]]:
        """Return the highest proposal of all metrics; missing metrics prevent scaling down."""
        spec = self._autoscaler.spec
        scaled = ScaledTarget(self._pods(target), current, _status_replicas(target))
        best: tuple[int, str] = (0, "")
        statuses, failures = list[MetricStatus](), list[tuple[str, str]]()
        for metric in spec.metrics:
            try:
                load, served = self._load(metric, target, scaled.pods), self._store.keeps_documents
                proposal = propose(metric, load, scaled, self._tolerances(), has_metrics_api=served)
            except InputError as error:
                reason = _FAILURES.get(metric.type, "InvalidMetricSourceType")
                self._warn(reason, str(error))
                failures.append((reason, str(error)))
                statuses.append(MetricStatus())
                continue
            statuses.append(proposal.status)
            if proposal.replicas > best[0]:
                best = proposal.replicas, proposal.metric
        if len(failures) >= len(spec.metrics) or (failures and best[0] < current):
            reason, error_text = failures[0]
            message = f"the HPA was unable to compute the replica count: {error_text}"
            self._set(SCALING_ACTIVE, "False", reason, message)
            numbers = f"{len(failures)} invalid out of {len(spec.metrics)}"
            raise InputError(f"invalid metrics ({numbers}), first error is: {error_text}")
        message = f"the HPA was able to successfully calculate a replica count from {best[1]}"
        self._set(SCALING_ACTIVE, "True", "ValidMetricFound", message)
        return best[0], best[1], tuple(statuses)

    def _pods(self, target: Object) -> Sequence[Pod]:
        selector = from_label_selector(_selector(target))
        namespace = target.metadata.namespace
        pods = self._store.objects(Pod).values()
        return [pod for pod in pods if pod.metadata.namespace == namespace and selector.matches(pod.metadata.labels)]

    def _load(self, metric: MetricSpec, target: Object, pods: Sequence[Pod]) -> int | None:
        """Return the metric's load: annotated on the autoscaler or target, else usage of pods."""
        for obj in (self._autoscaler, target):
            curve = load_curve(obj.metadata.annotations, metric_name(metric))
            if curve is not None:
                created = obj.metadata.creation_timestamp
                start = timestamps.parse(created) if created else self._now
                self._curves.append((curve, start))
                return curve.load_at(self._now - start)
        return self._usage(metric, pods) if self._store.keeps_documents else None

    def _usage(self, metric: MetricSpec, pods: Sequence[Pod]) -> int | None:
        """Return the ready pods' usage of a resource; None if it is not measured, or no pod has a
        load curve.

        Pods without a curve use their requests: with these alone an autoscaler would scale to its
        maximum.
        """
        source = source_of(metric)
        if metric.type not in ("Resource", "ContainerResource") or source.name not in MEASURED:
            return None
        if not any(annotated_curve(pod.metadata.annotations, source.name) for pod in pods):
            return None
        return sum(
            used[source.name]
            for pod in filter(has_metrics, pods)
            for container, used in zip(pod.spec.containers, container_usage(pod, self._now), strict=True)
            if source.container in ("", container.name)
        )

    def _wait_for_load(self, current: int, wanted: int) -> None:
        """Make simulations continue while the load will change or replicas do not match it."""
        if not self._curves:
            return
        end = max(start + curve.end for curve, start in self._curves)
        if self._now < end + SYNC_SECONDS or (current != wanted and self._now < end + MAX_WAIT_SECONDS):
            self.is_awaited = True

    def _tolerances(self) -> Tolerances:
        behavior = self._autoscaler.spec.behavior
        up, down = (None, None) if behavior is None else (behavior.scale_up, behavior.scale_down)
        return Tolerances(_tolerance(down), _tolerance(up))

    # -- how fast ----------------------------------------------------------------------------------

    def _normalized(self, current: int, proposed: int, least: int) -> int:
        """Return the proposal limited by the stabilization windows and rates of the behaviour."""
        behavior, most = self._autoscaler.spec.behavior, self._autoscaler.spec.max_replicas
        if behavior is None or behavior.scale_up is None or behavior.scale_down is None:
            stable = self._stabilized_down(proposed)
            desired, reason = _within_rules(current, stable, least, most)
        else:
            stable = self._stabilized(current, proposed, behavior.scale_up, behavior.scale_down)
            desired, reason = self._within_rates(current, stable, least, behavior.scale_up, behavior.scale_down)
        if stable == proposed:
            self._set(ABLE_TO_SCALE, "True", "ReadyForNewScale", "recommended size matches current size")
        elif proposed >= current and behavior is not None:
            self._set(ABLE_TO_SCALE, "True", "ScaleUpStabilized", UP_STABILIZED)
        else:
            self._set(ABLE_TO_SCALE, "True", "ScaleDownStabilized", DOWN_STABILIZED)
        self._set(SCALING_LIMITED, "False" if desired == stable else "True", reason, _LIMITS[reason])
        return desired

    def _stabilized_down(self, proposed: int) -> int:
        memory = self._memory
        memory.forget_before(self._now - DOWNSCALE_SECONDS)
        highest = max((change.replicas for change in memory.recommendations), default=0)
        memory.recommendations.append(_Change(proposed, self._now))
        return max(proposed, highest)

    def _stabilized(self, current: int, proposed: int, up: ScalingRules, down: ScalingRules) -> int:
        up_window, down_window = up.stabilization_window_seconds or 0, _down_window(down)
        recent = self._memory.recommendations
        lowest = min((c.replicas for c in recent if c.time > self._now - up_window), default=proposed)
        highest = max((c.replicas for c in recent if c.time > self._now - down_window), default=proposed)
        periods = (policy.period_seconds for policy in (*up.policies, *down.policies))
        self._memory.forget_before(self._now - max(up_window, down_window, *periods))
        recent.append(_Change(proposed, self._now))
        return min(max(current, min(lowest, proposed)), max(highest, proposed))

    def _within_rates(
        self, current: int, desired: int, least: int, up: ScalingRules, down: ScalingRules
    ) -> tuple[int, str]:
        most = self._autoscaler.spec.max_replicas
        if desired > current:
            limit = max(current, self._rate_limit(current, up, 1))
            allowed, reason = (limit, "ScaleUpLimit") if most > limit else (most, "TooManyReplicas")
            if desired > allowed:
                return allowed, reason
        elif desired < current:
            limit = min(current, self._rate_limit(current, down, -1))
            allowed, reason = (limit, "ScaleDownLimit") if least < limit else (least, "TooFewReplicas")
            if desired < allowed:
                return allowed, reason
        return desired, "DesiredWithinRange"

    def _rate_limit(self, current: int, rules: ScalingRules, direction: int) -> int:
        """Return the maximum (direction 1) or minimum (-1) replicas that the policies allow."""
        if rules.select_policy == "Disabled":
            return current
        proposals = list[int]()
        for policy in rules.policies:
            since = self._now - policy.period_seconds
            start = current - _total(self._memory.added, since) + _total(self._memory.removed, since)
            if policy.type == "Pods":
                proposals.append(start + direction * policy.value)
            else:
                share = start * (1 + direction * policy.value / 100)
                proposals.append(math.ceil(share) if direction > 0 else int(share))
        largest_change = (rules.select_policy != "Min") == (direction > 0)
        return max(proposals, default=current) if largest_change else min(proposals, default=current)

    # -- the status --------------------------------------------------------------------------------

    def _write(
        self, current: int, desired: int, metrics: tuple[MetricStatus, ...], *, is_rescaled: bool = False
    ) -> None:
        self.status = _replace(
            self.status,
            current_replicas=current,
            desired_replicas=desired,
            current_metrics=metrics,
            last_scale_time=self._store.timestamp() if is_rescaled else self.status.last_scale_time,
        )

    def _set(self, kind: str, status: str, reason: str, message: str) -> None:
        """Set a condition; its transition time changes only with its status."""
        known = next((condition for condition in self.status.conditions if condition.type == kind), None)
        since = self._store.timestamp() if known is None or known.status != status else known.last_transition_time
        new = Condition(kind, status, reason, message, last_transition_time=since)
        if known is None:
            conditions = (*self.status.conditions, new)
        else:
            conditions = tuple(new if condition is known else condition for condition in self.status.conditions)
        self.status = _replace(self.status, conditions=conditions)

    def _warn(self, reason: str, message: str) -> None:
        self._record(self._autoscaler, reason, message, is_warning=True)


def _within_rules(current: int, desired: int, least: int, most: int) -> tuple[int, str]:
    """Limit the replicas without a behaviour: at most double, but always at least four."""
    limit = max(2 * current, 4)
    highest, reason = (limit, "ScaleUpLimit") if most > limit else (most, "TooManyReplicas")
    if desired < least:
        return least, "TooFewReplicas"
    return (highest, reason) if desired > highest else (desired, "DesiredWithinRange")


def _down_window(rules: ScalingRules) -> int:
    window = rules.stabilization_window_seconds
    return DOWNSCALE_SECONDS if window is None else window


def _tolerance(rules: ScalingRules | None) -> float:
    if rules is None or rules.tolerance is None:
        return TOLERANCE
    return quantity.milli_value(quantity.parse(rules.tolerance)) / 1000


def _total(changes: Iterable[_Change], since: float) -> int:
    return sum(change.replicas for change in changes if change.time > since)


def _spec_of(target: Object) -> Any:
    return getattr(target, "spec", None)


def _replicas(target: Object) -> int:
    spec = _spec_of(target)
    found = spec.get("replicas") if isinstance(target, CustomObject) else spec.replicas
    return found if isinstance(found, int) else 1


def _status_replicas(target: Object) -> int:
    status: Any = getattr(target, "status", None)
    found = status.get("replicas") if isinstance(target, CustomObject) else status.replicas
    return found if isinstance(found, int) else 0


def _selector(target: Object) -> LabelSelector | None:
    spec = _spec_of(target)
    selector = spec.get("selector") if isinstance(target, CustomObject) else spec.selector
    if isinstance(target, ReplicationController):
        return LabelSelector(match_labels=selector)
    return msgspec.convert(selector, LabelSelector) if isinstance(selector, dict) else selector


def _scaled(target: Object, replicas: int) -> Object:
    spec = _spec_of(target)
    if isinstance(target, CustomObject):
        return _replace(target, spec={**spec, "replicas": replicas})
    return _replace(target, spec=_replace(spec, replicas=replicas))
