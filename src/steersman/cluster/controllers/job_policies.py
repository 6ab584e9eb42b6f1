# SPDX-License-Identifier: Apache-2.0
"""Policies of Jobs: pod failure policy, success policy, and backoff."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from steersman.api import (
    ContainerStatus,
    Job,
    OnExitCodes,
    OnPodCondition,
    Pod,
    PodFailurePolicyRule,
    SuccessPolicy,
    timestamps,
)
from steersman.cluster.controllers.job_indexes import parsed_indexes

FIRST_BACKOFF_SECONDS: Final = 10.0
MAX_BACKOFF_SECONDS: Final = 600.0
IGNORE: Final = "Ignore"
FAIL_JOB: Final = "FailJob"
FAIL_INDEX: Final = "FailIndex"
INDEX_FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
_MAX_COUNT: Final = 9


class FailureVerdict(NamedTuple):
    """Result of the pod failure policy for a failed pod."""

    action: str = ""
    #: Reason why the whole Job fails, or "".
    message: str = ""

    @property
    def counts(self) -> bool:
        return self.action != IGNORE


def failure_verdict(job: Job, pod: Pod) -> FailureVerdict:
    """Return the result of the first matching rule for the failed pod."""
    policy = job.spec.pod_failure_policy
    for number, rule in enumerate(() if policy is None else policy.rules):
        what = _match(rule, pod)
        if what is None or rule.action not in (IGNORE, FAIL_INDEX, FAIL_JOB, "Count"):
            continue
        is_fatal = rule.action == FAIL_JOB
        return FailureVerdict(rule.action, f"{what} matching {rule.action} rule at index {number}" if is_fatal else "")
    return FailureVerdict()


def _match(rule: PodFailurePolicyRule, pod: Pod) -> str | None:
    """Return what the rule matches, as in a condition's message; None if it does not match."""
    place = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        status = pod.status
        found = _matching_container((*status.container_statuses, *status.init_container_statuses), rule.on_exit_codes)
        return None if found is None else f"Container {found[0]} for pod {place} failed with exit code {found[1]}"
    kind = _matching_condition(pod, rule.on_pod_conditions)
    return None if kind is None else f"Pod {place} has condition {kind}"


def _matching_container(statuses: Iterable[ContainerStatus], rule: OnExitCodes) -> tuple[str, int] | None:
    for status in statuses:
        ended = None if status.state is None else status.state.terminated
        if ended is None or not ended.exit_code or rule.container_name not in (None, status.name):
            continue
        if (ended.exit_code in rule.values) == (rule.operator == "In"):
            return status.name, ended.exit_code
    return None


def _matching_condition(pod: Pod, patterns: Sequence[OnPodCondition]) -> str | None:
    for condition in pod.status.conditions:
        if any((condition.type, condition.status) == (known.type, known.status) for known in patterns):
            return condition.type
    return None


def met_success_rule(policy: SuccessPolicy | None, completions: int, succeeded: set[int]) -> int | None:
    """Return the index of the first success policy rule that the succeeded indexes meet."""
    if policy is None or not succeeded:
        return None
    for number, rule in enumerate(policy.rules):
        if rule.succeeded_indexes is None:
            if rule.succeeded_count is not None and len(succeeded) >= rule.succeeded_count:
                return number
            continue
        required = parsed_indexes(rule.succeeded_indexes, completions)
        having = len(required & succeeded)
        enough = rule.succeeded_count is not None and having >= rule.succeeded_count
        if required and (having == len(required) or enough):
            return number
    return None


class JobBackoff(NamedTuple):
    """Number of failed pods of a Job since the last success, and the time of the last failure."""

    failures: int = 0
    last_failure: float = 0.0

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> JobBackoff:
        """Return the backoff after pods have finished."""
        if not succeeded and not failed:
            return self
        failures = sorted(map(finish_time, failed))
        if not succeeded:
            return JobBackoff(self.failures + len(failures), failures[-1])
        last_success = max(map(finish_time, succeeded))
        later = [time for time in failures if time > last_success]
        return JobBackoff(len(later), later[-1]) if later else JobBackoff()

    def remaining_seconds(self, now: float) -> float:
        """Return the remaining backoff before the next pod is created."""
        if not self.failures:
            return 0.0
        seconds = min(FIRST_BACKOFF_SECONDS * 2.0 ** min(self.failures - 1, 30), MAX_BACKOFF_SECONDS)
        return max(0.0, self.last_failure + seconds - now)


def index_backoff(pod: Pod | None) -> JobBackoff:
    """Return the backoff of an index after its last failed pod."""
    if pod is None:
        return JobBackoff()
    failures = _count(pod, INDEX_FAILURES) + _count(pod, INDEX_IGNORED_FAILURES)
    return JobBackoff(failures + 1, finish_time(pod))


def index_failures(pod: Pod) -> int:
    """Return the index's number of failures before the pod."""
    return _count(pod, INDEX_FAILURES)


def total_index_failures(pod: Pod) -> int:
    """Return the index's number of failures before the pod, including ignored ones."""
    return _count(pod, INDEX_FAILURES) + _count(pod, INDEX_IGNORED_FAILURES)


def index_failure_annotations(job: Job, replaced: Pod | None) -> dict[str, str]:
    """Return the annotations with the failure counts for the next pod of an index."""
    if replaced is None:
        return {INDEX_FAILURES: "0"}
    failures, ignored = _count(replaced, INDEX_FAILURES), _count(replaced, INDEX_IGNORED_FAILURES)
    if failure_verdict(job, replaced).counts:
        failures += 1
    else:
        ignored += 1
    counted = {INDEX_FAILURES: str(failures)}
    return {**counted, INDEX_IGNORED_FAILURES: str(ignored)} if ignored else counted


def finish_time(pod: Pod) -> float:
    """Return the time a pod finished: it became unready, was deleted, or else was created."""
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time:
            return timestamps.parse(condition.last_transition_time)
    meta = pod.metadata
    if meta.deletion_timestamp is not None:
        return timestamps.parse(meta.deletion_timestamp) - (meta.deletion_grace_period_seconds or 0)
    return timestamps.parse(meta.creation_timestamp) if meta.creation_timestamp else 0.0


def _count(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    return int(text) if text.isdecimal() and len(text) <= _MAX_COUNT else 0
