# SPDX-License-Identifier: Apache-2.0
"""Copies everything that an object reaches, as `copy.deepcopy` does, but in milliseconds: how a simulation is forked.

What never changes once it is made is not copied but shared: objects of the API, configurations, parsed pods. Classes say so
with `@shared_by_copies`. Everything else is copied, object by object, and two references to one object lead to one copy. Where
the copying of an attribute would be slow or pointless, `@copied_attributes` says how it is done instead; most often the copy
begins with an empty table, because what was in it can be found again.

Callbacks are copied too: bound methods, partial functions and closures are made again over the copies of what they refer to.
Weak references lead to the copy of their target if something else of the graph refers to it, and are dead otherwise.

What runs (coroutines, threads) and what belongs to the process (locks, files) cannot be copied: `NotCopyable`.

`declarations` has what classes say about themselves, `copier` the act of copying.
"""

from steersman.graph_copy.copier import GraphCopy
from steersman.graph_copy.declarations import (
    NotCopyable,
    by_reference,
    copied_attributes,
    copied_by,
    declared_attributes,
    emptied,
    finished_by,
    fresh_token,
    is_shared,
    no_value,
    shallow,
    shared_by_copies,
    two_levels,
)

__all__ = [
    "GraphCopy",
    "NotCopyable",
    "by_reference",
    "copied_attributes",
    "copied_by",
    "declared_attributes",
    "emptied",
    "finished_by",
    "fresh_token",
    "is_shared",
    "no_value",
    "shallow",
    "shared_by_copies",
    "two_levels",
]
