# SPDX-License-Identifier: Apache-2.0
"""What a chaos run found, for a terminal and for programs: verdicts and figures, one column per scheduler."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.chaos.chaos_run import RunRecord
from tests.chaos.fault_schedule import LEADER, STANDBY, FaultSchedule
from tests.chaos.judgement import Findings
from tests.chaos.run_measures import Stall

_WIDTH: Final = 100
_LABEL: Final = 36
#: Too long for a column; in the JSON.
_HIDDEN: Final = frozenset({"memory", "stalls"})


def report_lines(findings: Sequence[Findings]) -> Iterator[str]:
    for found in findings:
        yield from _verdict_lines(found)
        yield from _stall_lines(found)
    yield from _figure_lines(findings)


def _verdict_lines(found: Findings) -> Iterator[str]:
    yield f"{found.scheduler}: {'every rule holds' if found.holds else 'NOT every rule holds'}"
    for verdict in found.verdicts:
        mark = "holds" if verdict.holds else "FAILS"
        first, *rest = textwrap.wrap(verdict.text, _WIDTH - 34) or [""]
        yield f"  {mark}  {verdict.rule:24} {first}"
        yield from (f"{'':34}{line}" for line in rest)


def _stall_lines(found: Findings) -> Iterator[str]:
    """The three longest."""
    stopped: list[Stall] = sorted(found.figures["stalls"], key=lambda stall: -stall.seconds)[:3]
    for stall in stopped:
        line = f"nothing bound for {stall.seconds:.0f} s from {stall.begin:.0f} s on: {', '.join(stall.faults) or 'no fault'}"
        yield f"         {textwrap.shorten(line, _WIDTH - 9, placeholder=' …')}"
    yield ""


def _figure_lines(findings: Sequence[Findings]) -> Iterator[str]:
    yield f"{'':{_LABEL}}" + "".join(f"{found.scheduler:>24}" for found in findings)
    for name in findings[0].figures:
        if name not in _HIDDEN:
            yield f"{name:{_LABEL}}" + "".join(f"{_cell(found.figures[name]):>24}" for found in findings)
    for role in (LEADER, STANDBY):
        yield f"{f'memory of a {role} MB':{_LABEL}}" + "".join(f"{_memory(found, role):>24}" for found in findings)


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}:{count}" for key, count in value.items())
    if isinstance(value, list):
        return " / ".join(map(str, value))
    return str(value)


def _memory(found: Findings, role: str) -> str:
    """Of the process that was followed for longest."""
    lives: list[dict[str, Any]] = [one for one in found.figures["memory"] if one["role"] == role]
    if not lives:
        return "-"
    longest = max(lives, key=lambda life: float(life["minutes"]))
    return f"{longest['first MB']:.0f} → {longest['last MB']:.0f}"


def write_json(path: Path, schedule: FaultSchedule, found: Sequence[tuple[RunRecord, Findings]]) -> None:
    document = {"schedule": schedule, "runs": [_run_document(record, findings) for record, findings in found]}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document)))


def _run_document(record: RunRecord, findings: Findings) -> dict[str, Any]:
    return {
        "scheduler": findings.scheduler,
        "holds": findings.holds,
        "verdicts": findings.verdicts,
        "figures": findings.figures,
        "began": record.began,
        "faults": record.faults,
        "lives": record.lives,
        "unanswered probes of /livez": record.unanswered_probes,
    }
