# SPDX-License-Identifier: Apache-2.0
"""What pods of ever new templates leave behind: memory, and the time of attempts and events after many of them.

    python -m benchmarks templates [--nodes 5000] [--waves 5] [--wave 500] [--live] [--modules] [kind…]

Waves of pods come, are scheduled and go again; with `--live` they stay. No two pods have the same template
(`changing_templates`). Every kind has a process of its own, so that its memory is its own. `--modules` says where the memory
was allocated that is left.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from benchmarks.changing_templates import COMMON_OBJECTS, KINDS, MakeVariant, Variant
from benchmarks.hot_path import AcceptingWriter, no_task
from benchmarks.populations import make_nodes
from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.framework import Failure
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.cycle.commit import assigned
from steersman.scheduler.host.memory import keep_freed_memory
from steersman.testing import make_pod

SAMPLES: Final = 40


class ForgetfulWriter(AcceptingWriter):
    """Some pods cannot be scheduled; their names are not reported."""

    def report_failure(self, failure: Failure) -> None:
        """Discard the event: only the scheduler's memory is measured."""

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        """Discard the condition."""


class Figures(NamedTuple):
    """After one wave."""

    megabytes: float
    attempt: float
    node_update: float
    pod_event: float


class ChangingCluster:
    """A scheduler, its nodes, and the pods of the current wave."""

    def __init__(self, nodes: int) -> None:
        self.scheduler = Scheduler(ManualClock(), SeededRng(1), ForgetfulWriter(), no_task)
        self._nodes = {node.metadata.name: node for node in make_nodes(nodes)}
        for obj in (*self._nodes.values(), *COMMON_OBJECTS):
            self.scheduler.ingest.changed(obj)
        self._random = random.Random(3)
        self._updates = 0

    def wave(self, make: MakeVariant, first: int, count: int, *, stay: bool = False) -> float:
        """`count` pods come, are tried once and go again unless they `stay`. Seconds of all attempts."""
        seconds = 0.0
        variants = [make(index) for index in range(first, first + count)]
        for variant in variants:
            self._come(variant)
            start = time.process_time()
            while self.scheduler.schedule_one() is not None:
                pass
            seconds += time.process_time() - start
            self._confirm(variant.pod.obj())
        if not stay:
            for variant in variants:
                self._go(variant)
        return seconds

    def attempt(self, name: str) -> float:
        """Seconds that a pod of an ordinary, well-known template takes."""
        pod = make_pod(name).label("app", "ordinary").req(cpu="10m", memory="16Mi").obj()
        self.scheduler.ingest.changed(pod)
        start = time.process_time()
        self.scheduler.schedule_one()
        seconds = time.process_time() - start
        self._delete_pod(pod)
        return seconds

    def update_node(self) -> float:
        """Seconds that it takes to hear of a node's new label."""
        self._updates += 1
        node = self._nodes[f"node-{self._random.randrange(len(self._nodes))}"]
        labelled = _with_labels(node, {**node.metadata.labels, "example.com/updated": str(self._updates)})
        start = time.process_time()
        self.scheduler.ingest.changed(labelled)
        return time.process_time() - start

    def pod_event(self, name: str) -> float:
        """Seconds that it takes to hear of a bound pod and of its end."""
        pod = make_pod(name).label("app", "ordinary").req(cpu="10m").node("node-1").obj()
        start = time.process_time()
        self.scheduler.ingest.changed(pod)
        self.scheduler.ingest.deleted(pod)
        return time.process_time() - start

    def _come(self, variant: Variant) -> None:
        ingest = self.scheduler.ingest
        node = self._nodes["node-0"]
        if variant.node_label is not None:
            ingest.changed(_with_labels(node, dict([*node.metadata.labels.items(), variant.node_label])))
        if variant.node_taint:
            taint = api.Taint(key=variant.node_taint, effect="NoSchedule")
            ingest.changed(msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=(taint,))))
        if variant.node_resource:
            amounts = {**node.status.allocatable, variant.node_resource: "4"}
            status = msgspec.structs.replace(node.status, allocatable=amounts)
            ingest.changed(msgspec.structs.replace(node, status=status))
        for obj in (*variant.objects, variant.pod.obj()):
            ingest.changed(obj)

    def _confirm(self, pod: api.Pod) -> None:
        """The API server shows the pod on its node."""
        record = self.scheduler.cache.get(pod.metadata.uid)
        if record is not None and not pod.spec.node_name:
            self.scheduler.ingest.changed(assigned(pod, record.node_name))

    def _go(self, variant: Variant) -> None:
        self._delete_pod(variant.pod.obj())
        for obj in variant.objects:
            self.scheduler.ingest.deleted(obj)
        if variant.node_label or variant.node_taint or variant.node_resource:
            self.scheduler.ingest.changed(self._nodes["node-0"])

    def _delete_pod(self, pod: api.Pod) -> None:
        self.scheduler.ingest.deleted(self.scheduler.pods.get(api.key(pod), pod))


def _with_labels(node: api.Node, labels: dict[str, str]) -> api.Node:
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels))


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def measure(kind: str, options: argparse.Namespace) -> list[Figures]:
    cluster = ChangingCluster(options.nodes)
    for index in range(SAMPLES):
        cluster.attempt(f"warm-{index}")
    figures = [_figures(cluster, 0.0, 0)]
    for wave in range(options.waves):
        seconds = cluster.wave(KINDS[kind], wave * options.wave, options.wave, stay=options.live)
        figures.append(_figures(cluster, seconds / options.wave, wave + 1))
    return figures


def _figures(cluster: ChangingCluster, own_attempt: float, wave: int) -> Figures:
    """Medians, in milliseconds. `own_attempt` is the mean of the wave's pods; before the first wave, of ordinary ones."""
    gc.collect()
    megabytes = resident_megabytes()
    ordinary = _median([cluster.attempt(f"ordinary-{wave}-{index}") for index in range(SAMPLES)])
    updates = _median([cluster.update_node() for _ in range(SAMPLES)])
    events = _median([cluster.pod_event(f"event-{wave}-{index}") for index in range(SAMPLES)])
    return Figures(megabytes, (own_attempt or ordinary) * 1e3, updates * 1e3, events * 1e3)


def _median(samples: list[float]) -> float:
    return sorted(samples)[len(samples) // 2]


def report(kind: str, options: argparse.Namespace) -> None:
    if options.modules:
        tracemalloc.start()
    _, first, *_, last = figures = measure(kind, options)
    growth = f"{figures[0].megabytes:6.0f} →{first.megabytes:6.0f} →{last.megabytes:6.0f} MB"
    attempt = f"{first.attempt:7.2f} →{last.attempt:7.2f} ms"
    update = f"{figures[0].node_update:6.3f} →{last.node_update:7.3f} ms"
    event = f"{figures[0].pod_event:6.3f} →{last.pod_event:7.3f} ms"
    print(f"{kind:30}{growth:>28}{attempt:>22}{update:>22}{event:>22}", flush=True)
    if options.modules:
        for line in tracemalloc.take_snapshot().statistics("filename")[:12]:
            print(f"    {line}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks templates")
    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"any of {', '.join(KINDS)}")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--waves", type=int, default=5)
    parser.add_argument("--wave", type=int, default=500, help="pods of a wave")
    parser.add_argument("--live", action="store_true", help="pods stay")
    parser.add_argument("--modules", action="store_true", help="where the memory was allocated")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        parser.error(f"unknown kind {sorted(unknown)[0]!r}; known: {', '.join(KINDS)}")
    keep_freed_memory()
    if options.one:
        report(options.kinds[0], options)
        return
    what = "alive" if options.live else "created and deleted"
    print(f"{options.waves} × {options.wave} pods {what} on {options.nodes:,} nodes, each of its own template")
    print(f"{'':30}{'resident (start, 1st, last)':>28}{'own attempt':>22}{'node update':>22}{'pod add + delete':>22}")
    for kind in options.kinds or KINDS:
        command = [sys.executable, "-m", "benchmarks", "templates", "--one", *_flags(options), kind]
        subprocess.run(command, check=True)


def _flags(options: argparse.Namespace) -> list[str]:
    flags = ["--nodes", str(options.nodes), "--waves", str(options.waves), "--wave", str(options.wave)]
    return flags + ["--live"] * options.live + ["--modules"] * options.modules
