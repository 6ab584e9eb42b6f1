# SPDX-License-Identifier: Apache-2.0
"""What differs between two configurations, in the terms of their documents.

Used by the command line. Profiles and plugin arguments are matched by name, so that an inserted profile does not make
all later ones look changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman.config.configuration import SchedulerConfiguration
from steersman.config.json_tree import PlainValue
from steersman.config.printing import to_document, without_secrets
from steersman.redaction import hide_passwords

_IDENTITIES: Final = ("schedulerName", "urlPrefix", "name")
"""Fields by which the items of a list are matched."""


class Change(msgspec.Struct, frozen=True):
    """One place that differs; `None` where one side has nothing."""

    path: str
    before: PlainValue
    after: PlainValue

    def __str__(self) -> str:
        return f"{self.path}: {self.before!r} -> {self.after!r}"


def diff(before: SchedulerConfiguration, after: SchedulerConfiguration) -> list[Change]:
    """The changes that lead from one configuration to the other; none if they are equal. Secrets are compared, not shown."""
    return [_public(change) for change in _changes("", to_document(before), to_document(after))]


def _public(change: Change) -> Change:
    field = change.path.rpartition(".")[2]
    before, after = (without_secrets({field: value}) for value in (change.before, change.after))
    assert isinstance(before, dict), "what goes in comes out"
    assert isinstance(after, dict), "what goes in comes out"
    return Change(hide_passwords(change.path), before[field], after[field])


def _changes(path: str, before: PlainValue, after: PlainValue) -> Iterator[Change]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _member_changes(path, before, after)
        return
    keyed_before, keyed_after = _by_identity(before), _by_identity(after)
    if keyed_before is None or keyed_after is None or _reordered(keyed_before, keyed_after):
        yield Change(path, before, after)
        return
    for name in dict.fromkeys([*keyed_before, *keyed_after]):
        yield from _changes(f"{path}[{name}]", keyed_before.get(name), keyed_after.get(name))


def _member_changes(path: str, before: dict[str, PlainValue], after: dict[str, PlainValue]) -> Iterator[Change]:
    for key in dict.fromkeys([*before, *after]):
        where = f"{path}.{key}" if path else key
        yield from _changes(where, before.get(key), after.get(key))


def _by_identity(value: PlainValue) -> dict[str, PlainValue] | None:
    """The items of a list by their names; `None` if they have none, or not different ones."""
    if not isinstance(value, list):
        return None
    for identity in _IDENTITIES:
        names = [item.get(identity) if isinstance(item, dict) else None for item in value]
        if all(isinstance(name, str) for name in names) and len(set(map(str, names))) == len(value):
            return dict(zip(map(str, names), value, strict=True))
    return None


def _reordered(before: dict[str, PlainValue], after: dict[str, PlainValue]) -> bool:
    """Whether items that both have stand in another order, which is a change of the list as a whole."""
    return [name for name in before if name in after] != [name for name in after if name in before]
