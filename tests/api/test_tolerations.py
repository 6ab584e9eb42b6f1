# SPDX-License-Identifier: Apache-2.0
"""Tolerations: which taints they cover."""

import pytest

from steersman.api import Taint, Toleration
from steersman.api.tolerations import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, find_untolerated_taint, tolerates

GPU = Taint(key="gpu", value="true", effect=NO_SCHEDULE)


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        (Toleration(key="gpu", operator="Equal", value="true", effect=NO_SCHEDULE), True),
        (Toleration(key="gpu", value="true"), True),
        (Toleration(key="gpu", value="false"), False),
        (Toleration(key="gpu"), False),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(operator="Exists", effect=NO_EXECUTE), False),
        (Toleration(key="cpu", operator="Exists"), False),
        (Toleration(value="true"), True),
        (Toleration(key="gpu", operator="Near", value="true"), False),
    ],
)
def test_which_tolerations_cover_a_taint(toleration: Toleration, covered: bool) -> None:
    assert tolerates(toleration, GPU) is covered


def test_comparing_operators_count_only_when_enabled() -> None:
    taint = Taint(key="sla", value="950", effect=NO_SCHEDULE)
    over = Toleration(key="sla", operator="Gt", value="900")
    under = Toleration(key="sla", operator="Lt", value="900")
    assert not tolerates(over, taint)
    assert tolerates(over, taint, comparison_operators=True)
    assert not tolerates(under, taint, comparison_operators=True)


@pytest.mark.parametrize("value", ["", "x", "0900", "+900", "1.5"])
def test_comparing_operators_need_canonical_integers(value: str) -> None:
    taint = Taint(key="sla", value="950", effect=NO_SCHEDULE)
    assert not tolerates(Toleration(key="sla", operator="Gt", value=value), taint, comparison_operators=True)


def test_the_first_untolerated_taint_is_found() -> None:
    other = Taint(key="other", effect=NO_EXECUTE)
    assert find_untolerated_taint((GPU, other), ()) == GPU
    assert find_untolerated_taint((GPU, other), (Toleration(key="gpu", operator="Exists"),)) == other
    assert find_untolerated_taint((GPU, other), (Toleration(operator="Exists"),)) is None


def test_only_taints_with_the_given_effects_count() -> None:
    soft = Taint(key="soft", effect=PREFER_NO_SCHEDULE)
    assert find_untolerated_taint((soft,), (), effects={NO_SCHEDULE, NO_EXECUTE}) is None
    assert find_untolerated_taint((soft,), (), effects={PREFER_NO_SCHEDULE}) == soft
