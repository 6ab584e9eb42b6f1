# SPDX-License-Identifier: Apache-2.0
"""The result of a race as a picture: pods per second, two bars per workload. Plain SVG, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_WIDTH: Final = 760
_LABELS: Final = 160
_FIGURES: Final = 90
_BAR: Final = 13
_GROUP: Final = 42
_TOP: Final = 44
_COLOURS: Final = {"kube-scheduler": "#8a94a6", "Steersman": "#2f7ed8"}
_INK: Final = "#7a7a7a"
#: Width of an average character of the font; wide sans-serif fonts have 7 of 12 points.
_CHARACTER: Final = 7


@dataclass(frozen=True, slots=True)
class Bar:
    workload: str
    scheduler: str
    pods_per_second: float


def svg(bars: Sequence[Bar], title: str) -> str:
    workloads = list(dict.fromkeys(bar.workload for bar in bars))
    greatest = max(bar.pods_per_second for bar in bars)
    height = _TOP + _GROUP * len(workloads) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">',
        _text(0, 16, title, weight="bold"),
        *_legend(),
    ]
    for index, workload in enumerate(workloads):
        top = _TOP + index * _GROUP
        parts.append(_text(0, top + _BAR + 4, workload))
        for place, bar in enumerate(bar for bar in bars if bar.workload == workload):
            parts += _bar(bar, top + place * (_BAR + 2), greatest)
    return "\n".join([*parts, "</svg>", ""])


def _bar(bar: Bar, top: float, greatest: float) -> list[str]:
    length = (_WIDTH - _LABELS - _FIGURES) * bar.pods_per_second / greatest
    return [
        f'<rect x="{_LABELS}" y="{top}" width="{length:.1f}" height="{_BAR}" rx="2" fill="{_COLOURS[bar.scheduler]}"/>',
        _text(_LABELS + length + 6, top + _BAR - 2, f"{bar.pods_per_second:.0f}"),
    ]


def _legend() -> list[str]:
    parts, left = [], float(_LABELS)
    for name, colour in _COLOURS.items():
        label = f"{name}, pods/s"
        parts.append(f'<rect x="{left:.1f}" y="26" width="10" height="10" rx="2" fill="{colour}"/>')
        parts.append(_text(left + 15, 35, label))
        left += 15 + _CHARACTER * len(label) + 20
    return parts


def _text(x: float, y: float, text: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{_INK}" font-weight="{weight}">{escape(text)}</text>'
