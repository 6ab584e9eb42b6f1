# SPDX-License-Identifier: Apache-2.0
"""Stages of KWOK (`kwok.x-k8s.io/v1alpha1`), compiled to the settings of a `KubeletPolicy`.

A stage selects pods in a state, waits, and changes their status. Here the change decides which
setting the delay becomes:

    status without a phase, or `phase: Running`   startSeconds: the delays of consecutive stages add up
    init containers terminate                     initSeconds
    `phase: Succeeded` or `phase: Failed`         runSeconds and exitCodes
    `delete: true`                                stopSeconds

The simulated kubelets write the statuses, as real kubelets do, so templates are only searched for
the phase and the exit code. Of several stages that select a pod in the same state, one is drawn by
weight. See docs/kubelets.md and ADR 0057.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import msgspec

from steersman.api import SECOND, DocumentPart, Duration, DurationError, Pod, compile_path, find_values
from steersman.base import InputError
from steersman.cluster.kubelets.durations import chance

STAGE_VERSION: Final = "kwok.x-k8s.io/v1alpha1"
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
_PHASE: Final = re.compile(r"^\s*\"?phase\"?:\s*[\"']?(?P<phase>\w+)", re.MULTILINE)
_EXIT_CODE: Final = re.compile(r"(?:\$\w*ExitCode\s*:=|exitCode:)\s*(?P<code>[1-9]\d*)")
_STARTS: Final = re.compile("phase:|[cC]ontainerStatuses:|conditions:")
_INIT_ENDS: Final = re.compile(r"initContainerStatuses:.*?terminated:", re.DOTALL)
_DELETION: Final = ".metadata.deletionTimestamp"
_TEMPLATE_FIELD: Final = "spec.next.statusTemplate"
_SETS_NOT_READY: Final = re.compile("not-?ready", re.IGNORECASE)


class JqSelector(DocumentPart, frozen=True):
    """Condition on the values that a jq expression selects."""

    expression: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


class MatchExpression(DocumentPart, frozen=True):
    """Condition on an object, in the older form (`key`) or as `jq`."""

    key: str = ""
    operator: str = "Exists"
    values: tuple[str, ...] = ()
    jq: JqSelector | None = None

    @property
    def condition(self) -> JqSelector:
        return self.jq or JqSelector(self.key, self.operator, self.values)


class StageSelector(DocumentPart, frozen=True):
    """Conditions on an object, all of which must hold."""

    match_labels: dict[str, str] = {}
    match_annotations: dict[str, str] = {}
    match_expressions: tuple[MatchExpression, ...] = ()


class JqExpression(DocumentPart, frozen=True):
    """Value that a jq expression selects."""

    expression: str


class ExpressionFrom(DocumentPart, frozen=True):
    """Value from a field of the object."""

    expression_from: str = ""
    jq: JqExpression | None = None

    @property
    def path(self) -> str:
        return self.jq.expression if self.jq is not None else self.expression_from


class StageDelay(DocumentPart, frozen=True):
    """Time before the change: a duration, or drawn between the duration and the jitter duration."""

    duration_milliseconds: int | None = None
    duration_from: ExpressionFrom | None = None
    jitter_duration_milliseconds: int | None = None
    jitter_duration_from: ExpressionFrom | None = None


class StagePatch(DocumentPart, frozen=True):
    """Patch of the object by a template."""

    template: str = ""
    subresource: str = ""
    root: str = ""
    type: str | None = None


class StageNext(DocumentPart, frozen=True):
    """Change of the object: its status by a template, or its deletion."""

    event: dict[str, str] | None = None
    delete: bool = False
    patches: tuple[StagePatch, ...] = ()
    patch: StagePatch | None = None
    status_template: str = ""
    status_subresource: str | None = None

    @property
    def template(self) -> str:
        patches = (*self.patches, *(() if self.patch is None else (self.patch,)))
        return "\n".join((self.status_template, *(patch.template for patch in patches)))


class ResourceRef(DocumentPart, frozen=True):
    """Kind of the objects of a stage."""

    kind: str
    api_group: str = "v1"


class StageSpec(DocumentPart, frozen=True):
    """Selection, delay and change of a stage."""

    resource_ref: ResourceRef
    selector: StageSelector | None = None
    weight: int = 0
    weight_from: ExpressionFrom | None = None
    delay: StageDelay | None = None
    next: StageNext | None = None
    steps: tuple[StageNext, ...] = ()
    immediate_next_stage: bool | None = None


class Change(StrEnum):
    """Setting that the delay of a stage becomes."""

    START = "start_seconds"
    INIT = "init_seconds"
    END = "run_seconds"
    STOP = "stop_seconds"


class Stage(DocumentPart, frozen=True, dict=True):
    """Stage as KWOK defines it, with its change and conditions on pod and state."""

    metadata: dict[str, Any]
    spec: StageSpec
    api_version: str = STAGE_VERSION
    kind: str = "Stage"

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", ""))

    @property
    def is_of_pods(self) -> bool:
        return self.spec.resource_ref.kind == "Pod"

    @cached_property
    def template(self) -> str:
        return "\n".join(step.template for step in _steps(self.spec))

    @cached_property
    def phase(self) -> str:
        """Phase that the stage sets; "" if it sets none."""
        found = _PHASE.search(self.template)
        return found["phase"] if found is not None else ""

    @cached_property
    def exit_code(self) -> int:
        """Exit code of the containers of a pod that the stage ends."""
        if self.phase == "Succeeded":
            return 0
        found = _EXIT_CODE.search(self.template)
        return int(found["code"]) if found is not None else 1

    @cached_property
    def change(self) -> Change:
        """Kind of change. Raises `InputError` for a change that settings cannot express."""
        if any(step.delete for step in _steps(self.spec)):
            return Change.STOP
        if self.phase in ("Succeeded", "Failed"):
            self._check_containers_end()
            return Change.END
        if not self.phase and _INIT_ENDS.search(self.template):
            return Change.INIT
        if self.phase not in ("", "Pending", "Running"):
            raise InputError("is not a phase of pods", field=_TEMPLATE_FIELD, value=self.phase)
        if not _STARTS.search(self.template) or self._selects_phase("Running"):
            hint = "let it set the phase Pending, Running, Succeeded or Failed, or delete the pod"
            raise InputError("neither starts nor ends pods", field="spec.next", hint=hint)
        return Change.START

    @cached_property
    def conditions(self) -> tuple[JqSelector, ...]:
        """Conditions on the fields that the pod's author sets. Raises `InputError`."""
        return tuple(condition for condition in self._all_conditions if not _is_of_state(condition))

    @cached_property
    def group(self) -> tuple[Change, object]:
        """Stages in the same group compete, because they select pods in the same state. All stages
        that end pods share a state."""
        if self.change is not Change.START:
            return self.change, None
        states = [each for each in self._all_conditions if _is_of_state(each)]
        return self.change, tuple(sorted((each.expression, each.operator, each.values) for each in states))

    @cached_property
    def _all_conditions(self) -> tuple[JqSelector, ...]:
        selector = self.spec.selector or StageSelector()
        named = (("labels", selector.match_labels), ("annotations", selector.match_annotations))
        return (
            *(expression.condition for expression in selector.match_expressions),
            *(
                JqSelector(f'.metadata.{kind}["{key}"]', "In", (text,))
                for kind, given in named
                for key, text in given.items()
            ),
        )

    def matches(self, document: Mapping[str, Any]) -> bool:
        """Return whether the stage selects the pod in any state."""
        if self.spec.selector is None or (self.is_of_init_containers and not document["spec"].get("initContainers")):
            return False
        return all(_holds(condition, document) for condition in self.conditions)

    @cached_property
    def is_of_init_containers(self) -> bool:
        return any(".initContainerStatuses" in each.expression for each in self._all_conditions)

    def weight(self, document: Mapping[str, Any]) -> int:
        text = _text_at(self.spec.weight_from, document)
        return int(text) if text.isdecimal() else self.spec.weight

    def seconds(self, document: Mapping[str, Any], occasion: str) -> float:
        """Return the delay for a pod, drawn for an occasion."""
        delay = self.spec.delay or StageDelay()
        base = _seconds(delay.duration_from, delay.duration_milliseconds, document) or 0.0
        jitter = _seconds(delay.jitter_duration_from, delay.jitter_duration_milliseconds, document)
        if jitter is None or jitter <= base:
            return base if jitter is None else jitter
        return base + (jitter - base) * chance(occasion)

    def _selects_phase(self, phase: str) -> bool:
        return any(each.expression == ".status.phase" and phase in each.values for each in self._all_conditions)

    def _check_containers_end(self) -> None:
        if self._selects_phase("Pending") and _INIT_ENDS.search(self.template):
            hint = "name the container in an annotation of the pod: steersman.dev/exit-codes.CONTAINER"
            raise InputError("ends init containers with the pod", field=_TEMPLATE_FIELD, hint=hint)


def check_stages(stages: Iterable[Stage]) -> None:
    """Raise `InputError` for a stage that settings of pods cannot express."""
    for stage in stages:
        try:
            if stage.is_of_pods:
                _ = stage.group, stage.conditions
            elif stage.spec.resource_ref.kind != "Node" or _SETS_NOT_READY.search(stage.name):
                hint = "simulated nodes are ready; use the annotation steersman.dev/crash-at of a node to let it fail"
                raise InputError("is not a stage of pods", field="spec.resourceRef.kind", hint=hint)
        except InputError as error:
            raise error.located(object=f"Stage {stage.name}") from None


def stage_settings(stages: Sequence[Stage], pod: Pod, seed: int) -> dict[str, Any]:
    """Return the fields of `PodSettings` that the stages give to a pod."""
    document = msgspec.json.decode(msgspec.json.encode(pod))
    groups: dict[tuple[Change, object], list[Stage]] = {}
    for stage in stages:
        if stage.is_of_pods and stage.matches(document):
            groups.setdefault(stage.group, []).append(stage)
    settings: dict[str, Any] = {}
    for number, ((change, _), group) in enumerate(groups.items()):
        occasion = f"{seed}/{pod.metadata.uid}/stage/{change}/{number}"
        chosen = _drawn(group, document, occasion)
        seconds = chosen.seconds(document, f"{occasion}/delay")
        settings[change.value] = settings.get(change.value, 0.0) + seconds
        if change is Change.END:
            settings["exit_codes"] = (chosen.exit_code,)
    return settings


def _steps(spec: StageSpec) -> tuple[StageNext, ...]:
    return spec.steps or ((spec.next,) if spec.next is not None else ())


def _is_of_state(condition: JqSelector) -> bool:
    """Return whether a condition is on the pod's state, not its author's fields."""
    if condition.operator not in _OPERATORS:
        hint = f"use {', '.join(_OPERATORS)}"
        raise InputError("is not supported", field="spec.selector", value=condition.operator, hint=hint)
    if condition.expression.startswith(".status") or condition.expression in (_DELETION, ".metadata.finalizers"):
        return True
    compile_path(_json_path(condition.expression))
    return False


def _json_path(expression: str) -> str:
    """Translate a jq path to JSONPath: `.items.[].name` → `.items[*].name`. Raises `InputError` for
    other expressions."""
    if "|" in expression:
        hint = "use a path such as .metadata.ownerReferences.[].kind"
        raise InputError("is not a path", field="spec.selector", value=expression, hint=hint)
    return expression.replace(".[", "[").replace("[]", "[*]")


def _holds(condition: JqSelector, document: Mapping[str, Any]) -> bool:
    found = [value for value in find_values(_json_path(condition.expression), document) if value is not None]
    if condition.operator in ("Exists", "DoesNotExist"):
        return bool(found) is (condition.operator == "Exists")
    return any(str(value) in condition.values for value in found) is (condition.operator == "In")


def _drawn(group: Sequence[Stage], document: Mapping[str, Any], occasion: str) -> Stage:
    """Draw one of the stages by weight; without weights, all are equally likely."""
    weights = [stage.weight(document) for stage in group]
    if len(group) == 1:
        return group[0]
    if not any(weights):
        weights = [1] * len(group)
    left = chance(occasion) * sum(weights)
    for stage, weight in zip(group, weights, strict=True):
        left -= weight
        if left < 0:
            return stage
    return group[-1]


def _text_at(source: ExpressionFrom | None, document: Mapping[str, Any]) -> str:
    found = find_values(_json_path(source.path), document) if source is not None else []
    return str(found[0]) if found else ""


def _seconds(source: ExpressionFrom | None, milliseconds: int | None, document: Mapping[str, Any]) -> float | None:
    """Return a duration in seconds, from a field of the pod if present, else the fixed one."""
    if source is not None and source.path == _DELETION:
        grace = document["metadata"].get("deletionGracePeriodSeconds")
        return None if grace is None else float(grace)
    text = _text_at(source, document)
    if text:
        try:
            return max(0.0, Duration.parse(text).nanoseconds / SECOND)
        except DurationError as error:
            hint = 'use a duration such as "10s"'
            raise InputError("is not a duration", field=source.path if source else "", value=text, hint=hint) from error
    return None if milliseconds is None else milliseconds / 1000
