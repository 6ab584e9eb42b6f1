# SPDX-License-Identifier: Apache-2.0
"""Controllers of the embedded cluster: kube-controller-manager's, on the store, in virtual or real
time.

`manager` lists and starts them; `controller` is their base class with its queue of keys. The
controllers of claims (`volumes`, `ephemeral_claims`, `resource_claims`) react synchronously, since
pods cannot be scheduled before.

May import `cluster.store`.
"""

from steersman.base import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "autoscaler": "SCALING_ACTIVE",
        "controller": "Cluster Controller controller_of controller_reference find_owner",
        "daemon_pods": "pinned",
        "endpoint_slices": "EndpointSlice",
        "endpoints": "Endpoints",
        "load_curve": "HINT LOAD NOT_A_CURVE parse_curve",
        "manager": "CONTROLLERS start start_claim_controllers",
        "owned_pods": "compiled_selector list_owned_pods",
        "pod_states": "is_active",
        "provisioning": "PROVISIONED_BY new_volume",
        "replica_set_revisions": "POD_TEMPLATE_HASH REVISION new_replica_set",
        "replica_sets": "REPLICA_FAILURE",
        "resource_claims": "ResourceClaimController",
        "stateful_claims": "claim_name template_name",
        "stateful_sets": "awaited_predecessor",
        "volumes": "RELEASED",
    },
)
