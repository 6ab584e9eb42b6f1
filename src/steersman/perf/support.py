"""What of a workload cannot be run, and why: found before anything is started.

`preparing` asks. Templates are read on the way, so that one that is wrong is found early too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from steersman import api
from steersman.perf.operations import DeviceOperation, Operation
from steersman.perf.templates import Draft, Templates, UnknownKind

NO_DEVICES: Final = "devices need a controller of resource claims, and only the embedded cluster has one"


def obstacle(
    steps: Iterable[tuple[int, Operation]], default_pod_file: str | None, templates: Templates, has_devices: bool
) -> str:
    """Why the operations cannot be carried out; "" if they can. Raises `InputError` for templates that are wrong.
    `has_devices`: the cluster has a controller of resource claims."""
    for place, step in steps:
        if isinstance(step, DeviceOperation) and not has_devices:
            return f"{step.opcode} (operation {place}): {NO_DEVICES}"
        for file in _files(step, default_pod_file):
            try:
                draft = templates(file).draft(0, max(1, getattr(step, "count", 1)))
            except UnknownKind as error:
                return f"{step.opcode} (operation {place}): {error}"
            if _needs_devices(draft) and not has_devices:
                return f"{step.opcode} (operation {place}): {file}: {NO_DEVICES}"
    return ""


def _files(operation: Operation, default_pod_file: str | None) -> Iterator[str]:
    for name in operation.PATHS:
        given = getattr(operation, name)
        if given is None and name == "pod_template_path":
            given = default_pod_file
        yield from given if isinstance(given, tuple) else filter(None, (given,))


def _needs_devices(draft: Draft) -> bool:
    if draft.object.API_VERSION.startswith("resource.k8s.io/"):
        return True
    return isinstance(draft.object, api.Pod) and bool(draft.object.spec.resource_claims)
