# SPDX-License-Identifier: Apache-2.0
"""`steersman sandbox`: a local cluster for kubectl without containers.

    async with running_sandbox(SandboxOptions(nodes=20)) as sandbox:
        print(sandbox.kubeconfig)

Runs the embedded cluster with controllers, kubelets, scheduler and API server in one process.
`steersman run` serves `web`, its web page, too, so the sandbox itself is imported lazily.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "options": "SandboxOptions",
        "running": "Sandbox running_sandbox",
    },
)
