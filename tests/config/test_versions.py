# SPDX-License-Identifier: Apache-2.0
"""The table of version differences, and the versions that can be asked for."""

from __future__ import annotations

import pytest

from steersman.base.errors import InputError
from steersman.config import FeatureGates
from steersman.config.plugins.in_tree import in_tree_plugins
from steersman.config.versions import (
    DIFFERENCES,
    SUPPORTED_VERSIONS,
    V1_36,
    V1_37,
    KubernetesVersion,
    Rule,
    parse_version,
    rules_of,
)


@pytest.mark.parametrize("text", ["1.37", "kube=1.37", " kube = 1.37 ", "v1.37"])
def test_a_version_is_written_as_kube_scheduler_takes_it(text: str) -> None:
    assert parse_version(text) == V1_37


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1", "'1' is not a version; write 1.36 or 1.37"),
        ("etcd=1.37", "'etcd=1.37' is not a version"),
        ("1.35", "1.35 cannot be emulated: decisions of this version are not known; use 1.36 or 1.37"),
        ("1.38", "1.38 cannot be emulated: not implemented: GenericWorkload, .*GangsWithoutPermit"),
        ("1.99", "1.99 cannot be emulated: decisions of this version are not known"),
    ],
)
def test_another_version_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"--emulated-version: {message}"):
        parse_version(text)


def test_every_rule_is_a_row_of_the_table() -> None:
    assert {row.feature for row in DIFFERENCES} >= {rule.value for rule in Rule}
    assert FeatureGates(version=V1_37).has_rule(Rule.RESIZE_BY_TOTALS)
    assert rules_of(V1_36) == {Rule.DEALLOCATION_IS_REPORTED, Rule.TAINT_UPDATES_OF_NEW_NODES}


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_a_version_has_one_row_of_a_feature_and_of_a_plugin(version: KubernetesVersion) -> None:
    features = [row.feature for row in DIFFERENCES if row.is_in(version)]
    assert len(features) == len(set(features))
    names = [plugin.name for plugin in in_tree_plugins(version)]
    assert len(names) == len(set(names))


def test_rows_of_supported_versions_are_implemented() -> None:
    assert all(row.is_implemented for row in DIFFERENCES for version in SUPPORTED_VERSIONS if row.is_in(version))
