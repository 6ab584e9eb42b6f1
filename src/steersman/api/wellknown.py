# SPDX-License-Identifier: Apache-2.0
"""Names and values reserved by Kubernetes: node labels, phases, conditions, event types."""

from typing import Final

DEFAULT_NAMESPACE: Final = "default"
#: Scheduler of pods without a scheduler name.
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
REGION_LABEL: Final = "topology.kubernetes.io/region"
#: Deprecated names of the zone and region labels.
BETA_ZONE_LABEL: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION_LABEL: Final = "failure-domain.beta.kubernetes.io/region"

#: Phases of pods whose containers have all terminated and will not restart.
FINISHED_PHASES: Final = ("Succeeded", "Failed")
#: Pod condition for whether the pod is scheduled.
POD_SCHEDULED: Final = "PodScheduled"

#: Types of events.
EVENT_NORMAL: Final = "Normal"
EVENT_WARNING: Final = "Warning"
