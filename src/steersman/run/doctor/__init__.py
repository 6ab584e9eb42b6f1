# SPDX-License-Identifier: Apache-2.0
"""Checks of whether a cluster is ready for Steersman: `steersman doctor`.

    examine(transport, …) ─► access, versions, clock, lease, other schedulers, unserved pods ─► Report of Findings

Each check is a module with one coroutine, which reads, creates access reviews, and changes nothing.
A check that is impossible is a warning; what would break `steersman run` is a failure.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "examination": "Examination examine",
        "finding": "Finding Level fail ok warn",
        "target": "DoctorTarget",
    },
)
