# SPDX-License-Identifier: Apache-2.0
"""The start of a sandbox in one struct: the options of `steersman sandbox`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from steersman.api.field_check import Validation
from steersman.host import Speed

LOOPBACK: Final = "127.0.0.1"
NO_SCHEDULER: Final = "none"


class SandboxOptions(msgspec.Struct, frozen=True):
    """`files` are manifests and dumps; `scheduler` is "none", "" for the profiles of the configuration as they are, or the name
    under which the scheduler serves pods. `data` None: the cluster lives in memory."""

    files: Sequence[str] = ()
    nodes: int = 0
    node_template: str = ""
    kubelet_policy: str = ""
    config_file: str = ""
    plugins: Sequence[str] = ()
    feature_gates: str = ""
    scheduler: str = ""
    bind_address: str = LOOPBACK
    port: int = 0
    kubeconfig: Path | None = None
    speed: Speed = 1.0
    data: Path | None = None
    seed: int = 0
    #: The directory of a record of what the scheduler is told and decides; "": nothing is recorded.
    record: str = ""
    runs_controllers: bool = True
    #: The port of the web page on loopback, 0: any free one; None: no page is served.
    web_port: int | None = None
    #: What happens to unknown fields in `files`.
    validate: Validation = "warn"
