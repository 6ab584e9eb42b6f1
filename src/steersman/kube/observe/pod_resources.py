# SPDX-License-Identifier: Apache-2.0
"""Requests and limits of every pod: `/metrics/resources`, one series per pod and resource.

Computed from the listers on demand, as upstream. Written pod by pod without Prometheus' client,
whose objects would cause long garbage collections with 50,000 pods.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from prometheus_client.utils import floatToGoString

from steersman import api
from steersman.api import quantity
from steersman.base import LruCache
from steersman.framework import request_amounts

REQUEST: Final = "kube_pod_resource_request"
REQUEST_TEXT: Final = "[STABLE] What a pod asks for, by resource."
LIMIT: Final = "kube_pod_resource_limit"
LIMIT_TEXT: Final = "[STABLE] What a pod may use at most, by resource."
_BYTES: Final = frozenset({"memory", "storage", "ephemeral-storage"})
_SPECIAL: Final = re.compile(r'[\\\n"]')
_MAX_CACHED: Final = 4096
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_replace = msgspec.structs.replace

Amounts = Mapping[str, quantity.Amount]
Part = tuple[Hashable, ...]


def pod_resources(pods: Sequence[api.Pod]) -> Iterator[str]:
    """Yield the Prometheus text in pieces of one pod. Pods are immutable: thread-safe."""
    yield from _family(REQUEST, REQUEST_TEXT, SeriesEndings(requests, _requests_key), pods)
    yield from _family(LIMIT, LIMIT_TEXT, SeriesEndings(limits, _limits_key), pods)


def is_shown(pod: api.Pod) -> bool:
    """Return whether to show the pod: finished pods on a node use no resources."""
    return not (pod.spec.node_name and pod.status.phase in api.FINISHED_PHASES)


def requests(pod: api.Pod) -> Amounts:
    return request_amounts(pod, status=False)


def limits(pod: api.Pod) -> Amounts:
    """Return the limits, summed like requests; overhead is added to resources with a limit only."""
    if not _has_limits(pod):
        return {}
    total = dict(request_amounts(_asking_for_its_limits(pod), status=False))
    for resource, amount in pod.spec.overhead.items():
        if resource in total and total[resource].unscaled:
            total[resource] = quantity.add(total[resource], quantity.parse(amount))
    return total


def unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""


# -- writing -------------------------------------------------------------------------------------------------------------


def _family(name: str, text: str, ends: SeriesEndings, pods: Iterable[api.Pod]) -> Iterator[str]:
    yield f"# HELP {name} {text}\n# TYPE {name} gauge\n"
    for pod in pods:
        found = ends.endings_of(pod) if is_shown(pod) else ()
        # Yields "" too, so that callers can pause after every pod.
        yield _lines(name, pod, found) if found else ""


def _lines(name: str, pod: api.Pod, ends: Sequence[tuple[str, str]]) -> str:
    """Return the lines with labels sorted by name, like Prometheus' client."""
    meta, spec = pod.metadata, pod.spec
    namespace, node, pod_name, scheduler = meta.namespace, spec.node_name, meta.name, spec.scheduler_name
    if _SPECIAL.search(f"{namespace}{node}{pod_name}{scheduler}"):
        namespace, node, pod_name, scheduler = map(_escaped, (namespace, node, pod_name, scheduler))
    priority = "" if spec.priority is None else spec.priority
    begin = f'{name}{{namespace="{namespace}",node="{node}",pod="{pod_name}",priority="{priority}",resource="'
    return "".join([f"{begin}{resource}{scheduler}{rest}" for resource, rest in ends])


class SeriesEndings:
    """Cache of the pod-independent parts of lines, before and after the scheduler's name, per
    resource. Pods of one template share them."""

    def __init__(self, amounts_of: Callable[[api.Pod], Amounts], key_of: Callable[[api.Pod], Hashable]) -> None:
        """Use the two functions; pods with equal keys must have equal amounts."""
        self._amounts_of = amounts_of
        self._key_of = key_of
        self._known: LruCache[Hashable, Sequence[tuple[str, str]]] = LruCache(_MAX_CACHED)

    def endings_of(self, pod: api.Pod) -> Sequence[tuple[str, str]]:
        key = self._key_of(pod)
        found = self._known.get(key)
        if found is None:
            amounts = self._amounts_of(pod)
            found = [_end(name, amount) for name, amount in amounts.items() if amount.unscaled]
            self._known.put(key, found)
        return found


def _end(resource: str, amount: quantity.Amount) -> tuple[str, str]:
    number: str = floatToGoString(amount.unscaled * 10.0**amount.scale)  # type: ignore[no-untyped-call]
    return f'{_escaped(resource)}",scheduler="', f'",unit="{unit(resource)}"}} {number}\n'


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


def _requests_key(pod: api.Pod) -> Hashable:
    return _key(pod.spec, [container.resources.requests for container in pod.spec.containers], _asked)


def _limits_key(pod: api.Pod) -> Hashable:
    return _key(pod.spec, [container.resources.limits for container in pod.spec.containers], _allowed)


def _key(spec: api.PodSpec, containers: list[api.ResourceList], of: Callable[[api.ResourceRequirements], Part]) -> Part:
    """Return everything that the sums depend on."""
    own = tuple([tuple(amounts.items()) for amounts in containers])
    if not spec.init_containers and not spec.overhead and spec.resources is None:
        return own
    initial = tuple([(container.restart_policy, of(container.resources)) for container in spec.init_containers])
    whole = None if spec.resources is None else of(spec.resources)
    return own, initial, tuple(spec.overhead.items()), whole


def _asked(resources: api.ResourceRequirements) -> Part:
    return tuple(resources.requests.items())


def _allowed(resources: api.ResourceRequirements) -> Part:
    return tuple(resources.limits.items())


# -- limits --------------------------------------------------------------------------------------------------------------


def _has_limits(pod: api.Pod) -> bool:
    spec = pod.spec
    if spec.resources is not None and spec.resources.limits:
        return True
    return any(container.resources.limits for container in (*spec.containers, *spec.init_containers))


def _asking_for_its_limits(pod: api.Pod) -> api.Pod:
    spec = pod.spec
    return _replace(
        pod,
        spec=_replace(
            spec,
            containers=tuple(map(_limited, spec.containers)),
            init_containers=tuple(map(_limited, spec.init_containers)),
            resources=None if spec.resources is None else _swapped(spec.resources),
            overhead={},
        ),
    )


def _limited(container: api.Container) -> api.Container:
    return _replace(container, resources=_swapped(container.resources))


def _swapped(resources: api.ResourceRequirements) -> api.ResourceRequirements:
    return _replace(resources, requests=resources.limits)
