# SPDX-License-Identifier: Apache-2.0
"""The rules by which one of several candidates is picked, in their order."""

from __future__ import annotations

from steersman.scheduler.preemption.candidates import ONLY_CANDIDATE, SMALLEST_NAME, Candidate, pick
from steersman.testing import make_pod

NOW = 2_000_000_000.0


def candidate(node: str, *victims: tuple[int, int], violations: int = 0) -> Candidate:
    """Victims as (priority, second of their start)."""
    pods = tuple(
        make_pod(f"{node}-{index}").priority(priority).started(f"2030-01-01T00:00:{second:02}Z").info()
        for index, (priority, second) in enumerate(victims)
    )
    return Candidate(node, pods, violations)


def picked(*candidates: Candidate) -> tuple[str, str]:
    choice = pick(candidates, NOW)
    return choice.candidate.node, choice.rule


def test_a_single_candidate_needs_no_rule() -> None:
    assert picked(candidate("n1", (0, 0))) == ("n1", ONLY_CANDIDATE)


def test_first_the_fewest_violations_of_budgets() -> None:
    assert picked(candidate("n1", (0, 0), violations=1), candidate("n2", (9, 0), (9, 0))) == (
        "n2",
        "fewest violations of disruption budgets",
    )


def test_then_the_lowest_priority_of_the_most_important_victim() -> None:
    assert picked(candidate("n1", (5, 0)), candidate("n2", (4, 0), (4, 0))) == (
        "n2",
        "lowest priority of the most important victim",
    )


def test_then_the_lowest_sum_of_priorities() -> None:
    assert picked(candidate("n1", (5, 0), (4, 0)), candidate("n2", (5, 0), (3, 0))) == (
        "n2",
        "lowest sum of the victims' priorities",
    )


def test_more_victims_never_have_the_lower_sum_not_even_with_negative_priorities() -> None:
    assert picked(candidate("n1", (-10, 0), (-10, 0)), candidate("n2", (-10, 0)))[0] == "n2"


def test_then_the_latest_start_of_the_most_important_victims() -> None:
    early, late = candidate("n1", (5, 10), (0, 50)), candidate("n2", (5, 20), (0, 0))
    assert picked(early, late) == ("n2", "latest start of the most important victims")


def test_of_several_most_important_victims_the_earliest_start_counts() -> None:
    assert picked(candidate("n1", (5, 10), (5, 50)), candidate("n2", (5, 20), (5, 21)))[0] == "n2"


def test_a_victim_that_has_not_started_starts_now() -> None:
    unstarted = Candidate("n2", (make_pod("unstarted").info(),))
    assert picked(candidate("n1", (0, 59)), unstarted)[0] == "n2"


def test_among_equals_the_smallest_name() -> None:
    choice = pick([candidate("n2", (0, 0)), candidate("n10", (0, 0)), candidate("n3", (1, 0))], NOW)
    assert (choice.candidate.node, choice.rule, choice.ties) == ("n10", SMALLEST_NAME, ("n10", "n2"))
