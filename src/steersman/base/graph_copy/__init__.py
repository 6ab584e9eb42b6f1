# SPDX-License-Identifier: Apache-2.0
"""Copies an object graph as `copy.deepcopy` does, but in milliseconds, for forks of simulations.

Immutable objects are shared: API objects, configurations, parsed pods. Their classes declare it
with `@shared_by_copies`. Everything else is copied, object by object, and two references to one
object lead to one copy. Where copying an attribute would be slow or useless, `@copied_attributes`
declares an alternative; most often the copy starts with an empty cache.

Callbacks are copied too: bound methods, partial functions and closures are recreated with copies of
the objects that they refer to. A weak reference refers to the copy of its target if something else
in the graph references it, and is dead otherwise.

Running things (coroutines, threads) and process resources (locks, files) cannot be copied:
`NotCopyable`.

`declarations` has the declarations of classes, `copier` the algorithm.
"""

from steersman.base.lazy_names import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "copier": "GraphCopy",
        "declarations": (
            "NotCopyable by_reference copied_attributes copied_by declared_attributes emptied "
            "finished_by fresh_token is_shared no_value shallow shared_by_copies two_levels"
        ),
    },
)
