"""Pods that all columnar plugins treat alike share a signature."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from tests.cycle.scheduling import Cycles, profile_of

from steersman.api.selectors import Selector, from_labels
from steersman.cycle.plan import make_plan
from steersman.cycle.signatures import Signatures
from steersman.framework.columns import (
    ClusterFilterKernel,
    ColumnarFilter,
    Depends,
    FilterKernel,
    StatusTable,
)
from steersman.framework.node_info import NodeInfo
from steersman.framework.nodes_view import (
    BoolColumn,
    NodesView,
    ReasonColumn,
    Rows,
)
from steersman.framework.plugin import FilterPlugin, Plugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, unschedulable
from steersman.testing import make_pod

POD = make_pod("p")
FULL = unschedulable("full")


class PodLimit(FilterPlugin, ColumnarFilter):
    """As many pods on a node as the pod has containers. Counts how many kernels it has made."""

    name = "PodLimit"

    def __init__(self) -> None:
        self.statuses = StatusTable()
        self.made = 0

    def filter(self, pod: PodInfo, node: NodeInfo) -> Status | None:
        return FULL if node.pod_count >= len(pod.spec.containers) else None

    def filter_fragment(self, pod: PodInfo) -> Hashable:
        return len(pod.spec.containers)

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel:
        self.made += 1
        return PodLimitKernel(len(pod.spec.containers), view, self.statuses.id_of(FULL))


class PodLimitKernel(FilterKernel):
    depends = Depends.NODE_PODS

    def __init__(self, limit: int, view: NodesView, reason: int) -> None:
        self._limit = limit
        self._pods = view.pod_count
        self._reason = reason

    def rows(self, rows: Rows) -> ReasonColumn:
        return np.where(self._pods.values[rows] >= self._limit, np.int32(self._reason), np.int32(0))

    def row(self, row: int) -> int:
        return self._reason if self._pods.cell[row] >= self._limit else 0


class SameApp(msgspec.Struct, frozen=True):
    """Matches pods of one app."""

    selector: Selector

    def matches(self, pod: PodInfo, namespace_labels: Mapping[str, str]) -> bool:
        return self.selector.matches(pod.labels)

    def may_match_namespace(self, namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        return True


class Lonely(FilterPlugin, ColumnarFilter):
    """One pod of an app per node, by count tables. Pods have an app."""

    name = "Lonely"
    filters_by_cluster = True

    def __init__(self) -> None:
        self.statuses = StatusTable()

    def filter(self, pod: PodInfo, node: NodeInfo) -> Status | None:
        return FULL if any(other.labels.get("app") == pod.labels["app"] for other in node.pods) else None

    def filter_fragment(self, pod: PodInfo) -> None: ...

    def filter_kernel(self, pod: PodInfo, view: NodesView) -> ClusterFilterKernel:
        return LonelyKernel(pod, view, self.statuses.id_of(FULL))


class LonelyKernel(ClusterFilterKernel):
    def __init__(self, pod: PodInfo, view: NodesView, reason: int) -> None:
        self._counts = view.matching(SameApp(from_labels({"app": pod.labels["app"]})))
        self._reason = reason

    def skipped(self) -> bool:
        return False

    def rejected(self) -> BoolColumn | None:
        return np.greater(self._counts.per_row.values, 0)

    def reasons(self) -> ReasonColumn:
        return np.where(self._counts.per_row.values > 0, np.int32(self._reason), np.int32(0))


def signatures(cycles: Cycles, *plugins: Plugin) -> Signatures:
    return Signatures(make_plan(profile_of(plugins)), cycles.cache.nodes)


class TestSharing:
    def test_pods_of_one_template_share_a_signature(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        first = known.of(cycles.pod(make_pod("a").req(cpu="1")))
        assert known.of(cycles.pod(make_pod("b").req(cpu="1").label("ordinal", "1"))) is first
        assert len(known) == 1

    def test_pods_of_different_shapes_do_not(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        first = known.of(cycles.pod(make_pod("a").req(cpu="1")))
        assert known.of(cycles.pod(make_pod("b").req(cpu="2"))) is not first
        assert len(known) == 2

    def test_different_signatures_share_the_columns_of_equal_fragments(self) -> None:
        plugin, cycles = PodLimit(), Cycles()
        known = signatures(cycles, plugin)
        one = known.of(cycles.pod(make_pod("a").req(cpu="1")))
        other = known.of(cycles.pod(make_pod("b").req(cpu="2")))
        assert plugin.made == 1
        assert one.filters[0][1] is other.filters[0][1]

    def test_labels_count_only_if_a_selector_in_use_refers_to_them(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, Lonely())
        web = known.of(cycles.pod(make_pod("a").label("app", "web").label("ordinal", "1")))
        assert known.of(cycles.pod(make_pod("b").label("app", "web").label("ordinal", "2"))) is web
        assert known.of(cycles.pod(make_pod("c").label("app", "db").label("ordinal", "1"))) is not web


class TestForgetting:
    def test_all_signatures_are_made_anew_when_a_label_becomes_relevant(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        before = known.of(cycles.pod(POD))
        cycles.cache.add_pod(make_pod("q").anti_affinity("zone", {"app": "web"}).node("n1").obj())
        assert known.of(cycles.pod(POD)) is not before
        assert len(known) == 1

    def test_and_when_the_columns_are_replaced(self) -> None:
        plugin, cycles = PodLimit(), Cycles()
        known = signatures(cycles, plugin)
        before = known.of(cycles.pod(POD))
        for index in range(100):
            cycles.add_node(f"more-{index}")
        assert known.of(cycles.pod(POD)) is not before
        assert plugin.made == 2

    def test_the_least_recently_used_ones_go_first(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        pods = [cycles.pod(make_pod("p").req(cpu=str(index + 1))) for index in range(4)]
        with patch("steersman.cycle.signatures._MOST_SIGNATURES", 3):
            first, second = known.of(pods[0]), known.of(pods[1])
            known.of(pods[2])
            assert known.of(pods[0]) is first
            known.of(pods[3])
            assert len(known) == 3
            assert known.of(pods[0]) is first
            assert known.of(pods[1]) is not second

    def test_columns_do_not_pile_up(self) -> None:
        plugin, cycles = PodLimit(), Cycles()
        known = signatures(cycles, plugin)
        pod = POD
        with patch("steersman.cycle.signatures._MOST_FRAGMENTS", 3):
            for _ in range(10):
                pod = pod.container()
                known.of(cycles.pod(pod))
        assert len(known._filter_columns) <= 3
        assert plugin.made == 10


class TestAnswers:
    @pytest.mark.parametrize("plugin", [PodLimit, Lonely])
    def test_kernels_answer_as_the_scalar_form_does(self, plugin: type[PodLimit] | type[Lonely]) -> None:
        columnar, scalar = Cycles(plugin()), Cycles(plugin(), scalar=True)
        pod = POD.container().label("app", "web")
        for step in range(3):
            for cycles in (columnar, scalar):
                cycles.cache.add_pod(make_pod(f"r{step}").label("app", "web").node(f"n{step + 1}").obj())
            assert columnar.feasible(pod) == scalar.feasible(pod)
            assert columnar.statuses(pod) == scalar.statuses(pod)

    def test_the_first_failing_plugin_in_configured_order_is_named(self) -> None:
        for plugins, named in (((PodLimit(), Lonely()), "PodLimit"), ((Lonely(), PodLimit()), "Lonely")):
            cycles = Cycles(*plugins, nodes=["n1"])
            cycles.cache.add_pod(make_pod("r").label("app", "web").node("n1").obj())
            assert cycles.statuses(POD.label("app", "web"))["n1"].plugin == named

    def test_plugins_of_both_kinds_work_together(self) -> None:
        class NotFirst(FilterPlugin):
            name = "NotFirst"

            def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
                return node.name != "n1"

        cycles = Cycles(PodLimit(), NotFirst())
        cycles.cache.add_pod(make_pod("r").node("n2").obj())
        pod = POD.container()
        assert cycles.feasible(pod) == {"n3"}
        assert {node: status.plugin for node, status in cycles.statuses(pod).items()} == {
            "n1": "NotFirst",
            "n2": "PodLimit",
        }
