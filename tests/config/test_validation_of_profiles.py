# SPDX-License-Identifier: Apache-2.0
"""Profiles need names, no removed plugins, and one common queue sort."""

from __future__ import annotations

from tests.config.documents import configuration, with_plugins
from tests.config.failures import validation_texts


def test_an_explicitly_empty_name_is_refused() -> None:
    body = "profiles:\n- schedulerName: ''\n"
    assert validation_texts(configuration(body)) == ["profiles[0].schedulerName: Required value"]


def test_every_one_of_several_profiles_needs_a_name() -> None:
    body = "profiles:\n- schedulerName: a\n- percentageOfNodesToScore: 5\n"
    assert validation_texts(configuration(body)) == ["profiles[1].schedulerName: Required value"]


def test_names_must_differ() -> None:
    body = "profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: a}]\n"
    assert validation_texts(configuration(body)) == ["profiles[2].schedulerName: Duplicate value: {}"]


def test_removed_plugins_are_refused_in_extension_points_and_arguments() -> None:
    body = "profiles:\n- plugins: {filter: {enabled: [{name: EBSLimits}]}}\n  pluginConfig: [{name: GCEPDLimits}]\n"
    reason = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
    assert validation_texts(configuration(body)) == [
        f'profiles[0].pluginConfig[0]: Invalid value: "GCEPDLimits": {reason}',
        f'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": {reason}',
    ]


def test_arguments_may_be_given_once_per_plugin() -> None:
    body = "profiles:\n- pluginConfig: [{name: Mine}, {name: Mine}]\n"
    assert validation_texts(configuration(body)) == ['profiles[0].pluginConfig[1]: Duplicate value: "Mine"']


def test_only_one_queue_sort_can_be_enabled() -> None:
    document = with_plugins("queueSort: {enabled: [{name: PrioritySort}, {name: Other}]}\n")
    assert validation_texts(document) == [
        "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled"
    ]


def test_the_queue_sort_section_must_be_the_same_everywhere() -> None:
    body = """
        profiles:
        - schedulerName: a
          plugins: {queueSort: {enabled: [{name: PrioritySort}]}}
        - schedulerName: b
    """
    assert validation_texts(configuration(body)) == [
        'profiles[1].plugins.queueSort: Invalid value: {"Enabled":null,"Disabled":null}: must be the same for all profiles'
    ]


def test_the_arguments_of_the_queue_sort_must_be_the_same_everywhere() -> None:
    body = """
        profiles:
        - schedulerName: a
          plugins: &sort {queueSort: {enabled: [{name: PrioritySort}]}}
          pluginConfig: [{name: PrioritySort, args: {x: 1}}]
        - schedulerName: b
          plugins: *sort
          pluginConfig: [{name: PrioritySort, args: {x: 2}}]
    """
    (text,) = validation_texts(configuration(body))
    assert text.startswith("profiles[1].pluginConfig.args: Invalid value: ")
    assert text.endswith("queueSort must be the same for all profiles")
