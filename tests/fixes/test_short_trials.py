# SPDX-License-Identifier: Apache-2.0
"""Trials that first leave out unrelated pods and preemption find the fixes of whole trials; and which pods are unrelated."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.fixes.clusters import HOSTNAME, a_node, a_pod
from tests.fixes.documents import ZONE, Document, Documents
from tests.fixes.pending_pods import OBSTACLES, pending_because

from steersman.explain.fixes import find_fixes, unrelated_pods, verification
from steersman.explain.fixes.fix_writer import against_input
from steersman.explain.fixes.search import FixSearch
from steersman.explain.fixes.verification import Verifier
from steersman.simulation import Simulation
from steersman.testing import PodBuilder

OWN = (
    "affinity",
    "anti-affinity",
    "claim",
    "cpu",
    "device count",
    "extended resource",
    "fragments",
    "gates",
    "host port",
    "memory",
    "no volume",
    "pod affinity",
    "pods per node",
    "selector",
    "small volumes",
    "spread",
    "taints",
    "without preemption",
)
"""Reasons of which several can meet in one cluster."""


def several_pending(seed: int) -> tuple[Documents, list[str]]:
    """A cluster in which some pods wait, for reasons of their own; some use, attract or line up with each other."""
    rng = random.Random(seed)
    case = pending_because((), rng)
    *given, pod = case.documents
    nodes, others = (
        [each for each in given if each["kind"] == "Node"],
        [each for each in given if each["kind"] == "Pod"],
    )
    extra: Documents = []
    pods: Documents = []
    for number in range(rng.randint(2, 5)):
        own: Document = {**pod, "metadata": {**pod["metadata"], "name": f"web-{number}"}}
        own["metadata"]["labels"] = {"app": rng.choice(["web", "nobody", "lined-up"])}
        own["spec"] = {"containers": [{"name": "app", "image": "app", "resources": {"requests": {"cpu": "500m"}}}]}
        own["spec"]["priority"] = rng.choice([0, 0, 3, 7])
        OBSTACLES[rng.choice(OWN)](own["spec"], nodes, others, extra, rng)
        pods.append(own)
    names = set()
    unique = [
        each
        for each in (*extra, *nodes, *others)
        if (name := (each["kind"], each["metadata"]["name"])) not in names and not names.add(name)  # type: ignore[func-returns-value]
    ]
    return [*unique, *pods], [f"default/{each['metadata']['name']}" for each in pods]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("large", [False, True])
def test_fixes_are_those_of_whole_trials(seed: int, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(verification, "LARGE", 0)
    documents, pods = several_pending(seed)
    for pod in pods[:2]:
        found = find_fixes(Simulation.load(*documents), pod)
        verifier = Verifier(Simulation.load(*documents), pod, whole_trials=True)
        whole = [against_input(draft, verifier) for draft in FixSearch(verifier).drafts()]
        assert list(found) == whole


def left_out(*pods: PodBuilder, **options: Any) -> set[str]:
    """Return the unrelated pods of the pod `web` in a cluster of two zones, too small for all of these pods."""
    nodes = [a_node(name).label(ZONE, name) for name in ("n1", "n2")]
    base = Simulation.load([node.obj() for node in nodes], [pod.obj() for pod in pods], **options)
    result = base.run()
    return {pod.metadata.name for pod in unrelated_pods.unrelated_pods(base, result, ["default/web"])}


class TestBystanders:
    def test_pods_that_wait_for_themselves_are(self) -> None:
        assert left_out(a_pod("web", "9"), a_pod("a", "9"), a_pod("b", "9")) == {"a", "b"}

    def test_no_pod_is_unrelated_where_a_pod_was_placed(self) -> None:
        assert left_out(a_pod("web", "9"), a_pod("a", "9"), a_pod("b", "1")) == set()

    def test_a_pod_that_the_pod_wants_to_be_with_is_none(self) -> None:
        web = a_pod("web", "9").pod_affinity(HOSTNAME, {"app": "a"})
        assert left_out(web, a_pod("a", "9").label("app", "a"), a_pod("b", "9")) == {"b"}

    def test_nor_is_one_that_such_a_pod_wants_to_be_with(self) -> None:
        web = a_pod("web", "9").pod_affinity(HOSTNAME, {"app": "a"})
        friend = a_pod("a", "9").label("app", "a").pod_affinity(HOSTNAME, {"app": "b"})
        assert left_out(web, friend, a_pod("b", "9").label("app", "b"), a_pod("c", "9")) == {"c"}

    def test_one_that_is_spread_with_it_is_none(self) -> None:
        web = a_pod("web", "9").spread(ZONE, max_skew=1, when="DoNotSchedule", selector={"app": "a"})
        assert left_out(web, a_pod("a", "9").label("app", "a"), a_pod("b", "9")) == {"b"}

    def test_one_that_uses_the_same_claim_is_none(self) -> None:
        assert left_out(a_pod("web", "9").pvc("data"), a_pod("a", "9").pvc("data"), a_pod("b", "9")) == {"b"}

    def test_no_pod_is_unrelated_where_default_spreading_rejects_nodes(self) -> None:
        constraint = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
        args = {"defaultingType": "List", "defaultConstraints": [constraint]}
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}],
        }
        assert left_out(a_pod("web", "9"), a_pod("a", "9"), config=config) == set()
