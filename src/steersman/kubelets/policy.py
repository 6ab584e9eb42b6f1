# SPDX-License-Identifier: Apache-2.0
"""Settings of simulated kubelets for many pods at once: a `KubeletPolicy`, from a file or made in Python.

The first rule that matches a pod comes before `pods`, which is for all. `behaviour` adds what annotations say about single
pods. docs/kubelets.md has the words for users.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, Final, Literal, TypeAlias

import msgspec

from steersman.api import LabelSelector, Pod, codec
from steersman.api.selectors import from_label_selector
from steersman.api.text_files import DocumentKind, DocumentPart, errors_in_file
from steersman.errors import InputError
from steersman.kubelets.durations import parse_duration

POLICY_KIND: Final = "KubeletPolicy"
POLICY_VERSION: Final = "steersman.dev/v1"
_POLICY: Final = DocumentKind(POLICY_VERSION, POLICY_KIND)
NEVER: Final = "never"
NO_EXIT_CODES: Final = "is no list of exit codes"
EXIT_CODES_HINT: Final = 'use numbers from 0 to 255 such as "1" or "1,1,0": of the first run, the second, the others'
_LARGEST_EXIT_CODE: Final = 255

PolicySource: TypeAlias = "str | PathLike[str] | Mapping[str, Any] | KubeletPolicy | None"
"""A file with a KubeletPolicy, the document as a dict, or one that is already loaded; None: the default one."""

_replace = msgspec.structs.replace


class PodSettings(DocumentPart, frozen=True):
    """Settings for pods; None where nothing is set. Times are texts or numbers for `parse_duration`."""

    #: From being bound to the start of the first container.
    start_seconds: str | float | None = None
    #: For every image that the node does not have yet, one after the other.
    image_pull_seconds: str | float | None = None
    #: How long each init container runs.
    init_seconds: str | float | None = None
    #: How long containers run before they exit; None: for ever.
    run_seconds: str | float | None = None
    #: Of the first run of a container, the second, …; the last one repeats.
    exit_codes: tuple[int, ...] | None = None
    #: From the start of a container until it is ready; "never" is possible.
    ready_after_seconds: str | float | None = None
    #: How long containers take to end when their pod is deleted; None: as long as they may.
    stop_seconds: str | float | None = None


class PolicyRule(DocumentPart, frozen=True):
    """Which pods it is about (all that is given must match), and what is said about them."""

    pods: PodSettings
    selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    #: Kinds of controllers: Job, StatefulSet, …; Deployment stands for its ReplicaSets.
    owner_kinds: tuple[str, ...] = ()

    def matches(self, pod: Pod) -> bool:
        meta = pod.metadata
        if self.namespaces and meta.namespace not in self.namespaces:
            return False
        if self.owner_kinds and not any(_is_of_kind(ref.kind, self.owner_kinds) for ref in meta.owner_references):
            return False
        return self.selector is None or from_label_selector(self.selector).matches(meta.labels)


class KubeletPolicy(DocumentPart, frozen=True):
    """Rules for pods, of which the first that matches counts; without any, pods run for ever from the moment they are bound."""

    api_version: str = POLICY_VERSION
    kind: str = POLICY_KIND
    #: Decides what distributions give.
    seed: int = 0
    #: `Full` writes the statuses of containers and addresses; `Auto` does where clients may read them, and for pods that fail.
    statuses: Literal["Auto", "Full"] = "Auto"
    #: Whether a pod that does not fit on its node is refused as a kubelet refuses it; None: where clients may bind pods.
    rejects_unfit_pods: bool | None = None
    #: How long a node is away when it reboots.
    reboot_seconds: str | float = 60.0
    pods: PodSettings = PodSettings()
    #: The first one that matches a pod counts.
    rules: tuple[PolicyRule, ...] = ()

    def settings_for(self, pod: Pod) -> PodSettings:
        """The settings of the policy for the pod; annotations of the pod are not read."""
        for rule in self.rules:
            if rule.matches(pod):
                return merged(self.pods, rule.pods)
        return self.pods


DEFAULT_POLICY: Final = KubeletPolicy()
SANDBOX_POLICY: Final = KubeletPolicy(pods=PodSettings(start_seconds=1.0, stop_seconds=1.0))
"""For people who watch: pods take a second to start and to stop."""


# -- policies from files -----------------------------------------------------------------------------------------------


def load_policy(source: PolicySource) -> KubeletPolicy:
    """Raises `InputError` with file, field, value and what would be right."""
    if source is None:
        return DEFAULT_POLICY
    if isinstance(source, KubeletPolicy):
        _check(source)
        return source
    if isinstance(source, Mapping):
        return _read_policy(_POLICY.identified(dict(source)))
    path = fspath(source)
    with errors_in_file(path):
        return _read_policy(_POLICY.read(path))


def _read_policy(document: dict[str, Any]) -> KubeletPolicy:
    policy = codec.convert(document, KubeletPolicy)
    _check(policy)
    return policy


def _check(policy: KubeletPolicy) -> None:
    _check_duration(policy.reboot_seconds, "rebootSeconds")
    _check_settings(policy.pods, "pods")
    for index, rule in enumerate(policy.rules):
        _check_settings(rule.pods, f"rules[{index}].pods")
        try:
            from_label_selector(rule.selector or LabelSelector())
        except InputError as error:
            raise error.located(object=POLICY_KIND, field=f"rules[{index}].selector") from None


def _check_settings(settings: PodSettings, path: str) -> None:
    for field in msgspec.structs.fields(PodSettings):
        said, place = getattr(settings, field.name), f"{path}.{field.encode_name}"
        if field.name == "exit_codes" and said is not None:
            _check_exit_codes(said, place)
        elif said is not None and not (field.name == "ready_after_seconds" and said == NEVER):
            _check_duration(said, place)


def checked_exit_codes(codes: tuple[int, ...]) -> tuple[int, ...]:
    """The exit codes as they were given; raises `InputError` for one that no process can exit with."""
    if not codes or not all(0 <= code <= _LARGEST_EXIT_CODE for code in codes):
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
    """The settings of `special`, and those of `general` where `special` has none."""
    said = {name: value for name in PodSettings.__struct_fields__ if (value := getattr(special, name)) is not None}
    return _replace(general, **said)


def _is_of_kind(kind: str, wanted: tuple[str, ...]) -> bool:
    return kind in wanted or (kind == "ReplicaSet" and "Deployment" in wanted)
