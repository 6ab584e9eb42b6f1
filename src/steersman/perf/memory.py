"""The memory of this process while something is measured."""

from __future__ import annotations

import resource
import statistics
import sys
from pathlib import Path
from typing import Final

import msgspec

SAMPLE_SECONDS: Final = 0.5
_MIB: Final = 1024 * 1024
_STATM: Final = Path("/proc/self/statm")


class Memory(msgspec.Struct, frozen=True):
    """MiB of resident memory."""

    samples: tuple[float, ...]

    @property
    def steady(self) -> float:
        return statistics.median(self.samples)

    @property
    def peak(self) -> float:
        return max(self.samples)


def resident_mib() -> float:
    """Now; where the system does not tell, the most there ever was."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / _MIB if sys.platform == "darwin" else most / 1024
    return pages * resource.getpagesize() / _MIB
