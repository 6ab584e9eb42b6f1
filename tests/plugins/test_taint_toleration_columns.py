# SPDX-License-Identifier: Apache-2.0
"""TaintToleration says the same in its vector form."""

from __future__ import annotations

from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.plugins.column_checks import NODE_NAMES, Change, ChangingCluster, FilterCheck, ScoreCheck, changes
from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.columns import Normalize
from steersman.scheduler.plugins.taint_toleration import COMPARISON_OPERATORS_GATE, TaintToleration
from steersman.testing import PodBuilder, make_node, make_pod

keys = st.sampled_from(["disk", "gpu"])
values = st.sampled_from(["", "1", "5", "x"])
effects = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
times = st.sampled_from([None, "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"])
taints = st.lists(st.builds(api.Taint, keys, values, effects, times), max_size=3).map(tuple)
nodes: st.SearchStrategy[api.Node] = st.builds(
    lambda name, taints: api.Node(metadata=make_node(name).obj().metadata, spec=api.NodeSpec(taints=taints)),
    st.sampled_from(NODE_NAMES),
    taints,
)
tolerations = st.builds(
    api.Toleration,
    st.one_of(st.just(""), keys),
    st.sampled_from(["", "Equal", "Exists", "Lt", "Gt", "Resembles"]),
    values,
    st.one_of(st.just(""), effects),
    st.sampled_from([None, 300]),
)
pods = st.lists(st.lists(tolerations, max_size=3).map(tuple), min_size=1, max_size=5)


def tolerating(tolerations: tuple[api.Toleration, ...]) -> api.Pod:
    return api.Pod(spec=api.PodSpec(tolerations=tolerations))


@examples(100)
@given(changes(nodes), pods, st.booleans())
def test_vector_and_scalar_form_agree(
    story: list[Change], pods: list[tuple[api.Toleration, ...]], comparison_operators: bool
) -> None:
    cluster = ChangingCluster()
    plugin = TaintToleration(None, FakeHandle(gates={COMPARISON_OPERATORS_GATE: comparison_operators}))
    check_filter, check_score = FilterCheck(plugin, cluster), ScoreCheck(plugin, cluster)
    for change in story:
        cluster.apply(change)
        for pod in pods:
            check_filter(cluster.shapes.info(tolerating(pod)))
            check_score(cluster.shapes.info(tolerating(pod)))


def fragments(pod: PodBuilder) -> tuple[object, object]:
    plugin = TaintToleration(None, FakeHandle())
    return plugin.filter_fragment(pod.info()), plugin.score_fragment(pod.info())


def test_tolerations_that_mean_the_same_share_a_column() -> None:
    first = make_pod().toleration("gpu", "a", effect="NoSchedule").toleration("disk")
    second = make_pod().toleration("disk", seconds=5).toleration("gpu", "a", effect="NoSchedule", operator="Equal")

    assert fragments(first) == fragments(second.toleration("disk", operator="Resembles"))


def test_tolerations_of_other_effects_do_not_part_pods() -> None:
    hard, soft = fragments(make_pod().toleration("gpu", effect="PreferNoSchedule"))

    assert hard == fragments(make_pod())[0]
    assert soft == fragments(make_pod().toleration("gpu").toleration("not-ready", effect="NoExecute"))[1]


def test_the_time_of_a_taint_does_not_make_it_another_one() -> None:
    cluster = ChangingCluster()
    for name, time in (("a", "2030-01-01T00:00:00Z"), ("b", "2030-01-02T00:00:00Z")):
        spec = api.NodeSpec(taints=(api.Taint("gpu", "", "NoExecute", time),))
        cluster.apply(api.Node(metadata=make_node(name).obj().metadata, spec=spec))

    assert cluster.table.taints.ids[0] == cluster.table.taints.ids[1]


def test_fewer_soft_taints_are_better() -> None:
    kernel = TaintToleration(None, FakeHandle()).score_kernel(make_pod().info(), ChangingCluster().table)

    assert kernel.normalize is Normalize.DEFAULT_REVERSE
