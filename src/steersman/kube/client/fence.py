# SPDX-License-Identifier: Apache-2.0
"""Whether this process may still write: checked before every request that changes the cluster.

`lease` publishes until when the lease is held, from the control thread; `requests.RequestChain` and
the extenders check that in the scheduling thread. The two threads share one number. Without leader
election the fence is always open.
"""

from __future__ import annotations

import math
from typing import Final

from steersman.base import Clock
from steersman.kube.client.errors import ClientError

NOT_HELD: Final = "{}: not sent, the lease is not held any more"


class LeaseNotHeld(ClientError):
    """A write was not sent because another process may be the leader. Not retried."""


class WriteFence:
    """Allows writes while the lease is held. The election extends it or closes it for good."""

    def __init__(self, clock: Clock, valid_until: float = -math.inf) -> None:
        self._clock = clock
        #: Monotonic time until which writes are allowed. Assignment is atomic: no lock needed.
        self.valid_until = valid_until
        #: Number of writes that were not sent.
        self.refused = 0
        self._is_final = False

    @classmethod
    def open(cls, clock: Clock) -> WriteFence:
        """Return a fence that is always open, for use without leader election."""
        return cls(clock, math.inf)

    @property
    def is_open(self) -> bool:
        return self._clock.monotonic() < self.valid_until

    def extend(self, valid_until: float) -> None:
        if not self._is_final:
            self.valid_until = valid_until

    def close(self) -> None:
        """Close for good: the late response to a renewal does not open it again."""
        self._is_final = True
        self.valid_until = -math.inf

    @property
    def seconds_left(self) -> float:
        """Time limit of a write that begins now; it must not begin if this is not positive."""
        return self.valid_until - self._clock.monotonic()

    def seconds_for(self, write: str) -> float:
        """Return the time limit of a write. Raise `LeaseNotHeld` if it must not begin."""
        left = self.seconds_left
        if left <= 0:
            self.refused += 1
            raise LeaseNotHeld(NOT_HELD.format(write))
        return left
