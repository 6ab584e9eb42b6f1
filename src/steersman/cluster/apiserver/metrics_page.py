# SPDX-License-Identifier: Apache-2.0
"""`/metrics` of the API server: upstream's request and object counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from steersman.cluster.apiserver.requests import ApiAnswer
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.routing import RequestTarget
from steersman.cluster.store import Store

_REQUESTS: Final = "apiserver_request_total"
_OBJECTS: Final = "apiserver_resource_objects"
_HEADERS: Final = {
    _REQUESTS: ("counter", "[STABLE] Counter of apiserver requests broken out for each verb, resource and HTTP code."),
    _OBJECTS: ("gauge", "[ALPHA] Number of stored objects at the time of last check split by kind."),
}


class RequestCounts:
    """Request counts by label set."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def count(self, about: RequestTarget, verb: str, code: int) -> None:
        resource = about.resource
        part = "" if about.subresource is None else about.subresource.name
        scope = "resource" if about.name else "namespace" if about.namespace else "cluster"
        names = (
            f'code="{code}"',
            'component="apiserver"',
            f'group="{resource.group}"',
            f'resource="{resource.plural}"',
        )
        more = (f'scope="{scope}"', f'subresource="{part}"', f'verb="{verb.upper()}"', f'version="{resource.version}"')
        self._counts[",".join((*names, *more))] += 1

    def page(self, store: Store, resources: Iterable[Resource]) -> ApiAnswer:
        """Return the metrics in the Prometheus text format."""
        stored = {resource.stored_as: resource for resource in resources if resource.stored_as is not None}
        objects = {
            f'group="{resource.group}",resource="{resource.plural}"': len(store.objects(kind))
            for kind, resource in stored.items()
        }
        lines = []
        for name, samples in ((_REQUESTS, self._counts), (_OBJECTS, objects)):
            kind, text = _HEADERS[name]
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{{{labels}}} {value}" for labels, value in sorted(samples.items())]
        return ApiAnswer(200, "\n".join((*lines, "")).encode(), "text/plain; version=0.0.4; charset=utf-8")
