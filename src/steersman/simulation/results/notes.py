# SPDX-License-Identifier: Apache-2.0
"""Notes in a result about problems of its input, one line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from steersman import api
from steersman.base import hide_passwords
from steersman.cluster.store import Store
from steersman.config import (
    DEFAULT_GATES,
    Capabilities,
    ConfigError,
    FeatureGates,
    SchedulerConfiguration,
    check_disabled,
    without_effect,
)
from steersman.simulation.inputs.workloads import counted

NO_FAILURES: Final[Mapping[str, str]] = MappingProxyType({})


PASSED_OVER: Final = "objects of other kinds were passed over: {}"


def notes(
    about_workloads: Iterable[str],
    skipped: Counter[str],
    configuration: SchedulerConfiguration,
    capabilities: Capabilities,
    gates: FeatureGates = DEFAULT_GATES,
    refresh_failures: Mapping[str, str] = NO_FAILURES,
) -> Iterator[str]:
    """Return the notes. `refresh_failures` are the failed refreshes by plugin."""
    yield from about_workloads
    if skipped:
        yield PASSED_OVER.format(counted(skipped))
    yield from without_effect(gates)
    for plugin, why in refresh_failures.items():
        yield f'plugin "{plugin}" cannot refresh: {why}'
    try:
        check_disabled(configuration, capabilities)
    except ConfigError as error:
        yield from (problem.line for problem in error.errors)


def extender_notes(configuration: SchedulerConfiguration, *, are_asked: bool) -> Iterator[str]:
    """Return a note about extenders that are not called, or do not bind, in a simulation."""
    left_out = [each for each in configuration.extenders if each.bind_verb or not are_asked]
    if left_out:
        urls = ", ".join(hide_passwords(extender.url_prefix) for extender in left_out)
        what = "do not bind" if are_asked else "are not called"
        how = "" if are_asked else "; --extenders and Simulation.load(extenders=True) call them"
        yield f"extenders {what} in a simulation: {urls}{how}"


def refused_objects(refusals: Sequence[str]) -> Iterator[str]:
    """Return a note about objects refused by quotas or limit ranges, with the first reason."""
    if len(refusals) == 1:
        yield f"an object was refused, and counts nowhere: {refusals[0]}"
    elif refusals:
        yield f"{len(refusals):,} objects were refused, and count nowhere, for example: {refusals[0]}"


def missing_nodes(store: Store) -> Iterator[str]:
    """Return a note if there are pods but no nodes."""
    if store.objects(api.Pod) and not store.objects(api.Node):
        yield "there is no node to schedule on; `kubectl get nodes -o yaml > nodes.yaml` writes those of a cluster"


def stranded_pods(store: Store, placed_here: Container[str]) -> Iterator[str]:
    """Return a note about input pods whose node does not exist: they are neither scheduled nor
    pending. `placed_here` has the uids of pods placed by the simulation, which are in the
    placements."""
    nodes = store.objects(api.Node)
    stranded = [
        pod
        for pod in store.objects(api.Pod).values()
        if pod.spec.node_name and pod.spec.node_name not in nodes and pod.status.phase not in api.FINISHED_PHASES
        if pod.metadata.uid not in placed_here
    ]
    if not stranded:
        return
    first = f"{api.key(stranded[0])} on {stranded[0].spec.node_name}"
    if len(stranded) == 1:
        yield f"a pod is on a node that does not exist, and counts nowhere: {first}"
    else:
        yield f"{len(stranded):,} pods are on nodes that do not exist, and count nowhere, for example {first}"
