# SPDX-License-Identifier: Apache-2.0
"""Declarations of caches: every value that is computed from the cluster's objects and stored for
later.

Each cache has a `CacheSpec` constant beside the class that owns it. The site lists all of
them (`python -m scripts.cache_table`), `validate_state()` uses them to know what to
compare, and tests/test_caches.py fails for a cache that has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

import msgspec

OwnerT = TypeVar("OwnerT")

#: `CacheSpec.checked_by` of caches that `validate_state()` recomputes and compares.
VALIDATE_STATE: Final = "validate_state"


class CacheSpec(msgspec.Struct, frozen=True):
    """Declaration of one cache: its contents, its invalidation and its reference."""

    #: Name, unique in the project.
    name: str
    #: Attributes that store the cache, each as ``Class.attribute``.
    attributes: tuple[str, ...]
    #: Contents of an entry.
    contents: str
    #: Lookup key of an entry.
    key: str
    #: Which changes invalidate an entry, and how it is brought up to date.
    invalidation: str
    #: Maximum number of entries, and which are evicted first.
    limit: str
    #: Reference computation that an entry must equal.
    reference: str
    #: `VALIDATE_STATE`, or the path of the test that compares the cache with its reference.
    checked_by: str = VALIDATE_STATE
    #: Whether versions are compared inline, for speed, instead of by a `Memo` or a position in a
    #: `ChangeLog`.
    is_inline: bool = False


class ReferenceChecks(Generic[OwnerT]):
    """Functions that compare an owner's caches with their references; `validate_state()` runs
    them."""

    def __init__(self) -> None:
        self._checks: list[tuple[tuple[CacheSpec, ...], Callable[[OwnerT], None]]] = []

    def register(self, *specs: CacheSpec) -> Callable[[Callable[[OwnerT], None]], Callable[[OwnerT], None]]:
        """Decorate a function that raises StateInvariantError if one of these caches differs from
        its reference."""

        def register(check: Callable[[OwnerT], None]) -> Callable[[OwnerT], None]:
            self._checks.append((specs, check))
            return check

        return register

    def run(self, owner: OwnerT) -> None:
        """Run every check on the owner."""
        for _, check in self._checks:
            check(owner)

    def checked_specs(self) -> Iterator[CacheSpec]:
        """Yield the specs of the caches that are compared."""
        for specs, _ in self._checks:
            yield from specs
