# SPDX-License-Identifier: Apache-2.0
"""Scenarios: objects and changes that kube-controller-manager and our controllers are both given, as data.

A scenario is a file `scenarios/NAME.yaml`: what it shows, its nodes, and steps of one field each:

| step | |
|---|---|
| `apply` | creates objects, one after the other, in the scenario's namespace unless they name another |
| `refused` | tries to create an object that the API server must refuse; its words are part of the result |
| `patch` | a JSON merge patch of an object, `{kind, name, change}` |
| `status` | the same of its status, as a kubelet or somebody else would write it |
| `delete` | `{kind, name, propagation}` |
| `kubelet` | from here on the kubelets follow these rules, see `kubelet` |
| `until` | waits, while kubelets play, until an object is as said, see `Until` |
| `snapshot` | the present state, under this name, is part of the result; the end always is |

After every step except `kubelet`, and every object, kubelets and controllers come to rest. `NOW-180` in a string is a time
180 seconds ago.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

FOLDER: Final = Path(__file__).parent / "scenarios"
Document = dict[str, Any]


class Named(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object, and what is to happen to it."""

    kind: str
    name: str
    change: Document = {}
    propagation: str | None = None


class Until(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that is given must hold: of a named object, or of any without a name, that it `has` these fields (of lists, an item
    with these fields) or is `gone`; of a kind, how many objects there are."""

    kind: str
    name: str = ""
    has: Document = {}
    gone: bool = False
    count: int | None = None
    #: Seconds, real or virtual.
    timeout: float = 60.0


class KubeletRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What kubelets do with pods that have these labels, this image, this node; empty is any."""

    do: str
    labels: dict[str, str] = {}
    image: str = ""
    node: str = ""
    exit_code: int = msgspec.field(default=1, name="exitCode")
    #: Of how many pods at most; the others follow the next rule that fits.
    most: int | None = None
    #: False: a pod that is being deleted stays.
    terminates: bool = True


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One field is set."""

    apply: list[Document] | None = None
    refused: Document | None = None
    patch: Named | None = None
    status: Named | None = None
    delete: Named | None = None
    kubelet: list[KubeletRule] | None = None
    until: Until | None = None
    snapshot: str | None = None


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file."""

    shows: str
    steps: list[Step]
    #: Names, after the scenario's own: `n1` becomes `rolling-update-n1`.
    nodes: tuple[str, ...] = ("n1",)
    #: Controllers may choose any node first: which it is, is not compared.
    any_node: bool = msgspec.field(default=False, name="anyNode")
    #: The cluster is at rest when nothing has been written for so many seconds.
    quiet: float = 0.6
    name: str = ""

    @property
    def namespace(self) -> str:
        return f"s-{self.name}"


def load(path: Path) -> Scenario:
    """Raises `ValueError` that names file and field."""
    try:
        found = msgspec.convert({**yaml.safe_load(path.read_text()), "name": path.stem}, Scenario)
    except msgspec.ValidationError as error:
        raise ValueError(f"{path}: {error}") from None
    for number, step in enumerate(found.steps):
        if len(msgspec.structs.asdict(step)) - _unset(step) != 1:
            raise ValueError(f"{path}: steps[{number}]: set exactly one of {', '.join(Step.__struct_fields__)}")
    return found


def all_scenarios() -> list[Scenario]:
    return [load(path) for path in sorted(FOLDER.glob("*.yaml"))]


def _unset(step: Step) -> int:
    return sum(getattr(step, field) is None for field in Step.__struct_fields__)
