# SPDX-License-Identifier: Apache-2.0
"""Settings of simulated kubelets for many pods: a `KubeletPolicy`, from a file or built in Python.

The first matching rule overrides `pods`, the settings of all pods; KWOK stages override both.
`behaviour` adds pod annotations. docs/kubelets.md describes policies for users.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from os import PathLike, fspath
from typing import Any, Final, Literal, TypeAlias

import msgspec

from steersman.api import (
    DocumentKind,
    DocumentPart,
    DocumentSource,
    LabelSelector,
    Pod,
    convert_document,
    errors_in_file,
    from_label_selector,
    read_text,
    yaml_documents,
)
from steersman.base import POLICY_VERSION, InputError
from steersman.cluster.kubelets.durations import parse_duration
from steersman.cluster.kubelets.stages import STAGE_VERSION, Stage, check_stages, stage_settings

POLICY_KIND: Final = "KubeletPolicy"
_POLICY: Final = DocumentKind(POLICY_VERSION, POLICY_KIND)
NEVER: Final = "never"
NO_EXIT_CODES: Final = "is not a list of exit codes"
EXIT_CODES_HINT: Final = 'use numbers from 0 to 255 such as "1" or "1,1,0": of the first run, the second, the others'
_MAX_EXIT_CODE: Final = 255
RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")

PolicySource: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | KubeletPolicy | None"
"""File or dict of a KubeletPolicy or KWOK stages, a loaded policy, or None (default)."""

_replace = msgspec.structs.replace


class PodSettings(DocumentPart, frozen=True):
    """Settings of pods; None if unset. Times are arguments of `parse_duration`."""

    #: Delay from binding to the start of the first container.
    start_seconds: str | float | None = None
    #: Pull time of each image missing on the node; pulls are sequential.
    image_pull_seconds: str | float | None = None
    #: Run time of each init container.
    init_seconds: str | float | None = None
    #: Run time of containers; None if they never exit.
    run_seconds: str | float | None = None
    #: Exit codes of the first run, the second, …; the last one repeats.
    exit_codes: tuple[int, ...] | None = None
    #: Delay from the start of a container to its readiness, or "never".
    ready_after_seconds: str | float | None = None
    #: Time that containers take to stop when their pod is deleted; None for the whole grace period.
    stop_seconds: str | float | None = None


class PolicyRule(DocumentPart, frozen=True):
    """Settings of pods that match all conditions."""

    pods: PodSettings
    selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    #: Kinds of owners: Job, StatefulSet, …; Deployment also matches pods of its ReplicaSets.
    owner_kinds: tuple[str, ...] = ()
    #: Restart policies of pods: Always, OnFailure, Never.
    restart_policies: tuple[str, ...] = ()

    def matches(self, pod: Pod) -> bool:
        meta = pod.metadata
        if self.restart_policies and pod.spec.restart_policy not in self.restart_policies:
            return False
        if self.namespaces and meta.namespace not in self.namespaces:
            return False
        if self.owner_kinds and not any(_is_of_kind(ref.kind, self.owner_kinds) for ref in meta.owner_references):
            return False
        return self.selector is None or from_label_selector(self.selector).matches(meta.labels)


class KubeletPolicy(DocumentPart, frozen=True):
    """Settings of pods; by default, pods run from binding to deletion."""

    api_version: str = POLICY_VERSION
    kind: str = POLICY_KIND
    #: Seed of the random durations.
    seed: int = 0
    #: `Full` writes container statuses and addresses; `Auto` if clients read them or pods fail.
    statuses: Literal["Auto", "Full"] = "Auto"
    #: Whether pods that do not fit on their node are rejected; None: if clients can bind pods.
    rejects_unfit_pods: bool | None = None
    #: Downtime of a rebooting node.
    reboot_seconds: str | float = 60.0
    pods: PodSettings = PodSettings()
    #: The first rule that matches a pod applies.
    rules: tuple[PolicyRule, ...] = ()
    #: KWOK stages.
    stages: tuple[Stage, ...] = ()

    def settings_for(self, pod: Pod) -> PodSettings:
        """Return the policy's settings for the pod, ignoring annotations."""
        rule = next((rule for rule in self.rules if rule.matches(pod)), None)
        settings = self.pods if rule is None else merged(self.pods, rule.pods)
        if not self.stages:
            return settings
        return _replace(settings, **stage_settings(self.stages, pod, self.seed))


DEFAULT_POLICY: Final = KubeletPolicy()
SANDBOX_POLICY: Final = KubeletPolicy(
    pods=PodSettings(start_seconds=1.0, stop_seconds=1.0),
    rules=(PolicyRule(pods=PodSettings(run_seconds=1.0), restart_policies=("Never", "OnFailure")),),
)
"""Policy of sandboxes: pods start and stop in a second; finite ones run another second."""


# -- policies from files ---------------------------------------------------------------------------


def load_policy(source: PolicySource) -> KubeletPolicy:
    """Load a policy. Raises `InputError` with file, field, value and remedy."""
    if source is None:
        return DEFAULT_POLICY
    if isinstance(source, KubeletPolicy):
        _check(source)
        return source
    stages = _stage_documents(source)
    return _POLICY.load(source, _read_policy) if stages is None else _read_stages(source, stages)


def _stage_documents(source: DocumentSource) -> list[dict[str, Any]] | None:
    """Return the documents of a source with KWOK stages; None for other sources."""
    documents = [source] if isinstance(source, Mapping) else []
    if isinstance(source, str | PathLike):
        text = read_text(source)
        with errors_in_file(fspath(source)):
            documents = [each for each in yaml_documents.documents(text) if isinstance(each, dict)]
    items = [item for each in documents for item in each.get("items") or (each,) if isinstance(item, dict)]
    is_stages = any(item.get("apiVersion") == STAGE_VERSION for item in items)
    return [dict(item) for item in items] if is_stages else None


def _read_stages(source: DocumentSource, documents: list[dict[str, Any]]) -> KubeletPolicy:
    with nullcontext() if isinstance(source, Mapping) else errors_in_file(fspath(source)):
        stages = []
        for document in documents:
            name = f"Stage {(document.get('metadata') or {}).get('name', '')}".strip()
            if (document.get("apiVersion"), document.get("kind")) != (STAGE_VERSION, "Stage"):
                raise InputError("is not a Stage", object=str(document.get("kind")), hint="move it to another file")
            try:
                stages.append(
                    convert_document({key: value for key, value in document.items() if key != "status"}, Stage)
                )
            except InputError as error:
                raise error.located(object=name) from None
        policy = KubeletPolicy(stages=tuple(stages))
        _check(policy)
        return policy


def _read_policy(document: dict[str, Any]) -> KubeletPolicy:
    policy = convert_document(document, KubeletPolicy)
    _check(policy)
    return policy


def _check(policy: KubeletPolicy) -> None:
    _check_duration(policy.reboot_seconds, "rebootSeconds")
    _check_settings(policy.pods, "pods")
    check_stages(policy.stages)
    for index, rule in enumerate(policy.rules):
        _check_settings(rule.pods, f"rules[{index}].pods")
        for name in rule.restart_policies:
            if name not in RESTART_POLICIES:
                hint = f"use {', '.join(RESTART_POLICIES)}"
                path = f"rules[{index}].restartPolicies"
                raise InputError("is not a restart policy", object=POLICY_KIND, field=path, value=name, hint=hint)
        try:
            from_label_selector(rule.selector or LabelSelector())
        except InputError as error:
            raise error.located(object=POLICY_KIND, field=f"rules[{index}].selector") from None


def _check_settings(settings: PodSettings, path: str) -> None:
    for field in msgspec.structs.fields(PodSettings):
        value, place = getattr(settings, field.name), f"{path}.{field.encode_name}"
        if field.name == "exit_codes" and value is not None:
            _check_exit_codes(value, place)
        elif value is not None and not (field.name == "ready_after_seconds" and value == NEVER):
            _check_duration(value, place)


def checked_exit_codes(codes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the exit codes. Raises `InputError` for an impossible one."""
    if not codes or not all(0 <= code <= _MAX_EXIT_CODE for code in codes):
        raise InputError(NO_EXIT_CODES, value=codes, hint=EXIT_CODES_HINT)
    return codes


def _check_exit_codes(codes: tuple[int, ...], path: str) -> None:
    try:
        checked_exit_codes(codes)
    except InputError as error:
        raise error.located(object=POLICY_KIND, field=path) from None


def _check_duration(text: str | float, path: str) -> None:
    try:
        parse_duration(text)
    except InputError as error:
        raise error.located(object=POLICY_KIND, field=path) from None


def merged(general: PodSettings, special: PodSettings) -> PodSettings:
    """Return the settings of `special`, with those of `general` as defaults."""
    overrides = {name: value for name in PodSettings.__struct_fields__ if (value := getattr(special, name)) is not None}
    return _replace(general, **overrides)


def _is_of_kind(kind: str, wanted: tuple[str, ...]) -> bool:
    return kind in wanted or (kind == "ReplicaSet" and "Deployment" in wanted)
