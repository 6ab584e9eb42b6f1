# SPDX-License-Identifier: Apache-2.0
"""`check_plugin` finds kernels and promises that say something else than the plugin's methods."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pytest
from examples.plugins.cheap_nodes import CheapNodes
from examples.plugins.spare_memory import MemoryLeft, SpareMemory

from steersman import api
from steersman.framework import Depends, FilterPlugin, Handle, NodeInfo, PodInfo, ScorePlugin
from steersman.framework.columns import ColumnarScore, ScoreKernel
from steersman.framework.nodes_view import NodesView, Rows
from steersman.testing import PluginCheckError, check_plugin, make_node, make_pod


class FewPods(ScorePlugin):
    """Promises that the answer depends on the Node object alone, and counts pods."""

    name = "FewPods"
    depends = Depends.NODE

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return max(0, 100 - len(node.pods))


class FewPodsAsPromised(FewPods):
    depends = Depends.NODE_PODS

    def fragment(self, pod: PodInfo) -> Hashable:
        return ()


class OpenAtNoon(FilterPlugin):
    """Promises that the answer depends on the Node object alone, and reads the clock."""

    name = "OpenAtNoon"
    depends = Depends.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        self._clock = handle.clock

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
        return self._clock.now() // 43200 % 2 == 0


class OpenAtNoonWithoutPromise(OpenAtNoon):
    name = "OpenAtNoonWithoutPromise"
    depends = None  # type: ignore[assignment]


class SameTeam(FilterPlugin):
    """Leaves out of its fragment what it looks at."""

    name = "SameTeam"
    depends = Depends.NODE

    def fragment(self, pod: PodInfo) -> Hashable:
        return pod.namespace

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool | str:
        return node.labels.get("example.com/team") == pod.labels.get("example.com/team") or "another team"


class SameTeamAsPromised(SameTeam):
    def fragment(self, pod: PodInfo) -> Hashable:
        return pod.labels.get("example.com/team")


class Constant(ScoreKernel):
    """Different numbers for one row and for many."""

    one, many = 5, 7

    def __init__(self, view: NodesView) -> None:
        self._capacity = view.capacity

    def row(self, row: int) -> int:
        return self.one

    def rows(self, rows: Rows) -> Any:
        return np.full(self._capacity, self.many)[rows]


class Three(ScorePlugin, ColumnarScore):
    name = "Three"
    kernel = Constant

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 3

    def score_fragment(self, pod: PodInfo) -> Hashable:
        return ()

    def score_kernel(self, pod: PodInfo, view: NodesView) -> ScoreKernel:
        return self.kernel(view)


@pytest.mark.parametrize(
    ("plugin", "says"),
    [
        (FewPods, r"(came to|left) n\d\): score .* the answer cached as promised \(depends = Depends\.NODE\) says"),
        (SameTeam, r"the answer cached as promised \(depends = Depends\.NODE and fragment '(default|shop)'\)"),
        (Three, r"the method says \(3, 3\), the kernel says \(7, 7\)"),
    ],
)
def test_a_promise_or_kernel_that_differs_from_the_method_is_found(plugin: type, says: str) -> None:
    with pytest.raises(PluginCheckError, match=says):
        check_plugin(plugin)


def test_a_kernel_that_differs_for_single_rows_is_found() -> None:
    kernel = type("Differs", (Constant,), {"many": 3})
    with pytest.raises(PluginCheckError, match=r"the kernel says \(5, 5\)|answer is 5, expected 3"):
        check_plugin(type("Differs", (Three,), {"kernel": kernel, "__module__": __name__}))


def test_a_filter_kernel_that_examines_another_amount_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MemoryLeft.__init__
    monkeypatch.setattr(MemoryLeft, "__init__", lambda self, wanted, *rest: made(self, wanted + (1 << 30), *rest))
    with pytest.raises(PluginCheckError, match="would have less than a tenth of their memory left"):
        check_plugin(SpareMemory, clusters=60)


@pytest.mark.parametrize("plugin", [FewPodsAsPromised, SameTeamAsPromised, SpareMemory, CheapNodes])
def test_plugins_that_keep_their_word_pass_and_something_was_seen(plugin: type) -> None:
    seen = check_plugin(plugin)
    assert seen.comparisons > 1000
    assert seen.rejections or len(seen.scores) > 1


def test_samples_arguments_and_objects_are_in_the_clusters() -> None:
    found = set()

    class Looks(FilterPlugin):
        name = "Looks"

        def __init__(self, args: dict[str, str], handle: Handle) -> None:
            found.add(args["word"])
            self._objects = handle.objects

        def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
            found.update(service.metadata.name for service in self._objects.list(api.Service))
            found.update((pod.spec.containers[0].image, node.annotations.get("sample", "")))
            return True

    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {}}
    check_plugin(
        Looks,
        args={"word": "given"},
        nodes=[make_node().annotation("sample", "yes")],
        pods=[make_pod().image("nginx")],
        objects=[service],
        clusters=2,
        steps=2,
    )
    assert found == {"given", "web", "nginx", "yes"}


def test_a_plugin_that_breaks_both_ways_is_counted() -> None:
    class Breaks(ScorePlugin):
        name = "Breaks"
        depends = Depends.NODE

        def score(self, pod: PodInfo, node: NodeInfo) -> int:
            raise KeyError(node.name)

    assert check_plugin(Breaks, clusters=2, steps=3).faults > 10


def test_the_same_seed_gives_the_same_clusters() -> None:
    texts = set()
    for _ in range(2):
        with pytest.raises(PluginCheckError) as error:
            check_plugin(FewPods, seed=7)
        texts.add(str(error.value))
    assert len(texts) == 1


def test_a_promise_that_forgets_the_clock_is_found() -> None:
    with pytest.raises(PluginCheckError, match=r"s passed\): filter on node .* the answer cached as promised"):
        check_plugin(OpenAtNoon)


def test_a_plugin_without_a_promise_may_read_the_clock() -> None:
    assert check_plugin(OpenAtNoonWithoutPromise).rejections > 0


def test_a_sample_pod_may_be_an_object_with_a_uid() -> None:
    assert check_plugin(FewPodsAsPromised, pods=[make_pod("web").uid("one").obj()]).comparisons > 0
