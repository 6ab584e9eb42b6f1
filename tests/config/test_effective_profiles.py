# SPDX-License-Identifier: Apache-2.0
"""MultiPoint plugins are spread over the extension points that they implement."""

from __future__ import annotations

from tests.config.documents import with_plugins

from steersman.config import (
    IN_TREE_CAPABILITIES,
    Capabilities,
    ExtensionPoint,
    KubeSchedulerProfile,
    effective_profiles,
    load,
)
from steersman.config.configuration import PluginEntry, Plugins, PluginSet
from steersman.config.effective_configuration import effective_profile

_POINTS = frozenset((ExtensionPoint.FILTER, ExtensionPoint.SCORE))
_CAPABILITIES: Capabilities = {
    "Sort": frozenset((ExtensionPoint.QUEUE_SORT,)),
    "Bind": frozenset((ExtensionPoint.BIND,)),
    **dict.fromkeys("ABCD", _POINTS),
}


def _set(enabled: str = "", disabled: str = "") -> PluginSet:
    return PluginSet(
        enabled=tuple(PluginEntry(name=name) for name in enabled),
        disabled=tuple(PluginEntry(name=name) for name in disabled),
    )


def _filters(multi_point: str, filters: PluginSet) -> str:
    needed = (PluginEntry(name="Sort"), PluginEntry(name="Bind"))
    spread = PluginSet(enabled=(*needed, *_set(multi_point).enabled))
    profile = KubeSchedulerProfile(plugins=Plugins(multi_point=spread, filter=filters))
    return "".join(effective_profile(profile, _CAPABILITIES).plugins_at(ExtensionPoint.FILTER))


def test_a_multi_point_plugin_runs_wherever_it_can() -> None:
    assert _filters("AB", _set()) == "AB"


def test_plugins_of_the_point_that_multi_point_has_too_come_first_in_the_points_order() -> None:
    assert _filters("ABC", _set("CA")) == "CAB"


def test_other_plugins_of_the_point_come_last() -> None:
    assert _filters("AB", _set("DB")) == "BAD"


def test_a_plugin_can_be_disabled_for_one_point() -> None:
    assert _filters("ABC", _set(disabled="B")) == "AC"


def test_a_star_leaves_only_what_the_point_enables() -> None:
    assert _filters("ABC", _set("D", "*")) == "D"


def test_a_plugin_that_the_point_enables_and_disables_runs_last() -> None:
    assert _filters("ABC", _set("A", "A")) == "BCA"


def test_the_default_profile() -> None:
    (profile,) = effective_profiles(load(with_plugins("filter: {}\n")))
    assert profile.plugins_at(ExtensionPoint.PRE_ENQUEUE) == (
        "SchedulingGates",
        "DynamicResources",
        "DefaultPreemption",
    )
    assert profile.plugins_at(ExtensionPoint.POST_FILTER) == ("DynamicResources", "DefaultPreemption")
    assert profile.plugins_at(ExtensionPoint.BIND) == ("DefaultBinder",)
    assert profile.plugins_at(ExtensionPoint.PERMIT) == ()
    assert profile.score_weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_only_plugins_that_run_have_arguments() -> None:
    (profile,) = effective_profiles(load(with_plugins("multiPoint: {disabled: [{name: VolumeBinding}]}\n")))
    assert "VolumeBinding" not in profile.args
    assert list(profile.args) == sorted(profile.args)


def test_plugins_of_others_run_when_they_are_registered() -> None:
    capabilities = {**IN_TREE_CAPABILITIES, "Mine": frozenset((ExtensionPoint.SCORE,))}
    (profile,) = effective_profiles(
        load(with_plugins("multiPoint: {enabled: [{name: Mine, weight: 9}]}\n")), capabilities
    )
    assert profile.plugins_at(ExtensionPoint.SCORE)[-1] == "Mine"
    assert profile.score_weights["Mine"] == 9
