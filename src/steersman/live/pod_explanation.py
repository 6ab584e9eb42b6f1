# SPDX-License-Identifier: Apache-2.0
"""Why a pod of a live cluster is where it is, or nowhere: `LiveExplanation` of a cluster that was read.

A pending pod is looked at as it stands. A placed one is taken out of its node first: where would it go now, and does its
node still win?
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Final

import msgspec

from steersman import api
from steersman.app import Effective
from steersman.assembly.registry import kinds_of_scheduler
from steersman.client import ApiServerReader, Timing, Transport
from steersman.cycle.decision import Decision, Unschedulable
from steersman.explain import Explanation, Outcome, decided, explain, wakers, without_cycle
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.framework.status import CycleAborted, Status
from steersman.live.cluster_reader import LiveError, ReadCluster, read, read_pod, resource_name
from steersman.live.report import LiveExplanation
from steersman.live.scheduler import LiveScheduler
from steersman.redaction import hide_passwords

_replace = msgspec.structs.replace

OTHER_SCHEDULER: Final = "scheduler {} is to place this pod, not one of {}; what follows is by profile {}"
TERMINATING: Final = "the pod is being deleted; no scheduler will try it"
EXTENDERS_LEFT_OUT: Final = "extenders ({}) have a say in scheduling and were not asked"
REFRESH_FAILED: Final = 'plugin "{}" cannot refresh: {}'
MISSING: Final = "the API server does not have {}; none are assumed"


async def explain_pod(
    transport: Transport, settings: Effective, server: str, namespace: str, name: str
) -> LiveExplanation:
    """An explanation of the pod as the API server shows it now. LiveError when that cannot be."""
    timing = Timing()
    kinds = kinds_of_scheduler(settings.configuration, settings.gates, settings.registry)
    cluster = await read(transport, timing, server, kinds.watched)
    pod = cluster.pods.get(f"{namespace}/{name}")
    if pod is None:
        ended = await read_pod(transport, server, namespace, name)
        raise _not_there(cluster, namespace, name) if ended is None else _ended(ended)
    scheduler = LiveScheduler(settings, cluster, pod, timing.clock, ApiServerReader(transport, timing))
    await scheduler.refresh()
    return _explained(scheduler, settings, cluster, pod)


def _explained(scheduler: LiveScheduler, settings: Effective, cluster: ReadCluster, pod: api.Pod) -> LiveExplanation:
    gate = scheduler.gate()
    explanation, rejectors = _explanation(scheduler, pod.spec.node_name)
    if gate is not None:
        rejectors = {gate.plugin}
    node = pod.spec.node_name
    return LiveExplanation(
        pod=api.key(pod),
        scheduler_name=pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
        phase=pod.status.phase,
        node=node,
        nominated_node=pod.status.nominated_node_name,
        conditions=pod.status.conditions,
        summary=_placed(explanation, node) if node else _pending(explanation, gate, pod),
        notes=tuple(_notes(scheduler, settings, cluster, pod)),
        explanation=explanation,
        wakers=() if node else wakers(scheduler.profile.hints, rejectors),
    )


# -- the cycle --------------------------------------------------------------------------------------------------------


def _explanation(scheduler: LiveScheduler, preferred: str) -> tuple[Explanation, Collection[str]]:
    """The explanation, with the plugins that reject the pod. Among equally good nodes the preferred one is the choice."""
    pod, profile = scheduler.pod, scheduler.profile
    try:
        evaluation = scheduler.evaluate()
        explanation = explain(profile, pod, evaluation, scheduler.nodes)
        if evaluation.feasible_count:
            node, ties = scheduler.choose(evaluation)
            return _replace(explanation, node=_preferred(explanation, node, preferred), ties=ties), ()
    except CycleAborted as abort:
        broken = without_cycle(pod.key, profile.name, abort.status.message)
        return _replace(broken, outcome=Outcome.ERROR), ()
    decision = scheduler.decide()
    return decided(explanation, decision), _rejectors(decision)


def _preferred(explanation: Explanation, chosen: str, preferred: str) -> str:
    totals = {node.node: node.total for node in explanation.nodes if node.fits}
    return preferred if preferred in totals and totals[preferred] == totals[chosen] else chosen


def _rejectors(decision: Decision) -> Collection[str]:
    if not isinstance(decision, Unschedulable):
        return ()
    return decision.diagnosis.unschedulable_plugins | decision.diagnosis.pending_plugins


# -- in words ---------------------------------------------------------------------------------------------------------


def _pending(explanation: Explanation, gate: Status | None, pod: api.Pod) -> str:
    if gate is not None:
        return f"held back by {gate.plugin}: {gate.message}; below is what would be said of it without that"
    if explanation.node:
        waits = f" (nominated to {pod.status.nominated_node_name})" if pod.status.nominated_node_name else ""
        return f"fits now{waits}: {explanation.node} is a node where it would go"
    if explanation.outcome is Outcome.UNSCHEDULABLE:
        return "fits nowhere now"
    return f"{explanation.outcome}: {explanation.message}"


def _placed(explanation: Explanation, node: str) -> str:
    """How the pod's node does against the others."""
    found = next((one for one in explanation.nodes if one.node == node), None)
    if found is None:
        return f"{node} is gone"
    if not found.fits:
        why = "; ".join(map(str, found.verdicts)) or "not examined"
        return f"{node} would not be chosen now: {why}"
    best = max((one.total for one in explanation.nodes if one.total is not None), default=None)
    if best is None or found.total is None:
        return f"{node} is the only node that fits now"
    if found.total == best:
        return f"{node} would win again, with a score of {best}"
    return f"{node} would lose now: its score is {found.total}, that of {explanation.node} is {best}"


def _notes(scheduler: LiveScheduler, settings: Effective, cluster: ReadCluster, pod: api.Pod) -> Iterator[str]:
    wanted = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
    names = [profile.scheduler_name for profile in settings.configuration.profiles]
    if wanted not in names:
        yield OTHER_SCHEDULER.format(wanted, ", ".join(names), scheduler.profile.name)
    if pod.metadata.deletion_timestamp is not None:
        yield TERMINATING
    extenders = settings.configuration.extenders
    if extenders:
        yield EXTENDERS_LEFT_OUT.format(", ".join(hide_passwords(extender.url_prefix) for extender in extenders))
    if cluster.missing:
        yield MISSING.format(", ".join(map(resource_name, cluster.missing)))
    for plugin, why in scheduler.refresh_failures.items():
        yield REFRESH_FAILED.format(plugin, why)


# -- pods that are not there ------------------------------------------------------------------------------------------


def _not_there(cluster: ReadCluster, namespace: str, name: str) -> LiveError:
    elsewhere = sorted(pod.metadata.namespace for pod in cluster.pods.values() if pod.metadata.name == name)
    here = [pod.metadata.name for pod in cluster.pods.values() if pod.metadata.namespace == namespace]
    missing = f"there is no pod {name} in namespace {namespace}"
    if elsewhere:
        return LiveError(f"{missing}, but there is one in {', '.join(elsewhere)}: use -n {elsewhere[0]}")
    similar = get_close_matches(name, here, n=3)
    if similar:
        return LiveError(f"{missing}; similar names there: {', '.join(similar)}")
    if not here:
        used = sorted({pod.metadata.namespace for pod in cluster.pods.values()})
        return LiveError(f"{missing}, nor any other; namespaces with pods: {', '.join(used) or 'none'}")
    return LiveError(f"{missing}; it has {len(here)} other pods")


def _ended(pod: api.Pod) -> LiveError:
    return LiveError(f"pod {api.key(pod)} has ended ({pod.status.phase}): there is nothing to schedule")
