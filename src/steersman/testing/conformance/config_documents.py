# SPDX-License-Identifier: Apache-2.0
"""Runner of configuration documents: compares each stage with kube-scheduler's.

A line has a document and the outcome: an error of the decode, validate or build stage, or the
defaulted configuration, effective profiles and extenders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from steersman.config import (
    ConfigError,
    ConfigProblem,
    ConfigStage,
    DecodeKind,
    EffectiveConfiguration,
    EffectiveProfile,
    Extender,
    ExtensionPoint,
    FeatureGates,
    SchedulerConfiguration,
    args_document,
    build,
    load_unvalidated,
    to_document,
    validate,
)
from steersman.testing.conformance.difference import GoldenDifference, differences
from steersman.testing.conformance.setting import gates_of_line

_WEIGHTED = (ExtensionPoint.SCORE, ExtensionPoint.PLACEMENT_SCORE)


def run_document(line: Mapping[str, Any]) -> list[GoldenDifference]:
    """Return the differences between a line's outcome and ours."""
    return list(_compared(line, _outcome(line["yaml"], gates_of_line(line))))


class _Outcome:
    """Result of processing a document, up to its first error."""

    def __init__(self) -> None:
        self.config: SchedulerConfiguration | None = None
        self.effective: EffectiveConfiguration | None = None
        self.error: ConfigError | None = None


def _outcome(text: str, gates: FeatureGates) -> _Outcome:
    outcome = _Outcome()
    try:
        outcome.config = load_unvalidated(text, gates=gates)
        validate(outcome.config, gates)
        outcome.effective = build(outcome.config, gates=gates)
    except ConfigError as error:
        outcome.error = error
    return outcome


def _compared(line: Mapping[str, Any], outcome: _Outcome) -> Iterator[GoldenDifference]:
    if "config" in line and outcome.config is not None:
        expected = _normalised(line["config"])
        yield from differences("config", expected, _normalised(to_document(outcome.config)))
    stage = outcome.error.stage.value if outcome.error else "ok"
    expected_stage = line.get("stage", "ok")
    if stage != expected_stage:
        yield GoldenDifference("stage", expected_stage, f"{stage}: {outcome.error}" if outcome.error else stage)
    elif outcome.error is not None:
        yield from _compared_errors(line, outcome.error)
    elif outcome.effective is not None:
        yield from _compared_effective(line, outcome.effective)


def _compared_errors(line: Mapping[str, Any], error: ConfigError) -> Iterator[GoldenDifference]:
    expected: list[dict[str, Any]] = line["errors"]
    if error.stage is ConfigStage.VALIDATE:
        yield from differences("errors", _counted(map(_parts, expected)), _counted(map(_problem_parts, error.errors)))
    elif error.stage is ConfigStage.BUILD:
        texts = [entry["text"] for entry in expected]
        if error.errors[0].text not in texts:
            yield GoldenDifference("errors", texts, error.errors[0].text)
    else:
        yield from _compared_decoding(line, error)


def _compared_decoding(line: Mapping[str, Any], error: ConfigError) -> Iterator[GoldenDifference]:
    yield from differences("decodeKind", line["decodeKind"], error.kind.value if error.kind else None)
    if error.kind is DecodeKind.STRICT:
        expected = sorted({entry["text"] for entry in line["errors"]})
        yield from differences("errors", expected, sorted({problem.text for problem in error.errors}))
    elif error.kind is DecodeKind.TYPE:
        yield from differences("errors[0].field", line["errors"][0].get("field", ""), error.errors[0].field)


def _parts(entry: Mapping[str, Any]) -> str:
    return f"{entry['type']} {entry['field']}: {entry.get('detail', '')}"


def _problem_parts(problem: ConfigProblem) -> str:
    return f"{problem.type} {problem.field}: {problem.detail}"


def _counted(texts: Iterator[str]) -> dict[str, int]:
    return dict(Counter(texts))


def _normalised(value: Any) -> Any:
    """Return the document without weight 0, empty plugin sets and null arguments."""
    if isinstance(value, list):
        return [_normalised(item) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned = {key: _normalised(item) for key, item in value.items()}
    if "plugins" in cleaned and isinstance(cleaned["plugins"], dict):
        cleaned["plugins"] = {point: section for point, section in cleaned["plugins"].items() if section}
    return {
        key: item
        for key, item in cleaned.items()
        if not (key == "weight" and item == 0 and "name" in cleaned) and not (key == "args" and item is None)
    }


def _compared_effective(line: Mapping[str, Any], effective: EffectiveConfiguration) -> Iterator[GoldenDifference]:
    yield from differences("profiles", line["profiles"], [_profile_document(p) for p in effective.profiles])
    extenders = [_extender_document(extender) for extender in effective.extenders]
    yield from differences("extenders", line.get("extenders", []), extenders)
    timeouts = [str(timeout) for timeout in effective.extender_timeouts]
    yield from differences("extenderTimeouts", line.get("extenderTimeouts", []), timeouts)


def _profile_document(profile: EffectiveProfile) -> dict[str, object]:
    return {
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": {point.value: _point_document(profile, point) for point in profile.plugins},
        "pluginConfig": [{"name": name, "args": args_document(args)} for name, args in profile.args.items()] or None,
    }


def _point_document(profile: EffectiveProfile, point: ExtensionPoint) -> list[object]:
    names = profile.plugins_at(point)
    if point not in _WEIGHTED:
        return list(names)
    weights = profile.score_weights if point is ExtensionPoint.SCORE else profile.placement_score_weights
    return [{"name": name, "weight": weights[name]} for name in names]


def _extender_document(extender: Extender) -> dict[str, object]:
    return {
        "name": extender.url_prefix,
        "filter": bool(extender.filter_verb),
        "prioritizer": bool(extender.prioritize_verb),
        "binder": bool(extender.bind_verb),
        "preemption": bool(extender.preempt_verb),
        "ignorable": extender.ignorable,
    }
