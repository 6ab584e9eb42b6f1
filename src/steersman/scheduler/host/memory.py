# SPDX-License-Identifier: Apache-2.0
"""Memory tuning of the process: the C library's allocator, and the garbage collector.

With glibc's defaults a freed block of 128 KiB at the top of the heap is returned immediately, and
the next numpy operation on 15,000 rows faults it in again, page by page: up to four times the cost
of the arithmetic. So freed memory is kept. Memory fragmented by large responses of the server is
trimmed occasionally.

A full garbage collection visits every object of the cluster and blocks all threads; with 50,000
pods it takes some 90 ms. API objects are frozen and acyclic, so that they are freed without it. The
collector also runs less often than after every 700 objects, the default: scheduling a pod creates
about a hundred objects, hardly any of which are in a cycle, and collecting the young generation
took a twentieth of its CPU time.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Parameters of mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEEP_BYTES = 64 * 1024 * 1024
#: Number of allocations minus deallocations that triggers a collection of the young generation; the
#: thresholds of older generations are unchanged.
_COLLECTION_THRESHOLD = 20_000
_DEFAULT_THRESHOLDS = gc.get_threshold()

#: Fragmented free memory is not trimmed below this size, and below this share of the heap.
_MIN_FREE_BYTES = 16 * 1024 * 1024
_MIN_FREE_SHARE = 4


class _MallocInfo(ctypes.Structure):
    """Result of mallinfo2(3): bytes, except for the counts of blocks."""

    _fields_ = (
        ("arena", ctypes.c_size_t),
        ("ordblks", ctypes.c_size_t),
        ("smblks", ctypes.c_size_t),
        ("hblks", ctypes.c_size_t),
        ("hblkhd", ctypes.c_size_t),
        ("usmblks", ctypes.c_size_t),
        ("fsmblks", ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t),
        ("fordblks", ctypes.c_size_t),
        ("keepcost", ctypes.c_size_t),
    )


def keep_freed_memory() -> bool:
    """Keep freed memory; return whether the C library supports the setting, as glibc does."""
    mallopt = _c_function("mallopt")
    return mallopt is not None and bool(
        mallopt(_M_TRIM_THRESHOLD, _KEEP_BYTES) and mallopt(_M_MMAP_THRESHOLD, _KEEP_BYTES)
    )


def trim_free_memory() -> bool:
    """Trim fragmented free memory if there is much of it; return whether it was trimmed. Needs
    glibc, and takes some 10 ms without the interpreter's lock."""
    info, trim = _c_function("mallinfo2"), _c_function("malloc_trim")
    if info is None or trim is None:
        return False
    info.restype = _MallocInfo
    heap = info()
    if heap.fordblks < max(_MIN_FREE_BYTES, heap.arena // _MIN_FREE_SHARE):
        return False
    trim(0)
    return True


def _c_function(name: str) -> Any | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None


def freeze_heap() -> None:
    """Exclude all existing objects from garbage collection, once the cluster is loaded, and collect
    new ones less often. Collects nothing first: there is hardly any garbage after loading, and pods
    wait."""
    gc.freeze()
    gc.set_threshold(_COLLECTION_THRESHOLD, *_DEFAULT_THRESHOLDS[1:])


def unfreeze_heap() -> None:
    """Undo `freeze_heap` at the end of a run."""
    gc.unfreeze()
    gc.set_threshold(*_DEFAULT_THRESHOLDS)


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Freeze the heap within a `with` block or a decorated function. Does nothing where it is
    frozen already."""
    if gc.get_threshold()[0] == _COLLECTION_THRESHOLD:
        yield
        return
    freeze_heap()
    try:
        yield
    finally:
        unfreeze_heap()
