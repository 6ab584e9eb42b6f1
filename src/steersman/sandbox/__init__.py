# SPDX-License-Identifier: Apache-2.0
"""`steersman sandbox`: a cluster on this machine that kubectl talks to, without containers.

    async with running_sandbox(SandboxOptions(nodes=20)) as sandbox:
        print(sandbox.kubeconfig)

Puts the embedded cluster, its controllers and kubelets, a scheduler and the API server together in one process and one event
loop.
"""

from steersman.sandbox.options import SandboxOptions
from steersman.sandbox.running import Sandbox, running_sandbox

__all__ = ["Sandbox", "SandboxOptions", "running_sandbox"]
