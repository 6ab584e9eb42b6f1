# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.shadow [--nodes N] [--pods N] [--single N] [workload…]`: see the package's text."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from benchmarks.race.observing import Bindings, Stalled
from benchmarks.race.racing import CONFIG, NAMESPACE, Track
from benchmarks.race.workloads import WORKLOADS, JsonObject, Workload, pod_manifest
from steersman.base.errors import SteersmanError
from steersman.testing.control_plane import (
    Binaries,
    ControlPlane,
    KubeScheduler,
    ServerRefusal,
    ShadowProcess,
    wait_until,
)

ALL_NODES: Final = {"percentageOfNodesToScore": 100}
#: LeastAllocated counts less than kube-scheduler's default, taints more.
OTHER_WEIGHTS: Final = {
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "score": {
                    "disabled": [{"name": "NodeResourcesFit"}, {"name": "NodeResourcesBalancedAllocation"}],
                    "enabled": [{"name": "NodeResourcesBalancedAllocation", "weight": 10}],
                }
            },
        }
    ]
}
EXPLAINED: Final = frozenset({"same", "tie", "sampling", "timing"})
_SETTLE_SECONDS: Final = 120.0
Comparisons = Sequence[JsonObject]


class Check:
    """One control plane with its nodes; schedulers and shadows come and go."""

    def __init__(self, plane: ControlPlane, nodes: int) -> None:
        self._plane = plane
        self._nodes = nodes
        self._track = Track(plane, nodes)

    def workloads(self, names: Sequence[str], pods: int, nodes_first: bool) -> Comparisons:
        """Every workload in turn, with kube-scheduler's own sampling; as many pods in all, or as many as fit.

        If both schedulers see the nodes come, the order of searches is known; with the nodes first, it is not."""
        if nodes_first:
            self._track.lay()
        with KubeScheduler(self._plane, config=CONFIG), ShadowProcess(self._plane) as shadow:
            if not nodes_first:
                self._track.lay()
            expected = 0
            for name, count in _shares(names, pods, self._nodes):
                expected += self._run(WORKLOADS[name], count, shadow, expected)
            return self._ended(shadow)

    def one_at_a_time(self, pods: int, config: Mapping[str, Any]) -> Comparisons:
        """Plain and mixed pods, each created when the one before it has its node; sampling is off on both sides."""
        file = self._plane.directory / "all-nodes.yaml"
        file.write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 100\n"
        )
        flags = [f"--config={file}", f"--differences={self._plane.directory / 'differences'}"]
        with (
            KubeScheduler(self._plane, config={**CONFIG, **ALL_NODES, **config}),
            ShadowProcess(self._plane, flags=flags) as shadow,
        ):
            seen = Bindings(self._plane.admin, NAMESPACE, pods)
            for index in range(pods):
                self._plane.admin.create(_in_race(_single(index)))
                wait_until(lambda done=index: len(seen.moments.bindings) > done, 60.0, what=f"pod {index}")  # type: ignore[misc]
            wait_until(lambda: len(shadow.bindings()) >= pods, _SETTLE_SECONDS, what="the shadow's comparisons")
            return self._ended(shadow)

    def _run(self, workload: Workload, count: int, shadow: ShadowProcess, before: int) -> int:
        self._track.create(workload.before(self._nodes))
        waiting = Bindings(self._plane.admin, NAMESPACE, count)
        began = time.monotonic()
        self._track.create(workload.pod(index) for index in range(count))
        waiting.wait_all()
        bound = time.monotonic()
        wait_until(lambda: len(shadow.bindings()) >= before + count, _SETTLE_SECONDS, what="the shadow's comparisons")
        seconds, later = bound - began, time.monotonic() - bound
        found = shadow.bindings()[before:]
        print(f"{workload.name}: {_counts(found)}; in {seconds:.1f} s, shadow {later:.1f} s later", file=sys.stderr)
        return count

    def _ended(self, shadow: ShadowProcess) -> Comparisons:
        cpu, memory = shadow.cpu_seconds(), shadow.peak_rss()
        shadow.stop()
        found = shadow.comparisons()
        print(f"shadow: {cpu:.1f} s CPU, {memory / 1e6:.0f} MB, exit code {shadow.exit_code}", file=sys.stderr)
        wait_until(self._is_cleared, _SETTLE_SECONDS, what="the end of all pods")
        return found

    def _is_cleared(self) -> bool:
        """False: so many pods took the server too long; the rest goes with the next request."""
        try:
            self._track.clear()
        except ServerRefusal:
            return False
        return True


def _single(index: int) -> JsonObject:
    return WORKLOADS["20 deployments"].pod(index) if index % 2 else pod_manifest(f"single-{index}")


def _in_race(pod: JsonObject) -> JsonObject:
    pod["metadata"]["namespace"] = NAMESPACE
    return pod


def _shares(names: Sequence[str], pods: int, nodes: int) -> Iterator[tuple[str, int]]:
    """So many pods in all; what a workload cannot take goes to those after it, so that the last one has room for all."""
    ordered = sorted(names, key=lambda name: WORKLOADS[name].most(nodes))
    left = pods
    for number, name in enumerate(ordered):
        count = min(left // (len(ordered) - number), WORKLOADS[name].most(nodes))
        left -= count
        yield name, count


def _counts(found: Comparisons) -> str:
    classes = Counter(one["class"] for one in found)
    return ", ".join(f"{count:,} {name}" for name, count in classes.most_common())


def _unexplained(found: Comparisons) -> list[JsonObject]:
    return [one for one in found if one["class"] not in EXPLAINED]


def check(options: argparse.Namespace) -> int:
    """The exit code: 1 when a decision is not explained."""
    failures = 0
    with ExitStack() as opened:
        directory = options.directory or opened.enter_context(tempfile.TemporaryDirectory(prefix="steersman-shadow-"))
        with ControlPlane(Binaries.find(), Path(directory), authorization="AlwaysAllow") as plane:
            checked = Check(plane, options.nodes)
            if options.pods:
                found = checked.workloads(options.workloads or list(WORKLOADS), options.pods, options.nodes_first)
                failures += _told(f"{options.nodes:,} nodes, sampling", found, _unexplained(found), options)
            if options.single:
                found = checked.one_at_a_time(options.single, {})
                others = [one for one in found if one["class"] not in ("same", "tie")]
                failures += _told(f"{options.nodes:,} nodes, all looked at, one at a time", found, others, options)
            if options.weights:
                found = checked.one_at_a_time(options.weights, OTHER_WEIGHTS)
                print(f"other weights: {_counts(found)}; {Counter(_plugins(found)).most_common()}")
    return 1 if failures else 0


def _plugins(found: Comparisons) -> Iterator[str]:
    return (one["scores"]["plugin"] for one in found if one["class"] == "disagreement" and "scores" in one)


def _told(title: str, found: Comparisons, bad: Comparisons, options: argparse.Namespace) -> int:
    kinds = Counter(one["decision"] for one in found)
    print(f"{title}: {len(found):,} decisions ({dict(kinds)}): {_counts(found)}; {len(bad)} not explained")
    for one in bad[: options.show]:
        print(f"  {one['decision']} {one['pod']}: {one['class']}: {one['evidence']}")
    return len(bad)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shadow", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=5000, help="with sampling, in all; 0: none")
    parser.add_argument("--single", type=int, default=500, help="one at a time, all nodes looked at; 0: none")
    parser.add_argument("--weights", type=int, default=0, help="one at a time, beside a scheduler with other weights")
    parser.add_argument("--nodes-first", action="store_true", help="nodes are there before kube-scheduler starts")
    parser.add_argument("--directory", type=Path, help="keep logs and comparisons there")
    parser.add_argument("--show", type=int, default=20, help="decisions that are not explained")
    parser.add_argument("workloads", nargs="*", metavar="workload")
    options = parser.parse_args()
    unknown = [name for name in options.workloads if name not in WORKLOADS]
    if unknown:
        sys.exit(f"unknown workload {unknown[0]!r}; known: {', '.join(WORKLOADS)}")
    try:
        sys.exit(check(options))
    except (SteersmanError, Stalled, TimeoutError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
