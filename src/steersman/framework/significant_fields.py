# SPDX-License-Identifier: Apache-2.0
"""The fields of an API object that may affect a decision: all except those listed as ignored.

Pods and nodes are compared (`shape_keys`, `state.node_differences`) by all fields except the
ignored ones. A field added to the API structs counts until it is listed as ignored: forgetting that
costs speed, never a correct decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TypeAlias

import msgspec

#: Reason why a field is ignored, by its path ("status.phase").
IgnoredFields: TypeAlias = Mapping[str, str]


def field_getter(
    struct: type[msgspec.Struct], path: str, ignored: IgnoredFields, handled_separately: Iterable[str] = ()
) -> Callable[[msgspec.Struct], object]:
    """Return a getter for all fields of the struct at `path` that are neither ignored nor handled
    separately. Raises ValueError for names that are not fields, such as a field that was removed.
    """
    parents = ((parent, name) for parent, _, name in (entry.rpartition(".") for entry in ignored))
    without = {*(name for parent, name in parents if parent == path), *handled_separately}
    unknown = without.difference(struct.__struct_fields__)
    if unknown:
        raise ValueError(f"{path}: {struct.__name__} has no field {', '.join(sorted(unknown))}")
    names = [name for name in struct.__struct_fields__ if name not in without]
    return attrgetter(*names) if names else _no_field


def _no_field(struct: msgspec.Struct) -> None:
    """Getter for a struct without any significant field."""
