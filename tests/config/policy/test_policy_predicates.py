# SPDX-License-Identifier: Apache-2.0
"""Predicates become filter plugins."""

from __future__ import annotations

import pytest
from tests.config.policy.conversions import converted, refused, running

from steersman.config import ExtensionPoint, NodeAffinityArgs


def _filters(body: str) -> tuple[str, ...]:
    return running(body).plugins_at(ExtensionPoint.FILTER)


def test_without_predicates_the_defaults_of_old_run() -> None:
    assert _filters("") == (
        "NodeUnschedulable",
        "NodeResourcesFit",
        "NodeName",
        "NodePorts",
        "NodeAffinity",
        "VolumeRestrictions",
        "TaintToleration",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    )


def test_an_empty_list_leaves_the_mandatory_predicates() -> None:
    assert _filters("predicates: []\n") == ("NodeUnschedulable", "TaintToleration")


@pytest.mark.parametrize(
    ("predicate", "plugin"),
    [
        ("HostName", "NodeName"),
        ("PodFitsPorts", "NodePorts"),
        ("PodFitsHostPorts", "NodePorts"),
        ("MatchNodeSelector", "NodeAffinity"),
        ("PodFitsResources", "NodeResourcesFit"),
        ("NoDiskConflict", "VolumeRestrictions"),
        ("MaxCSIVolumeCountPred", "NodeVolumeLimits"),
        ("CheckVolumeBinding", "VolumeBinding"),
        ("NoVolumeZoneConflict", "VolumeZone"),
        ("EvenPodsSpread", "PodTopologySpread"),
        ("MatchInterPodAffinity", "InterPodAffinity"),
    ],
)
def test_each_predicate_has_its_plugin(predicate: str, plugin: str) -> None:
    filters = _filters(f"predicates: [{{name: {predicate}}}]\n")
    assert set(filters) == {"NodeUnschedulable", "TaintToleration", plugin}


def test_filters_run_in_the_order_in_which_predicates_ran() -> None:
    body = "predicates: [{name: MatchInterPodAffinity}, {name: PodFitsResources}, {name: HostName}]\n"
    expected = ("NodeUnschedulable", "NodeName", "NodeResourcesFit", "TaintToleration", "InterPodAffinity")
    assert _filters(body) == expected


def test_volume_binding_also_reserves_and_binds_but_does_not_score() -> None:
    profile = running("predicates: [{name: CheckVolumeBinding}]\npriorities: []\n")
    assert profile.plugins_at(ExtensionPoint.RESERVE) == ("VolumeBinding",)
    assert profile.plugins_at(ExtensionPoint.PRE_BIND) == ("VolumeBinding",)
    assert profile.plugins_at(ExtensionPoint.SCORE) == ()


def test_volume_limits_of_providers_became_csi_limits_and_that_is_reported() -> None:
    body = "predicates: [{name: MaxEBSVolumeCount}]\n"
    assert "NodeVolumeLimits" in _filters(body)
    assert "predicates[0]: MaxEBSVolumeCount: its volumes are CSI volumes today" in converted(body).warnings[0]


def test_node_conditions_became_taints_and_that_is_reported() -> None:
    assert "became a taint" in converted("predicates: [{name: CheckNodeMemoryPressure}]\n").warnings[0]


def test_required_labels_become_added_affinity() -> None:
    body = """
        predicates:
        - name: MatchNodeSelector
        - {name: Here, argument: {labelsPresence: {labels: [zone, rack], presence: true}}}
        - {name: NotHere, argument: {labelsPresence: {labels: [retiring]}}}
    """
    args = running(body).args["NodeAffinity"]
    assert isinstance(args, NodeAffinityArgs)
    assert args.added_affinity is not None
    selector = args.added_affinity.required_during_scheduling_ignored_during_execution
    assert selector is not None
    (term,) = selector.node_selector_terms
    found = [(requirement.key, requirement.operator) for requirement in term.match_expressions]
    assert found == [("zone", "Exists"), ("rack", "Exists"), ("retiring", "DoesNotExist")]
    assert (
        "predicates: labelsPresence became addedAffinity in the arguments of NodeAffinity" in converted(body).warnings
    )


def test_enabling_node_affinity_for_labels_alone_is_reported() -> None:
    body = "predicates: [{name: Here, argument: {labelsPresence: {labels: [zone], presence: true}}}]\n"
    assert any("also checks the node selector" in warning for warning in converted(body).warnings)


def test_arguments_of_predefined_predicates_are_left_out_and_that_is_reported() -> None:
    body = "predicates: [{name: HostName, argument: {labelsPresence: {labels: [a]}}}]\n"
    assert "predicates[0].argument: HostName takes no argument, it is left out" in converted(body).warnings


def test_label_presence_without_labels_is_left_out_and_that_is_reported() -> None:
    warnings = converted("predicates: [{name: CheckNodeLabelPresence}]\n").warnings
    assert "predicates[0]: CheckNodeLabelPresence names no labels and is left out" in warnings


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ("{name: Nonsense}", "predicate type not found"),
        ("{name: CheckServiceAffinity}", "the ServiceAffinity plugin no longer exists"),
        ("{name: Mine, argument: {serviceAffinity: {labels: [zone]}}}", "the ServiceAffinity plugin no longer exists"),
        ("{name: Mine, argument: {}}", "exactly 1 predicate argument is required"),
    ],
)
def test_filters_that_cannot_be_kept_are_errors(predicate: str, reason: str) -> None:
    (line,) = refused(f"predicates: [{predicate}]\n")
    assert line.startswith("policy.yaml: predicates[0].")
    assert reason in line
