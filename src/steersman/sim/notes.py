"""What the reader of a result should know about the input: one line each, none when all is well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from steersman import api
from steersman.config import SchedulerConfiguration
from steersman.plugins.registry import NOT_YET
from steersman.sim.sources import unexpanded

_VOLUME_PLUGINS: Final = frozenset({"VolumeBinding", "VolumeRestrictions", "VolumeZone", "NodeVolumeLimits"})
_DEVICE_PLUGINS: Final = frozenset({"DynamicResources"})


def notes(objects: Iterable[api.Object], skipped: Counter[str], configuration: SchedulerConfiguration) -> Iterator[str]:
    objects = list(objects)
    makers = unexpanded(objects)
    if makers:
        yield f"controllers do not run here: no pods were made for {_counted(makers)}"
    if skipped:
        yield f"objects of other kinds were passed over: {_counted(skipped)}"
    if configuration.extenders:
        urls = ", ".join(extender.url_prefix for extender in configuration.extenders)
        yield f"extenders are not called in a simulation: {urls}"
    yield from _ignored_rules(objects)


def _ignored_rules(objects: Iterable[api.Object]) -> Iterator[str]:
    """Pods that a plugin would have had something to say about which this version does not have."""
    pods = [obj for obj in objects if isinstance(obj, api.Pod) and not obj.spec.node_name]
    if _VOLUME_PLUGINS & NOT_YET:
        with_claims = sum(any(v.persistent_volume_claim or v.ephemeral for v in pod.spec.volumes) for pod in pods)
        if with_claims:
            missing = ", ".join(sorted(_VOLUME_PLUGINS & NOT_YET))
            yield f"volumes of {with_claims} pods are not looked at: this version has no {missing}"
    if _DEVICE_PLUGINS & NOT_YET:
        with_devices = sum(bool(pod.spec.resource_claims) for pod in pods)
        if with_devices:
            yield f"resource claims of {with_devices} pods are not looked at: this version has no DynamicResources"


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
