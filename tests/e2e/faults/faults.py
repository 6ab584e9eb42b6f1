# SPDX-License-Identifier: Apache-2.0
"""What a `proxy.FaultProxy` may do to a request. Each fault concerns a `Selection` of requests, so many times, or a share.

proxy.add(Refusal(Selection(method="POST", path="/binding"), code=409, times=1))
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Request:
    """As much of a request as faults look at."""

    method: str
    path: str
    is_watch: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """Requests; what is left out does not matter."""

    method: str = ""
    #: A part of the path.
    path: str = ""
    watches: bool | None = None

    def concerns(self, request: Request) -> bool:
        return (
            self.method in ("", request.method)
            and self.path in request.path
            and self.watches in (None, request.is_watch)
        )


EVERYTHING = Selection()


@dataclass(kw_only=True, slots=True)
class Fault:
    """`happened` may be read by the test at any time; the rest is the proxy's."""

    selection: Selection = EVERYTHING
    #: The probability that a request that is concerned is hit.
    share: float = 1.0
    times: float = math.inf
    happened: int = 0
    _chance: random.Random = field(default_factory=lambda: random.Random(1))

    def hits(self, request: Request) -> bool:
        """Counts it, too."""
        if self.happened >= self.times or not self.selection.concerns(request):
            return False
        if self.share < 1.0 and self._chance.random() >= self.share:
            return False
        self.happened += 1
        return True


@dataclass(kw_only=True, slots=True)
class Refusal(Fault):
    """The request does not reach the server; the proxy answers in its place."""

    code: int
    reason: str = ""
    retry_after: int | None = None


@dataclass(kw_only=True, slots=True)
class LostAnswer(Fault):
    """The server acts on the request, and the connection ends without an answer."""


@dataclass(kw_only=True, slots=True)
class Delay(Fault):
    """The answer takes longer, by so many seconds; the server acts at once."""

    seconds: float


@dataclass(kw_only=True, slots=True)
class Interruption(Fault):
    """Something happens in the world while the request is on its way. `act` gets the path, in a thread of its own."""

    act: Callable[[str], object]


@dataclass(kw_only=True, slots=True)
class CutMidLine(Fault):
    """Of a watch, the next line is delivered by half, and the connection ends. Counted when that happens."""


@dataclass(kw_only=True, slots=True)
class ExpiredLine(Fault):
    """A watch that was granted says 410 in its next line and ends, as the API server tells who watches from too far back."""


STREAM_FAULTS = (CutMidLine, ExpiredLine)
