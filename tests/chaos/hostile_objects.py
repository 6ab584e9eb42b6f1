# SPDX-License-Identifier: Apache-2.0
"""Objects that an ordinary tenant may create and that ask much of a scheduler: each is accepted by a real API server.

Comes in: the name of a fault and its number. Goes out: objects of the namespace `hostile`, with the label `fault`. Values that
nest deeply are raw JSON, since encoders recurse.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from tests.chaos.persistence import Persistent
from tests.chaos.pod_templates import DEVICE_CLASS, HOSTNAME, created
from tests.chaos.tenants import namespace_object, remove_claim

from steersman.testing import PodBuilder, make_device_class, make_pod, make_resource_claim, make_slice
from steersman.testing.control_plane import JsonObject, KubeClient, manifest

HOSTILE: Final = "hostile"
FAULT: Final = "fault"
DEVICES: Final = 24
#: Of JSON in the parameters of a claim; a server stores up to 10 KiB of it.
DEPTHS: Final = (1000, 2500, 4000)
ZEROS, LETTERS = 3000, 400
SELECTORS_PER_POD, PODS_WITH_SELECTORS = 100, 30

CEL: Final = {
    "cel-quantity": f"isQuantity('{'0' * ZEROS}x')",
    "cel-find-all": f"'{'a' * 9000}'.findAll('a*b|a').size() > 100000",
    "cel-matches": f"'{'a' * LETTERS}'.matches('((((a?){{10}}){{10}}){{10}})b')",
}
ODD_QUANTITIES: Final = (
    ("1e-1", "1e8"),
    ("99999999n", "128974848000m"),
    ("+100m", "0.000125Ti"),
    (".1", ".5Gi"),
    ("0.100000000", "67108864.000"),
    ("1E-1", "5e7"),
)


def prepare(client: KubeClient) -> None:
    """The namespace, and devices that every node can use."""
    client.create(namespace_object(HOSTILE))
    client.create(manifest(make_device_class(DEVICE_CLASS)))
    slices = make_slice("chaos").everywhere()
    for index in range(DEVICES):
        slices = slices.device(f"gpu-{index}", model="a" if index % 2 else "b")
    client.create(manifest(slices))


def nested_claims(number: int) -> list[JsonObject]:
    """Claims whose opaque parameters nest deeply, used by a pod each."""
    found: list[JsonObject] = []
    for depth in DEPTHS:
        claim = manifest(make_resource_claim(f"nested-{number}-{depth}").namespace(HOSTILE).asks("gpu", DEVICE_CLASS))
        parameters = msgspec.Raw(b'{"deep":' + b"[" * depth + b"]" * depth + b"}")
        opaque = {"driver": "gpu.example.com", "parameters": parameters}
        claim["spec"]["devices"]["config"] = [{"opaque": opaque}]
        found += [claim, _user_of(claim, number)]
    return found


def expensive_selector(number: int, fault: str) -> list[JsonObject]:
    """A claim whose selector takes long for every device."""
    builder = make_resource_claim(f"{fault}-{number}").namespace(HOSTILE).asks("gpu", DEVICE_CLASS, CEL[fault])
    claim = manifest(builder)
    return [claim, _user_of(claim, number)]


def device_search(number: int) -> list[JsonObject]:
    """Half of the devices, in all ways to choose them, and one that does not exist."""
    builder = make_resource_claim(f"search-{number}").namespace(HOSTILE).asks("half", DEVICE_CLASS, count=DEVICES // 2)
    claim = manifest(builder.asks("none", DEVICE_CLASS, 'device.driver == "nobody.example.com"'))
    return [claim, _user_of(claim, number)]


def many_selectors(number: int) -> list[JsonObject]:
    """3,000 selectors that no other pod has."""
    found = []
    for index in range(PODS_WITH_SELECTORS):
        pod = _pod(f"selectors-{number}-{index}", number)
        for term in range(SELECTORS_PER_POD):
            pod = pod.anti_affinity(HOSTNAME, {"app": f"nobody-{number}-{index}-{term}"}, weight=1)
        found.append(created(pod))
    return found


def large_metadata(number: int) -> list[JsonObject]:
    """Hundreds of labels, each as long as it may be, and an annotation of 200 kB."""
    labels = {f"chaos.example.com/{'k' * 50}-{index}": "v" * 63 for index in range(300)}
    pod = _pod(f"large-{number}", number).labels(labels).annotation("chaos.example.com/text", "\u202e[31m " * 20_000)
    return [created(pod)]


def odd_quantities(number: int) -> list[JsonObject]:
    """Amounts that are written as few people write them."""
    pods = []
    for index, (cpu, memory) in enumerate(ODD_QUANTITIES):
        pod = created(_pod(f"odd-{number}-{index}", number))
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": memory}}
        pods.append(pod)
    return pods


HOSTILE_OBJECTS: Final[dict[str, Callable[[int], list[JsonObject]]]] = {
    "nested-claim": nested_claims,
    "device-search": device_search,
    "many-selectors": many_selectors,
    "large-metadata": large_metadata,
    "odd-quantities": odd_quantities,
    **{name: (lambda number, name=name: expensive_selector(number, name)) for name in CEL},  # type: ignore[misc]
}


def create_hostile(do: Persistent, objects: list[JsonObject]) -> None:
    """RuntimeError when the API server does not take one: then it would show nothing."""
    for obj in objects:
        path = do.client.path(obj["kind"], "", HOSTILE)
        answer = do(partial(do.client.raw, "POST", path, obj))
        while answer is not None and answer.status in (429, 500, 503, 504):
            do.ended.wait(0.2)
            answer = do(partial(do.client.raw, "POST", path, obj))
        if answer is not None and answer.status not in (200, 201, 409):
            raise RuntimeError(f"the API server refused {obj['metadata']['name']}: {answer.body[:500]!r}")


def remove_hostile(do: Persistent, objects: list[JsonObject]) -> None:
    for obj in objects:
        name = obj["metadata"]["name"]
        if obj["kind"] == "Pod":
            do(partial(do.client.delete, "Pod", name, HOSTILE))
    for obj in objects:
        if obj["kind"] == "ResourceClaim":
            remove_claim(do, obj["metadata"]["name"], HOSTILE)


def _pod(name: str, number: int) -> PodBuilder:
    return make_pod(name).namespace(HOSTILE).label(FAULT, str(number)).req(cpu="10m", memory="16Mi")


def _user_of(claim: JsonObject, number: int) -> JsonObject:
    name = claim["metadata"]["name"]
    pod = created(_pod(f"{name}-user", number))
    pod["spec"]["resourceClaims"] = [{"name": "hostile", "resourceClaimName": name}]
    return pod
