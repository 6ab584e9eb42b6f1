# SPDX-License-Identifier: Apache-2.0
"""Is a cluster ready for Steersman, and is anybody in its way? `steersman doctor`.

    examine(transport, …) ─► access, versions, clock, lease, other schedulers, pods nobody serves ─► Report of Findings

Each check is a module with one coroutine, which reads, asks for reviews of rights, and changes nothing. What cannot be
checked is a warning; what would keep `steersman run` from working is a failure.
"""

from steersman.doctor.examination import Examination, examine
from steersman.doctor.finding import Finding, Level
from steersman.doctor.target import DoctorTarget

__all__ = ["DoctorTarget", "Examination", "Finding", "Level", "examine"]
