# SPDX-License-Identifier: Apache-2.0
"""Pods that all columnar plugins treat alike share a signature."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from unittest.mock import patch
from weakref import ref

import msgspec
import numpy as np
import pytest
from tests.cycle.scheduling import Cycles, profile_of

from steersman.api.selectors import Selector, from_labels
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
    LabelledPod,
    NodesView,
    ReasonColumn,
    Rows,
)
from steersman.framework.plugin import FilterPlugin, Plugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status, unschedulable
from steersman.scheduler.engine.columns import FragmentColumn
from steersman.scheduler.engine.evaluation_plan import make_plan
from steersman.scheduler.engine.signatures import Signatures
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

    @property
    def namespace_names(self) -> None:
        """Any."""

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str]) -> bool:
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
    return Signatures(make_plan(profile_of(plugins)), cycles.cache.nodes, cycles.cache.objects)


class TestSharing:
    def test_pods_of_one_template_share_a_signature(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        first = known.get(cycles.pod(make_pod("a").req(cpu="1")))
        assert known.get(cycles.pod(make_pod("b").req(cpu="1").label("ordinal", "1"))) is first
        assert len(known) == 1

    def test_pods_of_different_shapes_do_not(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        first = known.get(cycles.pod(make_pod("a").req(cpu="1")))
        assert known.get(cycles.pod(make_pod("b").req(cpu="2"))) is not first
        assert len(known) == 2

    def test_different_signatures_share_the_columns_of_equal_fragments(self) -> None:
        plugin, cycles = PodLimit(), Cycles()
        known = signatures(cycles, plugin)
        one = known.get(cycles.pod(make_pod("a").req(cpu="1")))
        other = known.get(cycles.pod(make_pod("b").req(cpu="2")))
        assert plugin.made == 1
        assert one.filters[0][1] is other.filters[0][1]

    def test_labels_count_only_if_a_selector_in_use_refers_to_them(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, Lonely())
        web = known.get(cycles.pod(make_pod("a").label("app", "web").label("ordinal", "1")))
        assert known.get(cycles.pod(make_pod("b").label("app", "web").label("ordinal", "2"))) is web
        assert known.get(cycles.pod(make_pod("c").label("app", "db").label("ordinal", "1"))) is not web


class TestForgetting:
    def test_signatures_of_pods_that_have_a_label_are_made_again_when_it_becomes_relevant(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        labelled = POD.label("app", "web").req(cpu="1")
        before, unconcerned = known.get(cycles.pod(labelled)), known.get(cycles.pod(POD))
        cycles.cache.add_pod(make_pod("q").anti_affinity("zone", {"app": "web"}).node("n1").obj())
        assert known.get(cycles.pod(labelled)) is not before
        assert known.get(cycles.pod(POD)) is unconcerned
        assert len(known) == 2

    def test_and_when_the_columns_are_replaced(self) -> None:
        plugin, cycles = PodLimit(), Cycles()
        known = signatures(cycles, plugin)
        before = known.get(cycles.pod(POD))
        for index in range(100):
            cycles.add_node(f"more-{index}")
        assert known.get(cycles.pod(POD)) is not before
        assert plugin.made == 2

    def test_the_least_recently_used_ones_go_first(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        pods = [cycles.pod(make_pod("p").req(cpu=str(index + 1))) for index in range(4)]
        with patch("steersman.scheduler.engine.signatures._MAX_SIGNATURES", 3):
            first, second = known.get(pods[0]), ref(known.get(pods[1]))
            known.get(pods[2])
            assert known.get(pods[0]) is first
            known.get(pods[3])
            assert len(known) == 3
            assert known.get(pods[0]) is first
            assert second() is None

    def test_signatures_that_are_requested_once_leave_the_others_alone(self) -> None:
        cycles = Cycles()
        known = signatures(cycles, PodLimit())
        often = known.get(cycles.pod(POD))
        assert known.get(cycles.pod(POD)) is often
        for index in range(1000):
            known.get(cycles.pod(make_pod("p").req(cpu=f"{index + 1}m")))
        assert len(known) <= 65
        assert known.get(cycles.pod(POD)) is often

    def test_more_signatures_than_are_new_at_a_time_stay_when_they_are_requested_in_turn(self) -> None:
        plugin, cycles = PodLimit(), Cycles()
        known = signatures(cycles, plugin)
        pods = [cycles.pod(make_pod("p").req(cpu=f"{index + 1}m")) for index in range(200)]
        for _ in range(2):
            for pod in pods:
                known.get(pod)
        third = [known.get(pod) for pod in pods]
        assert [known.get(pod) for pod in pods] == third

    def test_columns_do_not_pile_up(self) -> None:
        plugin, cycles = PodLimit(), Cycles()
        known = signatures(cycles, plugin)
        pod = POD
        for _ in range(300):
            pod = pod.container()
            known.get(cycles.pod(pod))
        assert known.cache_sizes()["fragments"] <= 130
        assert plugin.made == 300

    def test_statuses_do_not_pile_up(self) -> None:
        class Talkative(PodLimit):
            def filter_kernel(self, pod: PodInfo, view: NodesView) -> FilterKernel:
                return PodLimitKernel(0, view, self.statuses.id_of(unschedulable(f"no {len(pod.spec.containers)}")))

        cycles = Cycles()
        known = signatures(cycles, Talkative())
        pod = POD
        with patch.object(StatusTable, "MAX_STATUSES", 4):
            for number in range(1, 20):
                pod = pod.container()
                entry = known.get(cycles.pod(pod))
                step, column = entry.filters[0]
                assert isinstance(column, FragmentColumn)
                assert step.statuses[column.cell[0]].reasons == (f"no {number}",)
                assert known.cache_sizes()["statuses"] <= 4


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
