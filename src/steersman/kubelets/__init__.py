# SPDX-License-Identifier: Apache-2.0
"""Simulated kubelets: what becomes of pods once they are bound to a node of the embedded cluster.

Kubelets(store, timers)                               # pods that are bound run
"""

from steersman.kubelets.kubelets import RUN_SECONDS, Kubelets, run_seconds

__all__ = ["RUN_SECONDS", "Kubelets", "run_seconds"]
