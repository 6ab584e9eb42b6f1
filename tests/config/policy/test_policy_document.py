# SPDX-License-Identifier: Apache-2.0
"""Legacy policies are read strictly, from YAML and JSON, and give a configuration that loads."""

from __future__ import annotations

import pytest
from tests.config.policy.conversions import converted, refused, running

from steersman.config import ConfigError, DecodeKind, ExtensionPoint, convert_policy, dump_yaml, load


def test_a_header_may_be_missing() -> None:
    assert convert_policy("{}").configuration == converted("").configuration


@pytest.mark.parametrize("header", ["apiVersion: v1\nkind: Pod\n", "apiVersion: v2\nkind: Policy\n"])
def test_other_documents_are_refused(header: str) -> None:
    with pytest.raises(ConfigError) as caught:
        convert_policy(header)
    assert caught.value.kind is DecodeKind.WRONG_KIND


def test_unknown_fields_are_refused() -> None:
    assert refused("predicats: []\n") == ['policy.yaml: unknown field "predicats"; did you mean "predicates"?']


def test_json_policies_are_read() -> None:
    conversion = convert_policy('{"kind": "Policy", "apiVersion": "v1", "predicates": [], "priorities": []}')
    assert conversion.configuration.profiles[0].plugins.filter.enabled[0].name == "NodeUnschedulable"


def test_the_profile_takes_the_given_name() -> None:
    (profile,) = convert_policy("{}", scheduler_name="old").configuration.profiles
    assert profile.scheduler_name == "old"


def test_the_result_can_be_printed_and_loaded() -> None:
    configuration = converted("").configuration
    assert load(dump_yaml(configuration)) == configuration


def test_what_was_neither_predicate_nor_priority_always_runs() -> None:
    profile = running("predicates: []\npriorities: []\n")
    assert profile.plugins_at(ExtensionPoint.QUEUE_SORT) == ("PrioritySort",)
    assert profile.plugins_at(ExtensionPoint.POST_FILTER) == ("DefaultPreemption",)
    assert profile.plugins_at(ExtensionPoint.BIND) == ("DefaultBinder",)
    assert profile.plugins_at(ExtensionPoint.PRE_ENQUEUE) == ("SchedulingGates", "DefaultPreemption")
    assert profile.score_weights == {}


def test_extenders_are_taken_over_with_their_old_spelling() -> None:
    body = "extenders: [{urlPrefix: http://x, filterVerb: f, enableHttps: true, httpTimeout: 100000000}]\n"
    (extender,) = converted(body).configuration.extenders
    assert (extender.url_prefix, extender.enable_https, str(extender.http_timeout)) == ("http://x", True, "100ms")


def test_bad_extenders_are_refused() -> None:
    assert refused("extenders: [{prioritizeVerb: p}]\n") == [
        "policy.yaml: extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"
    ]


def test_checking_all_predicates_is_told_to_have_no_effect() -> None:
    assert any("alwaysCheckAllPredicates" in line for line in converted("alwaysCheckAllPredicates: true\n").warnings)


def test_newer_plugins_are_told_to_be_off() -> None:
    assert "DynamicResources" in converted("").warnings[-1]
