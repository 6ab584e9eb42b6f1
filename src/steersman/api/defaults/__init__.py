# SPDX-License-Identifier: Apache-2.0
"""Default values of API fields, set on JSON documents as kube-apiserver does.

`kinds` sets the defaults of every built-in kind, `pod_template` those of pod specs.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "kinds": "CLUSTER_IP EXTERNAL_NAME LOAD_BALANCER NAMESPACE_LABEL NODE_PORT with_default_fields",
        "pod_template": (
            "NOT_READY TOLERATION_SECONDS UNREACHABLE with_pod_defaults with_pod_tolerations with_template_defaults"
        ),
        "service_fields": "unavailable_families with_normal_addresses",
        "workloads": "with_workload_defaults",
    },
)
