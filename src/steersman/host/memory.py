# SPDX-License-Identifier: Apache-2.0
"""The memory of the process that a scheduler lives in: the C library's allocator, and the garbage collector.

With glibc's defaults a freed block of 128 KiB at the top of the heap goes back at once, and the next numpy operation on
15,000 rows faults it in again, page by page: up to four times the cost of the arithmetic. So freed memory is kept; but what
a few large answers of the server have left between blocks that stay would be kept for ever, and is given back now and then.

A full collection looks at every object of the cluster and holds all threads; with 50,000 pods it takes some 90 ms. Objects of
the API are frozen and refer to nothing that refers to them, so that they go without it. Nor is the collector asked after every
700 objects, as an interpreter does by default: a pod that comes and is bound makes some hundred of them, hardly any of which
are in a cycle, and looking through the young ones was a twentieth of its CPU time.
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
#: So many more objects than have gone make the collector look at the young ones; how often these go before the next
#: generation does is left as it is.
_YOUNG_OBJECTS = 20_000
_DEFAULT_THRESHOLDS = gc.get_threshold()

#: Free memory between used blocks is left alone below this, and below this part of all.
_LEAST_FREE_BYTES = 16 * 1024 * 1024
_LEAST_FREE_SHARE = 4


class _MallocInfo(ctypes.Structure):
    """The answer of mallinfo2(3): bytes, but for the counts of blocks."""

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
    """Whether the C library took the setting; others than glibc do not have it, and need not."""
    mallopt = _c_function("mallopt")
    return mallopt is not None and bool(
        mallopt(_M_TRIM_THRESHOLD, _KEEP_BYTES) and mallopt(_M_MMAP_THRESHOLD, _KEEP_BYTES)
    )


def give_back_free_memory() -> bool:
    """Whether the C library was asked to return what is free between used blocks: if it is much, which others than glibc do not
    say. Takes some 10 ms, without the interpreter's lock."""
    info, trim = _c_function("mallinfo2"), _c_function("malloc_trim")
    if info is None or trim is None:
        return False
    info.restype = _MallocInfo
    heap = info()
    if heap.fordblks < max(_LEAST_FREE_BYTES, heap.arena // _LEAST_FREE_SHARE):
        return False
    trim(0)
    return True


def _c_function(name: str) -> Any | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None


def freeze_heap() -> None:
    """Lets the garbage collector pass over all objects there are, once the cluster is known, and look at new ones less often.
    Nothing is collected first: there is next to no garbage in what was just loaded, and pods wait."""
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, *_DEFAULT_THRESHOLDS[1:])


def unfreeze_heap() -> None:
    """Undoes `freeze_heap` at the end of a run: the process may have other plans."""
    gc.unfreeze()
    gc.set_threshold(*_DEFAULT_THRESHOLDS)


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Freezes the heap until the end of the block."""
    freeze_heap()
    try:
        yield
    finally:
        unfreeze_heap()
