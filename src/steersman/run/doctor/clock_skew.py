# SPDX-License-Identifier: Apache-2.0
"""Check of the clock skew between this machine and the API server.

Leases are judged by monotonic time and tolerate skew; certificates, tokens and event times do not.
"""

from __future__ import annotations

from typing import Final

from steersman.run.doctor.finding import Finding, fail, ok, warn
from steersman.run.doctor.target import DoctorTarget, server_time

CHECK: Final = "clock"
#: Seconds of skew that the header's whole seconds and the latency of the answer may cause.
TOLERATED: Final = 2.0
INTOLERABLE: Final = 60.0
ADVICE: Final = "synchronise the clocks (NTP)"


async def check_clock(target: DoctorTarget) -> list[Finding]:
    sent = target.clock.now()
    answer = await target.get("/version")
    answered = target.clock.now()
    server = server_time(answer)
    if server is None:
        return [warn(CHECK, "the API server's answer has no Date header", "compare the clocks in another way")]
    return [judged(skew(server, sent, answered))]


def skew(server: float, sent: float, answered: float) -> float:
    """Return the seconds by which this machine's clock is ahead, negative if behind; 0 if `server`,
    which has whole seconds, may lie between `sent` and `answered`."""
    if server + 1.0 < sent:
        return sent - server - 1.0
    return min(0.0, answered - server)


def judged(seconds: float) -> Finding:
    where = "ahead of" if seconds > 0 else "behind"
    text = f"this machine is {abs(seconds):.0f} s {where} the API server"
    if abs(seconds) > INTOLERABLE:
        return fail(CHECK, text, ADVICE)
    if abs(seconds) > TOLERATED:
        return warn(CHECK, text, ADVICE)
    return ok(CHECK, "this machine and the API server agree about the time")
