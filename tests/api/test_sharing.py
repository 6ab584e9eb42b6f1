# SPDX-License-Identifier: Apache-2.0
"""Equal parts of pods, stored once."""

from typing import Any

from steersman.api import Pod, codec
from steersman.api.sharing import Sharer


def web(name: str, **spec: Any) -> Pod:
    return codec.convert(
        {
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": [{"key": "a"}], **spec},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c"}]},
        },
        Pod,
    )


def test_a_shared_pod_equals_the_original() -> None:
    pod = web("a", nodeName="n1", affinity={"podAffinity": {}})
    assert Sharer().shared(pod) == pod


def test_equal_parts_become_one_object() -> None:
    sharer = Sharer()
    first, second = sharer.shared(web("a")), sharer.shared(web("b"))
    assert first.metadata.labels is second.metadata.labels
    assert first.spec.containers is second.spec.containers
    assert first.spec.tolerations is second.spec.tolerations
    assert first.status.container_statuses is second.status.container_statuses


def test_different_parts_stay_apart() -> None:
    sharer = Sharer()
    first = sharer.shared(web("a"))
    second = sharer.shared(web("b", containers=[{"name": "c", "image": "other"}]))
    assert first.spec.containers != second.spec.containers
