"""One disagreement between a conformance corpus and us."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """Where we disagree, what the reference says, and what we say."""

    path: str
    expected: object
    actual: object
