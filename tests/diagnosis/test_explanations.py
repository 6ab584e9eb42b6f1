# SPDX-License-Identifier: Apache-2.0
"""What an explanation says of nodes and plugins."""

from __future__ import annotations

from collections.abc import Sequence

from tests.runtime.calling import without_place
from tests.simulation.clusters import a_node, a_pod, nodes, pods

from steersman import api
from steersman.framework import FilterPlugin, NodeInfo, PodInfo, ScorePlugin
from steersman.framework.plugin import Plugin
from steersman.scheduler.diagnosis import Explanation, Outcome
from steersman.simulation import Simulation
from steersman.testing import is_in


def explain(pod: api.Pod, *objects: api.Object, plugins: Sequence[type[Plugin]] = ()) -> Explanation:
    return Simulation.load(objects, pod, plugins=plugins).run(explain=[api.key(pod)]).explain(api.key(pod))


def test_every_score_of_every_fitting_node_adds_up_to_its_total() -> None:
    explained = explain(a_pod("p").obj(), *nodes("n1", "n2"), a_node("n3", cpu="8").obj())
    assert explained.outcome is Outcome.SCHEDULED
    assert explained.node == "n3"
    for node in explained.nodes:
        assert node.fits
        assert node.total == sum(score.weighted for score in node.scores)
        assert all(score.weighted == score.weight * score.normalised for score in node.scores)
    taints = {score.plugin: score for score in explained.node_explanation("n1").scores}["TaintToleration"]
    assert (taints.weight, taints.raw, taints.normalised, taints.weighted) == (3, 0, 100, 300)


def test_the_deciding_plugin_comes_first_and_all_others_that_object_follow() -> None:
    full = a_node("full", cpu="1").taint("dedicated", "db").obj()
    explained = explain(a_pod("p", cpu="2").node_selector("disk", "ssd").obj(), full)
    verdicts = explained.node_explanation("full").verdicts
    assert [verdict.plugin for verdict in verdicts] == ["TaintToleration", "NodeAffinity", "NodeResourcesFit"]
    assert verdicts[2].reasons == ("Insufficient cpu",)
    assert verdicts[0].code == "UnschedulableAndUnresolvable"
    assert explained.message.startswith("0/1 nodes are available: 1 node(s) had untolerated taint(s).")


def test_plugins_with_nothing_to_do_are_named() -> None:
    explained = explain(a_pod("p").obj(), *nodes("n1", "n2"))
    assert "NodePorts" in explained.pre_filter.skipped
    assert "NodeAffinity" in explained.score_skipped


def test_a_single_fitting_node_is_taken_without_scores() -> None:
    explained = explain(a_pod("p").obj(), *nodes("n1"), a_node("n2").unschedulable().obj())
    assert explained.node_explanation("n1").total is None
    assert explained.ties == 1


def test_a_restriction_to_some_nodes_is_part_of_the_explanation() -> None:
    fields = [is_in("metadata.name", "n2")]
    explained = explain(a_pod("p").required_node_affinity(fields=fields).obj(), *nodes("n1", "n2"))
    assert explained.pre_filter.nodes == ("n2",)
    assert explained.pre_filter.restricted_by == ("NodeAffinity",)
    assert explained.node_explanation("n1").verdicts[0].reasons == ("node(s) didn't satisfy plugin(s) [NodeAffinity]",)


def test_a_rejection_by_prefilter_names_the_plugin() -> None:
    explained = explain(a_pod("p").pvc("ghost").obj(), *nodes("n1"))
    rejection = explained.pre_filter.rejection
    assert rejection is not None
    assert 'persistentvolumeclaim "ghost" not found' in rejection.reasons
    assert explained.node_explanation("n1").verdicts == (rejection,)


class BrokenFilter(FilterPlugin):
    name = "BrokenFilter"

    def filter(self, pod: PodInfo, node: NodeInfo) -> None:
        raise RuntimeError("out of order")


class TooMuch(ScorePlugin):
    name = "TooMuch"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return 101


def test_a_filter_that_breaks_leaves_the_error_and_no_nodes() -> None:
    explained = explain(a_pod("p").obj(), *nodes("n1"), plugins=[BrokenFilter])
    assert explained.outcome is Outcome.ERROR
    assert without_place(explained.message) == 'running "BrokenFilter" filter plugin: RuntimeError: out of order'


def test_a_score_that_breaks_leaves_the_verdicts() -> None:
    explained = explain(a_pod("p").obj(), *nodes("n1", "n2"), a_node("n3").unschedulable().obj(), plugins=[TooMuch])
    assert explained.outcome is Outcome.ERROR
    assert 'plugin "TooMuch" returns an invalid score 101' in explained.message
    assert [node.fits for node in explained.nodes] == [True, True, False]


def test_the_dict_has_kubernetes_names_and_plain_values() -> None:
    document = explain(a_pod("p").obj(), *nodes("n1", "n2")).to_dict()
    assert document["outcome"] == "scheduled"
    assert document["preFilter"]["skipped"]
    assert document["nodes"][0]["scores"][0].keys() == {"plugin", "weight", "raw", "normalised", "weighted"}


def test_ties_are_counted() -> None:
    explained = explain(pods(1)[0], *nodes("n1", "n2", "n3"))
    assert explained.ties == 3
