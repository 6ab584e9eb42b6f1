# SPDX-License-Identifier: Apache-2.0
"""Simulated kubelets: the behaviour of pods that are bound to a node of the embedded cluster.

    kubelets = Kubelets(store, timers)                    # bound pods run
    kubelets.crash("n1"); kubelets.recover("n1")          # the kubelet of n1 stops and restarts
    drain(store, "n2")                                    # evicts pods as far as budgets allow

Read `kubelets` first. `policy`, `stages` and `behaviour` have the settings of users, `pod_sync` the
states of containers, `reports` and `pod_status` the statuses that are written.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports
from steersman.cluster.kubelets.behaviour import behaviour as behaviour
from steersman.cluster.kubelets.drain import drain as drain

__all__: list[str]
if TYPE_CHECKING:
    from steersman.cluster.kubelets.behaviour import (
        POD_ANNOTATIONS as POD_ANNOTATIONS,
        PREFIX as PREFIX,
        RUN_SECONDS as RUN_SECONDS,
        check_annotations as check_annotations,
    )
    from steersman.cluster.kubelets.drain import (
        MIRROR_POD as MIRROR_POD,
        ROUND_SECONDS as ROUND_SECONDS,
        DrainRound as DrainRound,
        NodeDrain as NodeDrain,
        cordon as cordon,
        uncordon as uncordon,
    )
    from steersman.cluster.kubelets.durations import (
        MAX_SECONDS as MAX_SECONDS,
        RandomDuration as RandomDuration,
        parse_duration as parse_duration,
    )
    from steersman.cluster.kubelets.kubelets import Kubelets as Kubelets
    from steersman.cluster.kubelets.nodes import NODE_ANNOTATIONS as NODE_ANNOTATIONS, PRICE_PER_HOUR as PRICE_PER_HOUR
    from steersman.cluster.kubelets.pod_sync import is_replaced as is_replaced
    from steersman.cluster.kubelets.policy import (
        DEFAULT_POLICY as DEFAULT_POLICY,
        POLICY_KIND as POLICY_KIND,
        SANDBOX_POLICY as SANDBOX_POLICY,
        KubeletPolicy as KubeletPolicy,
        PodSettings as PodSettings,
        PolicyRule as PolicyRule,
        PolicySource as PolicySource,
        load_policy as load_policy,
    )
else:
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
                "DEFAULT_POLICY KubeletPolicy POLICY_KIND PodSettings PolicyRule "
                "PolicySource SANDBOX_POLICY load_policy"
            ),
        },
    )
