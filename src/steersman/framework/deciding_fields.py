# SPDX-License-Identifier: Apache-2.0
"""The fields of an API object that may decide something: all of them, but for those that are named.

What tells pods or nodes apart (`shape_keys`, `state.node_differences`) is found by leaving out what decides nothing. A field
that is added to the API structs then counts until somebody says why it need not: forgetting that costs speed, never a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TypeAlias

import msgspec

#: By the path of the field ("status.phase"): why it decides nothing.
LeftOut: TypeAlias = Mapping[str, str]


def deciding_fields(
    struct: type[msgspec.Struct], path: str, left_out: LeftOut, looked_at_closer: Iterable[str] = ()
) -> Callable[[msgspec.Struct], object]:
    """Gives the values of all fields of the struct at `path` that are neither left out nor looked at closer elsewhere.
    ValueError for names that are no fields: they stand for something that is no longer there."""
    parents = ((parent, name) for parent, _, name in (entry.rpartition(".") for entry in left_out))
    without = {*(name for parent, name in parents if parent == path), *looked_at_closer}
    unknown = without.difference(struct.__struct_fields__)
    if unknown:
        raise ValueError(f"{path}: {struct.__name__} has no field {', '.join(sorted(unknown))}")
    names = [name for name in struct.__struct_fields__ if name not in without]
    return attrgetter(*names) if names else _no_field


def _no_field(struct: msgspec.Struct) -> None:
    """Stands for the getter of a struct of which nothing is left to be told."""
