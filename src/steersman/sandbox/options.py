# SPDX-License-Identifier: Apache-2.0
"""Options of `steersman sandbox`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from steersman.api import Validation
from steersman.scheduler.host import Speed

LOOPBACK: Final = "127.0.0.1"
NO_SCHEDULER: Final = "none"


class SandboxOptions(msgspec.Struct, frozen=True):
    """Options of a sandbox. `files` are manifests and dumps; `scheduler` is "none", "" for the
    configured profiles, or the scheduler's name. `data` None keeps the cluster in memory."""

    files: Sequence[str] = ()
    nodes: int = 0
    node_template: str = ""
    kubelet_policy: str = ""
    config_file: str = ""
    plugins: Sequence[str] = ()
    feature_gates: str = ""
    emulated_version: str = ""
    scheduler: str = ""
    bind_address: str = LOOPBACK
    port: int = 0
    kubeconfig: Path | None = None
    speed: Speed = 1.0
    data: Path | None = None
    seed: int = 0
    #: Directory of a record of the scheduler's inputs and decisions; "" for none.
    record: str = ""
    runs_controllers: bool = True
    #: Port of the web page on loopback, 0 for any free one; None for no page.
    web_port: int | None = None
    #: Handling of unknown fields in `files`.
    validate: Validation = "warn"
