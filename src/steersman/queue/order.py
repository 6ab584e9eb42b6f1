"""The order of activeQ, as a sort key.

A QueueSort plugin offers either `sort_key(queued)`, a tuple, or, like its Go counterpart, `less(a, b)`. The heap works
with tuples; `sort_key_of` makes one out of either.
"""

from __future__ import annotations

import copy
import functools
import logging
from typing import Any, Protocol, runtime_checkable

from steersman.queue.heap import SortKey
from steersman.queue.queued_pod import QueuedPodInfo

logger = logging.getLogger(__name__)


@runtime_checkable
class KeyedQueueSort(Protocol):
    """A QueueSort plugin in its fast form."""

    def sort_key(self, queued: QueuedPodInfo, /) -> tuple[Any, ...]: ...


class ComparingQueueSort(Protocol):
    """A QueueSort plugin in the form of the Go framework."""

    def less(self, first: QueuedPodInfo, second: QueuedPodInfo, /) -> bool: ...


def sort_key_of(plugin: KeyedQueueSort | ComparingQueueSort) -> SortKey:
    """The plugin's order as a sort key, whichever form the plugin has."""
    return plugin.sort_key if isinstance(plugin, KeyedQueueSort) else _key_from_less(plugin)


def _key_from_less(plugin: ComparingQueueSort) -> SortKey:
    def compare(first: QueuedPodInfo, second: QueuedPodInfo) -> int:
        """Pods that the plugin cannot compare are equal: an exception would tear the heap apart."""
        try:
            if plugin.less(first, second):
                return -1
            return 1 if plugin.less(second, first) else 0
        except Exception:
            logger.exception("the order of pods %s and %s cannot be told", first.key, second.key)
            return 0

    comparable = functools.cmp_to_key(compare)
    # A copy, because an entry of the heap must keep its place even when the pod it was made for changes.
    return lambda queued: (comparable(copy.copy(queued)),)
