# SPDX-License-Identifier: Apache-2.0
"""Simulated kubelets: what becomes of pods once they are bound to a node of the embedded cluster.

    kubelets = Kubelets(store, timers)                    # pods that are bound run
    kubelets.crash("n1"); kubelets.recover("n1")          # nothing is heard of n1, and then it is back
    drain(store, "n2")                                    # evicts what budgets allow

Read `kubelets` first: what happens when. `policy` and `behaviour` are what users say, `pod_sync` what containers do, `reports`
and `pod_status` what is written about it.
"""

from steersman.kubelets.behaviour import POD_ANNOTATIONS, RUN_SECONDS, behaviour, check_annotations
from steersman.kubelets.drain import DrainRound, NodeDrain, cordon, drain, uncordon
from steersman.kubelets.kubelets import Kubelets
from steersman.kubelets.nodes import NODE_ANNOTATIONS
from steersman.kubelets.policy import (
    DEFAULT_POLICY,
    SANDBOX_POLICY,
    KubeletPolicy,
    PodSettings,
    PolicyRule,
    PolicySource,
    load_policy,
)

__all__ = [
    "DEFAULT_POLICY",
    "NODE_ANNOTATIONS",
    "POD_ANNOTATIONS",
    "RUN_SECONDS",
    "SANDBOX_POLICY",
    "DrainRound",
    "KubeletPolicy",
    "Kubelets",
    "NodeDrain",
    "PodSettings",
    "PolicyRule",
    "PolicySource",
    "behaviour",
    "check_annotations",
    "cordon",
    "drain",
    "load_policy",
    "uncordon",
]
