# SPDX-License-Identifier: Apache-2.0
"""Declarations of what is kept: everything that could be computed again from the facts, and may therefore be out of date.

A module that keeps something has a tuple `KEPT`: one `Kept` for each structure, beside the class that has it. From these
declarations the table in docs/engine.md is written (`python -m scripts.kept`) and `validate_state()` knows what to compare; a
test finds tables and comparisons of stamps that nobody has declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

import msgspec

OwnerT = TypeVar("OwnerT")

#: `Kept.held_equal` of structures that `validate_state()` compares with their twin.
VALIDATE_STATE: Final = "validate_state"


class Kept(msgspec.Struct, frozen=True):
    """The declaration of one kept structure: all that a reader must know before changing it."""

    #: Unique in the project.
    name: str
    #: The attributes that make it up, each as ``Class.attribute``.
    attributes: tuple[str, ...]
    #: What an entry says, and what one is looked up by.
    holds: str
    key: str
    #: What makes an entry out of date, and what happens then.
    stamps: str
    #: How many entries there may be, and which go first.
    bound: str
    #: The plain computation that an entry must equal.
    twin: str
    #: Who compares the two: `VALIDATE_STATE`, or the path of a test.
    held_equal: str = VALIDATE_STATE
    #: Stamps are compared in line instead of in a `Derived` or by a log's position: code that runs for every pod.
    is_inline: bool = False


class TwinChecks(Generic[OwnerT]):
    """The comparisons of an owner's kept structures with their twins; `validate_state()` makes all of them."""

    def __init__(self) -> None:
        self._checks: list[tuple[tuple[Kept, ...], Callable[[OwnerT], None]]] = []

    def of(self, *declared: Kept) -> Callable[[Callable[[OwnerT], None]], Callable[[OwnerT], None]]:
        """Decorates a function that raises StateInvariantError where one of these differs from its twin."""

        def register(check: Callable[[OwnerT], None]) -> Callable[[OwnerT], None]:
            self._checks.append((declared, check))
            return check

        return register

    def run(self, owner: OwnerT) -> None:
        for _, check in self._checks:
            check(owner)

    def declared(self) -> Iterator[Kept]:
        """The structures that are compared."""
        for declared, _ in self._checks:
            yield from declared
