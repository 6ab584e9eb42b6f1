# SPDX-License-Identifier: Apache-2.0
"""What decides on a pod, when all of it is on the nodes themselves."""

from __future__ import annotations

import pytest

from steersman.base.clock import ManualClock
from steersman.base.rng import SeededRng
from steersman.framework.pod_info import PodInfo
from steersman.framework.pod_limits import PodLimits
from steersman.scheduler.engine.columnar import ColumnarEvaluation
from steersman.scheduler.engine.local_filters import LocalFilters
from steersman.testing import PodBuilder, make_node, make_pod
from steersman.testing.conformance.setting import Setting

PROFILE = "default-scheduler"
HOSTNAME = "kubernetes.io/hostname"


def a_setting(*pods: PodBuilder) -> Setting:
    setting = Setting(None, ManualClock(), SeededRng(0), scalar=False)
    setting.change(make_node("n1").capacity(cpu="4", pods=3).label(HOSTNAME, "n1").obj())
    setting.change(make_node("n2").capacity(cpu="4", pods=3).taint("dedicated").label(HOSTNAME, "n2").obj())
    for pod in pods:
        setting.change(pod.obj())
    return setting


def local(setting: Setting, pod: PodBuilder) -> tuple[PodInfo, LocalFilters | None]:
    info = setting.cache.shapes.info(pod.obj())
    evaluation = setting.cycle.evaluate(setting.profiles[PROFILE], info)
    assert isinstance(evaluation, ColumnarEvaluation)
    return info, evaluation.local_filters()


def test_room_and_ports_are_rules_that_others_may_foresee() -> None:
    _, filters = local(a_setting(), make_pod().req(cpu="2").host_port(80))
    assert filters is not None
    room, ports = filters.room(), filters.ports()
    assert room is not None
    assert room.amounts == (("cpu", 2000),)
    assert ports is not None
    assert ports.ports == (("0.0.0.0", "TCP", 80),)


def test_nodes_that_reject_the_pod_whatever_runs_there_are_known() -> None:
    setting = a_setting()
    _, filters = local(setting, make_pod().req(cpu="2"))
    assert filters is not None
    rejected = filters.rejected_by_node()
    assert [bool(rejected[row]) for row in setting.cache.nodes.live_rows()] == [False, True]


@pytest.mark.parametrize(
    ("cpu", "port", "reasons"),
    [
        ("1", 443, None),
        ("3", 443, ("Insufficient cpu",)),
        ("1", 80, ("node(s) didn't have free ports for the requested pod ports",)),
    ],
)
def test_an_objection_considers_pods_that_are_not_there_yet(cpu: str, port: int, reasons: tuple[str] | None) -> None:
    setting = a_setting()
    _, filters = local(setting, make_pod().req(cpu="2").host_port(80))
    assert filters is not None
    row = setting.cache.nodes.row_of("n1")
    assert row is not None
    objection = filters.objection(row, [make_pod("added").req(cpu=cpu).host_port(port).info()])
    assert (None if objection is None else objection.reasons) == reasons


def test_the_number_of_added_pods_counts() -> None:
    setting = a_setting()
    _, filters = local(setting, make_pod().req(cpu="1"))
    assert filters is not None
    row = setting.cache.nodes.row_of("n1")
    assert row is not None
    assert filters.objection(row, [make_pod(f"added-{index}").info() for index in range(2)]) is None
    objection = filters.objection(row, [make_pod(f"added-{index}").info() for index in range(3)])
    assert objection is not None
    assert objection.reasons == ("Too many pods",)


def test_a_pod_that_examines_pods_elsewhere_has_none() -> None:
    spread = make_pod().label("app", "web").spread(HOSTNAME, selector={"app": "web"})
    assert local(a_setting(), spread)[1] is None


def test_a_pod_rejected_by_a_filter_that_is_not_local_has_none() -> None:
    hermit = make_pod("hermit").anti_affinity(HOSTNAME, {"app": "web"}).node("n1")
    assert local(a_setting(hermit), make_pod().label("app", "web"))[1] is None
    assert local(a_setting(hermit), make_pod().label("app", "db"))[1] is not None


def test_only_the_latest_evaluation_is_known() -> None:
    setting = a_setting()
    first, _ = local(setting, make_pod("first"))
    local(setting, make_pod("second"))
    assert setting.cycle.what_if(PROFILE).row_filters(first) is None


def test_a_pod_that_examines_others_says_what_they_mean_to_it() -> None:
    setting = a_setting(make_pod("other").label("app", "web").node("n1"))
    pod, _ = local(setting, make_pod().anti_affinity(HOSTNAME, {"app": "web"}))
    filters = setting.cycle.what_if(PROFILE).row_filters(pod)
    assert filters is not None
    (said,) = [step for step in filters.steps if isinstance(step, PodLimits)]
    (limit,) = said.limits
    table = setting.cache.nodes
    assert {table.names[row]: int(limit.spare[row]) for row in table.live_rows()} == {"n1": -1, "n2": 0}


def test_a_skew_that_nothing_satisfies_is_left_to_the_plugin() -> None:
    setting = a_setting()
    pod, _ = local(setting, make_pod().label("app", "web").spread(HOSTNAME, max_skew=0, selector={"app": "web"}))
    assert setting.cycle.what_if(PROFILE).row_filters(pod) is None
