# SPDX-License-Identifier: Apache-2.0
"""Two settings of the process that a scheduler lives in, for the C library's allocator and for the garbage collector.

With glibc's defaults a freed block of 128 KiB at the top of the heap goes back at once, and the next numpy operation on
15,000 rows faults it in again, page by page: up to four times the cost of the arithmetic.

A full collection looks at every object of the cluster and holds all threads; with 50,000 pods it takes some 90 ms. Objects of
the API are frozen and refer to nothing that refers to them, so that they go without it.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Parameters of mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_KEEP_BYTES = 64 * 1024 * 1024


def keep_freed_memory() -> bool:
    """Whether the C library took the setting; others than glibc do not have it, and need not."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, _KEEP_BYTES)) and bool(mallopt(_M_MMAP_THRESHOLD, _KEEP_BYTES))


def freeze_heap() -> None:
    """Lets the garbage collector pass over all objects there are, once the cluster is known."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def unfreeze_heap() -> None:
    """Undoes `freeze_heap` at the end of a run: the process may have other plans."""
    gc.unfreeze()


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Until the end of the block. Nothing is collected first: for short runs on a cluster that was just loaded."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
