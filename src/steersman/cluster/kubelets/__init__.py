# SPDX-License-Identifier: Apache-2.0
"""Simulated kubelets: the behaviour of pods that are bound to a node of the embedded cluster.

    kubelets = Kubelets(store, timers)                    # bound pods run
    kubelets.crash("n1"); kubelets.recover("n1")          # the kubelet of n1 stops and restarts
    drain(store, "n2")                                    # evicts pods as far as budgets allow

Read `kubelets` first. `policy`, `stages` and `behaviour` have the settings of users, `pod_sync` the
states of containers, `reports` and `pod_status` the statuses that are written.
"""

from steersman.base import lazy_exports
from steersman.cluster.kubelets.behaviour import behaviour as behaviour
from steersman.cluster.kubelets.drain import drain as drain

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "behaviour": "POD_ANNOTATIONS PREFIX RUN_SECONDS behaviour check_annotations",
        "drain": "DrainRound MIRROR_POD NodeDrain ROUND_SECONDS cordon drain uncordon",
        "durations": "MAX_SECONDS RandomDuration parse_duration",
        "kubelets": "Kubelets",
        "nodes": "NODE_ANNOTATIONS PRICE_PER_HOUR",
        "pod_sync": "is_replaced",
        "policy": (
            "DEFAULT_POLICY KubeletPolicy POLICY_KIND PodSettings PolicyRule PolicySource SANDBOX_POLICY load_policy"
        ),
    },
)
