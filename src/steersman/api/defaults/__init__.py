# SPDX-License-Identifier: Apache-2.0
"""Default values of API fields, set on JSON documents as kube-apiserver does.

`kinds` sets the defaults of every built-in kind, `pod_template` those of pod specs.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.api.defaults.kinds import (
        CLUSTER_IP as CLUSTER_IP,
        EXTERNAL_NAME as EXTERNAL_NAME,
        LOAD_BALANCER as LOAD_BALANCER,
        NODE_PORT as NODE_PORT,
        with_default_fields as with_default_fields,
    )
    from steersman.api.defaults.pod_template import (
        NOT_READY as NOT_READY,
        TOLERATION_SECONDS as TOLERATION_SECONDS,
        UNREACHABLE as UNREACHABLE,
        with_pod_defaults as with_pod_defaults,
        with_template_defaults as with_template_defaults,
    )
    from steersman.api.defaults.service_fields import (
        unavailable_families as unavailable_families,
        with_normal_addresses as with_normal_addresses,
    )
    from steersman.api.defaults.workloads import with_workload_defaults as with_workload_defaults
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "kinds": "CLUSTER_IP EXTERNAL_NAME LOAD_BALANCER NODE_PORT with_default_fields",
            "pod_template": ("NOT_READY TOLERATION_SECONDS UNREACHABLE with_pod_defaults with_template_defaults"),
            "service_fields": "unavailable_families with_normal_addresses",
            "workloads": "with_workload_defaults",
        },
    )
