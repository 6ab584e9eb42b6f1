# SPDX-License-Identifier: Apache-2.0
"""Every gate that can be set is read by some code, or refused, or told to have no effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import steersman
from steersman.base.errors import InputError
from steersman.config import DEFAULT_GATES, FeatureGates, refuse_unsupported, without_effect
from steersman.config.deviations import REFUSED, WITHOUT_EFFECT
from steersman.config.versions import SUPPORTED_VERSIONS, gates_of

#: Where gates are declared, and where those are listed that nobody reads.
DECLARATIONS = ("versions.py", "deviations.py")
#: The gates of all versions.
GATES = {name: spec for version in SUPPORTED_VERSIONS for name, spec in gates_of(version).items()}
ROOT = Path(steersman.__file__).parent


def texts(module: Path) -> Iterator[str]:
    """The strings of a module's code; docstrings are whole sentences and name no gate alone."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def gates_that_code_names() -> frozenset[str]:
    modules = (module for module in ROOT.rglob("*.py") if module.name not in DECLARATIONS)
    return frozenset(text for module in modules for text in texts(module) if text in GATES)


def settable() -> set[str]:
    return {name for name, spec in GATES.items() if not spec.locked}


def test_every_gate_that_can_be_set_is_read_or_accounted_for(gates_that_code_names: frozenset[str]) -> None:
    assert settable() - gates_that_code_names - REFUSED.keys() - WITHOUT_EFFECT.keys() == set()


def test_no_gate_is_said_to_have_no_effect_that_code_reads(gates_that_code_names: frozenset[str]) -> None:
    assert WITHOUT_EFFECT.keys() & gates_that_code_names == set()


def test_what_is_told_or_refused_is_never_the_default() -> None:
    values = {name: refusal.value for name, refusal in REFUSED.items()}
    values |= {name: value for name, (value, _) in WITHOUT_EFFECT.items()}
    for name, value in values.items():
        assert GATES[name].default is not value
    refuse_unsupported(DEFAULT_GATES)
    assert without_effect(DEFAULT_GATES) == []


def test_gates_that_would_change_decisions_are_refused() -> None:
    with pytest.raises(InputError, match="GenericWorkload=true is not supported: pod groups") as refusal:
        refuse_unsupported(FeatureGates({"GenericWorkload": True}, "1.36"))
    assert "remove GenericWorkload from the flag" in str(refusal.value)


def test_gates_of_pod_groups_are_accepted_from_the_version_that_schedules_them() -> None:
    names = ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy")
    refuse_unsupported(FeatureGates(dict.fromkeys((*names, "DRAWorkloadResourceClaims"), True), "1.37"))


def test_gates_without_effect_are_reported_with_the_reason() -> None:
    gates = FeatureGates.parse("SchedulerAsyncAPICalls=true,OpportunisticBatching=false")
    opportunistic, async_calls = without_effect(gates)
    assert opportunistic.startswith("--feature-gates: OpportunisticBatching=false has no effect: ")
    assert async_calls.startswith("--feature-gates: SchedulerAsyncAPICalls=true has no effect: ")
