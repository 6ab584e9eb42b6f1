# SPDX-License-Identifier: Apache-2.0
"""The vector dry run says what the plain one says also for pods with claims: bound to zonal volumes, waiting, or limited."""

from __future__ import annotations

from unittest import mock

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.preemption.clusters import PreemptionCluster
from tests.preemption.test_columns_equal_plain_search import (
    NODES,
    budgets,
    check,
    nodes,
    pods,
    preemptors,
    searches,
)

from steersman import api
from steersman.scheduler.preemption.column_dry_run import ColumnDryRun
from steersman.scheduler.preemption.dry_run import DryRunQuestion, FullSearch
from steersman.testing import (
    NodeBuilder,
    PodBuilder,
    is_in,
    make_claim,
    make_csi_node,
    make_node,
    make_pod,
    make_storage_class,
    make_volume,
)

ZONE = "topology.kubernetes.io/zone"
DRIVER = "disk.example.com"
CLAIMS = ("c0", "c1", "c2")


@st.composite
def zonal_nodes(draw: st.DrawFn, name: str) -> NodeBuilder:
    node = draw(nodes(name))
    return node.label(ZONE, draw(st.sampled_from("ab"))) if draw(st.integers(0, 5)) else node


@st.composite
def storage(draw: st.DrawFn) -> list[api.Object]:
    """Claims that are bound, to volumes of a zone or of none, or that wait for their first consumer; limits of drivers."""
    objects: list[api.Object] = [make_storage_class("late").waits().provisioner(DRIVER).obj()]
    for name in CLAIMS:
        claim = make_claim(name).asks("1Gi").storage_class("late")
        how = draw(st.sampled_from(["affinity", "affinity", "label", "anywhere", "waiting", "volume missing"]))
        volume = make_volume(f"pv-{name}").offers("1Gi").storage_class("late").csi(DRIVER).claimed(claim).phase("Bound")
        if how == "affinity":
            volume = volume.on(is_in(ZONE, draw(st.sampled_from("ab"))))
        elif how == "label":
            volume = volume.label(ZONE, draw(st.sampled_from("ab")))
        objects.append((claim if how == "waiting" else claim.bound(f"pv-{name}")).obj())
        if how not in ("waiting", "volume missing"):
            objects.append(volume.obj())
    if draw(st.integers(0, 2)) == 0:
        objects += [make_csi_node(node).driver(DRIVER, limit=draw(st.integers(1, 2))).obj() for node in NODES]
    return objects


@st.composite
def users_of_claims(draw: st.DrawFn, pod: PodBuilder) -> PodBuilder:
    for claim in draw(st.lists(st.sampled_from(CLAIMS), max_size=2, unique=True)):
        pod = pod.pvc(claim)
    return pod


@examples(60)
@given(st.data())
def test_every_search_finds_the_same(data: st.DataObject) -> None:
    cluster = PreemptionCluster([data.draw(zonal_nodes(name)) for name in NODES], objects=data.draw(storage()))
    for index in range(data.draw(st.integers(10, 30))):
        pod = data.draw(pods(f"pod-{index}")).node(data.draw(st.sampled_from(NODES)))
        is_user = data.draw(st.integers(0, 7)) == 0
        cluster.setting.change((data.draw(users_of_claims(pod)) if is_user else pod).obj())
    if data.draw(st.booleans()):
        cluster.setting.change(data.draw(budgets("budget-0")))
    if data.draw(st.booleans()):
        rival = data.draw(users_of_claims(data.draw(pods("rival"))))
        cluster.nominate(rival, data.draw(st.sampled_from(NODES)))
    preemptor = data.draw(preemptors()).pvc(data.draw(st.sampled_from(CLAIMS)))
    found = searches(cluster, ColumnDryRun(), preemptor, FullSearch())
    if None not in found:
        check(found, full=True)


def test_a_pod_with_a_bound_claim_preempts_without_a_dry_run_of_every_node() -> None:
    claim = make_claim("data").bound("pv")
    volume = make_volume("pv").csi(DRIVER).claimed(claim).phase("Bound").on(is_in(ZONE, "a"))
    made = [make_node(f"n{i}").label(ZONE, "ab"[i % 2]).capacity(cpu="4", pods=10) for i in range(20)]
    there = [make_pod(f"low-{i}").node(f"n{i}").req(cpu="4") for i in range(20)]
    cluster = PreemptionCluster(made, there, [claim.obj(), volume.obj()])
    cluster.plugin.evaluator.detailed = False
    with mock.patch.object(DryRunQuestion, "about", side_effect=AssertionError("a plain dry run")):
        node, victims = cluster.victims(make_pod("db").priority(100).req(cpu="2").pvc("data"))
    assert victims == [f"low-{node.removeprefix('n')}"]
    assert int(node.removeprefix("n")) % 2 == 0


def test_nodes_in_another_zone_than_the_volume_are_rejected_by_one_dry_run_for_all() -> None:
    claim = make_claim("data").bound("pv")
    volume = make_volume("pv").csi(DRIVER).claimed(claim).phase("Bound").on(is_in(ZONE, "lost"))
    made = [make_node(f"n{i}").label(ZONE, "a").capacity(cpu="4", pods=10) for i in range(20)]
    there = [make_pod(f"low-{i}").node(f"n{i}").req(cpu="4") for i in range(20)]
    cluster = PreemptionCluster(made, there, [claim.obj(), volume.obj()])
    about = DryRunQuestion.about
    with mock.patch.object(DryRunQuestion, "about", autospec=True, side_effect=about) as asked:
        assert cluster.victims(make_pod("db").priority(100).req(cpu="2").pvc("data")) == ("", [])
    assert asked.call_count == 1
