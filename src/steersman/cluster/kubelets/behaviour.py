# SPDX-License-Identifier: Apache-2.0
"""The behaviour of a pod, from its annotations, else from the policy.

Annotations are named like the fields of `PodSettings`: `steersman.dev/run-seconds`. Some may name a
container: `steersman.dev/run-seconds.sidecar`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from steersman.api import Pod, key
from steersman.base import InputError
from steersman.cluster.kubelets.durations import parse_duration
from steersman.cluster.kubelets.policy import (
    DEFAULT_POLICY,
    EXIT_CODES_HINT,
    NEVER,
    NO_EXIT_CODES,
    KubeletPolicy,
    PodSettings,
    checked_exit_codes,
    merged,
)

PREFIX: Final = "steersman.dev/"
RUN_SECONDS: Final = "steersman.dev/run-seconds"
UNKNOWN_ANNOTATION: Final = "is not a known annotation of pods"
POD_ANNOTATIONS: Final = tuple(PREFIX + name.replace("_", "-") for name in PodSettings.__struct_fields__)
CONTAINER_ANNOTATIONS: Final = (RUN_SECONDS, "steersman.dev/exit-codes", "steersman.dev/ready-after-seconds")

_Annotations: TypeAlias = tuple[tuple[str, str], ...]
_ByContainer: TypeAlias = Mapping[str, PodSettings]
_NO_SETTINGS: Final = PodSettings()
_NO_CONTAINERS: Final[_ByContainer] = {}

_replace = msgspec.structs.replace


class PodBehaviour:
    """Behaviour of one pod: how long its containers take to start and run, and how they end."""

    def __init__(self, pod: Pod, seed: int, settings: PodSettings, containers: Mapping[str, PodSettings]) -> None:
        self._pod = pod
        self._seed = seed
        self.settings = settings
        #: Settings of single containers.
        self._containers = containers

    @property
    def is_plain(self) -> bool:
        """Whether the pod only starts, runs, succeeds and stops as a whole."""
        settings = self.settings
        codes = settings.exit_codes
        return not (self._containers or (codes and any(codes))) and (
            settings.image_pull_seconds is None
            and settings.init_seconds is None
            and settings.ready_after_seconds is None
        )

    def start_seconds(self) -> float:
        return self._drawn(self.settings.start_seconds, "start") or 0.0

    def pull_seconds(self, image: str) -> float:
        return self._drawn(self.settings.image_pull_seconds, f"pull/{image}") or 0.0

    def stop_seconds(self) -> float | None:
        """Return how long the pod takes to stop; None for its whole grace period."""
        return self._drawn(self.settings.stop_seconds, "stop")

    def run_seconds(self, container: str = "", run: int = 0, *, is_init: bool = False) -> float | None:
        """Return how long the container runs after `run` restarts; None if it never exits."""
        own = self._containers.get(container)
        if own is not None and own.run_seconds is not None:
            return self._drawn(own.run_seconds, f"run/{container}/{run}")
        if is_init:
            return self._drawn(self.settings.init_seconds, f"init/{container}/{run}") or 0.0
        return self._drawn(self.settings.run_seconds, f"run/{run}")

    def exit_code(self, container: str, run: int, *, is_init: bool = False) -> int:
        codes = self._exit_codes(container, is_init)
        return codes[min(run, len(codes) - 1)] if codes else 0

    def never_succeeds(self, container: str, *, is_init: bool = False) -> bool:
        """Return whether the container fails on every restart."""
        codes = self._exit_codes(container, is_init)
        return bool(codes and codes[-1])

    def ready_seconds(self, container: str, run: int) -> float:
        """Return the seconds from a container's start to readiness; infinity if never ready."""
        own = self._containers.get(container)
        own_value = None if own is None else own.ready_after_seconds
        own_value = self.settings.ready_after_seconds if own_value is None else own_value
        return math.inf if own_value == NEVER else self._drawn(own_value, f"ready/{container}/{run}") or 0.0

    def _exit_codes(self, container: str, is_init: bool) -> tuple[int, ...] | None:
        own = self._containers.get(container)
        if own is not None and own.exit_codes is not None:
            return own.exit_codes
        return None if is_init else self.settings.exit_codes

    def _drawn(self, text: str | float | None, what: str) -> float | None:
        if text is None:
            return None
        duration = parse_duration(text)
        if duration.is_fixed:
            return duration.parameters[0]
        return duration.seconds(f"{self._seed}/{self._pod.metadata.uid}/{what}")


# -- annotations -----------------------------------------------------------------------------------


def behaviour(policy: KubeletPolicy, pod: Pod) -> PodBehaviour:
    """Return the behaviour of a pod. Raises `InputError` for an unusable annotation."""
    settings = policy.settings_for(pod) if policy.rules or policy.stages else policy.pods
    annotations = pod.metadata.annotations
    given = tuple(item for item in annotations.items() if item[0].startswith(PREFIX)) if annotations else ()
    if not given:
        return PodBehaviour(pod, policy.seed, settings, _NO_CONTAINERS)
    try:
        own, containers = _read_annotations(given)
        if containers:
            _check_names(pod, containers)
    except InputError as error:
        raise error.located(object=f"Pod {key(pod)}") from None
    effective = own if settings is DEFAULT_POLICY.pods else merged(settings, own)
    return PodBehaviour(pod, policy.seed, effective, containers)


def check_annotations(pod: Pod) -> None:
    """Raise `InputError` for an unusable annotation."""
    if pod.metadata.annotations:
        behaviour(DEFAULT_POLICY, pod)


@lru_cache(maxsize=1024)
def _read_annotations(given: _Annotations) -> tuple[PodSettings, _ByContainer]:
    """Return the settings of a pod and its containers, cached as templates share annotations."""
    by_container: dict[str, dict[str, object]] = {"": {}}
    for name, text in given:
        setting, container = _split(name)
        if setting not in (CONTAINER_ANNOTATIONS if container else POD_ANNOTATIONS):
            raise InputError(
                UNKNOWN_ANNOTATION, field=_field(name), value=text, hint=similar_annotation(name, POD_ANNOTATIONS)
            )
        field = setting.removeprefix(PREFIX).replace("-", "_")
        try:
            by_container.setdefault(container, {})[field] = _setting(field, text)
        except InputError as error:
            raise error.located(field=_field(name)) from None
    settings = {container: _replace(_NO_SETTINGS, **fields) for container, fields in by_container.items()}
    return settings.pop(""), settings


def _split(name: str) -> tuple[str, str]:
    """Split `steersman.dev/run-seconds.sidecar` into the annotation and the container `sidecar`."""
    setting, _, container = name.removeprefix(PREFIX).partition(".")
    return PREFIX + setting, container


def _setting(field: str, text: str) -> str | tuple[int, ...]:
    if field == "exit_codes":
        return _exit_codes(text)
    if not (field == "ready_after_seconds" and text == NEVER):
        parse_duration(text)
    return text


def _exit_codes(text: str) -> tuple[int, ...]:
    try:
        return checked_exit_codes(tuple(int(code) for code in text.split(",")))
    except ValueError:
        raise InputError(NO_EXIT_CODES, value=text, hint=EXIT_CODES_HINT) from None


def _check_names(pod: Pod, containers: _ByContainer) -> None:
    names = [some.name for some in (*pod.spec.init_containers, *pod.spec.containers)]
    for container in containers:
        if container not in names:
            hint = f"the pod has {', '.join(names)}"
            raise InputError("is not a container of the pod", field="metadata.annotations", value=container, hint=hint)


def similar_annotation(name: str, known: Sequence[str]) -> str:
    """Return a hint with the most similar known annotation, or with all of them."""
    from difflib import get_close_matches  # slow import, needed only for errors

    close = get_close_matches(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known], n=1)
    return f"did you mean {PREFIX}{close[0]}?" if close else f"there are {', '.join(known)}"


def _field(name: str) -> str:
    return f"metadata.annotations[{name}]"
