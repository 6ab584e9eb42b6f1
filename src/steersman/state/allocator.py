# SPDX-License-Identifier: Apache-2.0
"""Keeps the C library from handing the memory of temporary columns back to the system after every operation.

With glibc's defaults a freed block of 128 KiB at the top of the heap goes back at once, and the next numpy operation on
15,000 rows faults it in again, page by page: up to four times the cost of the arithmetic. Called once by every host.
"""

from __future__ import annotations

import ctypes
import sys

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
