# SPDX-License-Identifier: Apache-2.0
"""Controllers of the embedded cluster: kube-controller-manager's, on the store, in virtual or real time.

`manager` lists and starts them; `controller` is their base class with its queue of keys. The controllers of claims
(`volumes`, `ephemeral_claims`, `resource_claims`) react synchronously, since pods cannot be scheduled before.

May import `cluster.store`.
"""

from typing import TYPE_CHECKING

from steersman.base import lazy_exports

__all__: list[str]
if TYPE_CHECKING:
    from steersman.cluster.controllers.autoscaler import SCALING_ACTIVE as SCALING_ACTIVE
    from steersman.cluster.controllers.controller import (
        Cluster as Cluster,
        Controller as Controller,
        controller_of as controller_of,
        controller_reference as controller_reference,
    )
    from steersman.cluster.controllers.daemon_pods import pinned as pinned
    from steersman.cluster.controllers.endpoint_slices import EndpointSlice as EndpointSlice
    from steersman.cluster.controllers.endpoints import Endpoints as Endpoints
    from steersman.cluster.controllers.load_curve import (
        HINT as HINT,
        LOAD as LOAD,
        NOT_A_CURVE as NOT_A_CURVE,
        parse_curve as parse_curve,
    )
    from steersman.cluster.controllers.manager import (
        CONTROLLERS as CONTROLLERS,
        start as start,
        start_claim_controllers as start_claim_controllers,
    )
    from steersman.cluster.controllers.owned_pods import (
        compiled_selector as compiled_selector,
        list_owned_pods as list_owned_pods,
    )
    from steersman.cluster.controllers.pod_states import is_active as is_active
    from steersman.cluster.controllers.provisioning import PROVISIONED_BY as PROVISIONED_BY, new_volume as new_volume
    from steersman.cluster.controllers.replica_set_revisions import (
        POD_TEMPLATE_HASH as POD_TEMPLATE_HASH,
        REVISION as REVISION,
        new_replica_set as new_replica_set,
    )
    from steersman.cluster.controllers.replica_sets import REPLICA_FAILURE as REPLICA_FAILURE
    from steersman.cluster.controllers.resource_claims import ResourceClaimController as ResourceClaimController
    from steersman.cluster.controllers.stateful_claims import claim_name as claim_name, template_name as template_name
    from steersman.cluster.controllers.stateful_sets import awaited_predecessor as awaited_predecessor
    from steersman.cluster.controllers.volumes import RELEASED as RELEASED
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "autoscaler": "SCALING_ACTIVE",
            "controller": "Cluster Controller controller_of controller_reference",
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
