"""Signatures of pods with claims come and go: they must not pile up."""

from __future__ import annotations

from unittest.mock import patch

from tests.equivalence.cluster import PROFILE, Cluster

from steersman.cycle.plan import make_plan
from steersman.cycle.signatures import Signatures
from steersman.testing import make_node, make_pod


def test_only_the_last_few_are_kept_and_others_stay() -> None:
    cluster = Cluster()
    cluster.cache.set_node(make_node("n").obj())
    signatures = Signatures(make_plan(cluster.profiles[PROFILE]), cluster.cache.nodes)
    plain = signatures.of(cluster.pending(make_pod("plain").obj()))
    with patch("steersman.cycle.signatures._MOST_PERSONAL", 3):
        made = [signatures.of(cluster.pending(make_pod("p").pvc(f"c{index}").obj())) for index in range(6)]
    assert len(signatures) == 4
    assert signatures.of(cluster.pending(make_pod("plain").obj())) is plain
    assert signatures.of(cluster.pending(make_pod("p").pvc("c5").obj())) is made[5]
    assert signatures.of(cluster.pending(make_pod("p").pvc("c0").obj())) is not made[0]
