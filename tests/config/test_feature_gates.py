# SPDX-License-Identifier: Apache-2.0
"""Feature gates have the defaults of the emulated version and are set by a flag, within limits."""

from __future__ import annotations

import pytest

from steersman.base.errors import InputError
from steersman.config import DEFAULT_GATES, FeatureGates
from steersman.config.other_gates import other_gates
from steersman.config.versions import SUPPORTED_VERSIONS, V1_36, KubernetesVersion, gates_of


def test_defaults() -> None:
    assert DEFAULT_GATES.enabled("DynamicResourceAllocation")
    assert DEFAULT_GATES.enabled("NodeDeclaredFeatures")
    assert not DEFAULT_GATES.enabled("GangScheduling")
    assert DEFAULT_GATES.changed() == {}


def test_a_flag_sets_gates() -> None:
    gates = FeatureGates.parse("DRAListTypeAttributes=true, SchedulerPopFromBackoffQ=False,")
    assert gates.changed() == {"SchedulerPopFromBackoffQ": False, "DRAListTypeAttributes": True}


def test_a_whole_stage_can_be_set_and_single_gates_still_win() -> None:
    gates = FeatureGates.parse("AllAlpha=true,GenericWorkload=true,DRADerivedAttributes=false")
    assert gates.enabled("CompositePodGroup")
    assert not gates.enabled("DRADerivedAttributes")
    assert not FeatureGates.parse("AllBeta=false").enabled("StorageCapacityScoring")


def test_gates_of_other_components_are_accepted_and_not_readable() -> None:
    gates = FeatureGates.parse("ContainerCheckpoint=false")
    assert gates == DEFAULT_GATES
    with pytest.raises(KeyError):
        gates.enabled("ContainerCheckpoint")


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("Foo=true", "unrecognized feature gate: Foo"),
        ("GenericWorkload", "missing bool value for GenericWorkload"),
        ("GenericWorkload=maybe", "invalid value of GenericWorkload=maybe"),
        ("a=b=c", "invalid value of a=b=c"),
        (
            "DynamicResourceAllocation=false",
            "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
        ),
        (
            "PodGroupPreemptionPolicy=true",
            r"PodGroupPreemptionPolicy is enabled, but depends on features that are disabled: \[GenericWorkload\]",
        ),
    ],
)
def test_a_bad_flag_is_refused_with_what_would_be_right(flag: str, message: str) -> None:
    with pytest.raises(InputError, match=f"--feature-gates: {message}") as caught:
        FeatureGates.parse(flag)
    assert caught.value.hint


def test_a_locked_gate_may_be_set_to_its_default() -> None:
    assert FeatureGates.parse("DynamicResourceAllocation=true") == DEFAULT_GATES


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_no_gate_is_in_both_tables_and_every_needed_gate_is_known(version: KubernetesVersion) -> None:
    gates = gates_of(version)
    assert not other_gates(version) & set(gates)
    assert {needed for spec in gates.values() for needed in spec.needs} <= set(gates)


def test_defaults_are_those_of_the_emulated_version() -> None:
    gates = FeatureGates(version=V1_36)
    assert not gates.enabled("StorageCapacityScoring")
    assert DEFAULT_GATES.enabled("StorageCapacityScoring")
    assert gates != DEFAULT_GATES


def test_a_gate_that_became_permanent_is_on_and_one_that_was_given_up_is_off() -> None:
    gates = FeatureGates(version="1.37")
    assert gates.enabled("SidecarContainers")
    assert not gates.enabled("GangScheduling")


def test_a_gate_of_another_version_cannot_be_set() -> None:
    with pytest.raises(
        InputError, match=r"unrecognized feature gate: GangScheduling; use .* v1.37, or --emulated-version=1.36"
    ):
        FeatureGates({"GangScheduling": True}, "1.37")


def test_equal_gates_are_equal_and_show_what_differs() -> None:
    gates = FeatureGates({"VolumeLimitScaling": False})
    assert gates == FeatureGates.parse("VolumeLimitScaling=0")
    assert hash(gates) != hash(DEFAULT_GATES)
    assert repr(gates) == "FeatureGates({'VolumeLimitScaling': False})"
