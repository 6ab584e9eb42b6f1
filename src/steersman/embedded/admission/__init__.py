# SPDX-License-Identifier: Apache-2.0
"""Admission: the changes that an API server makes to an object before it stores it, and the scheduler sees it.

`KubeAdmission` is given to a `Store`, which asks it about every object that is created or updated: fields that were left out
are filled in, and pods get the priority of their class. Objects that a real API server has admitted before pass unchanged.

Not done: tokens of service accounts, the taint that keeps pods off new nodes until a controller removes it, validation and
webhooks.
"""

from steersman.embedded.admission.kube_admission import KubeAdmission, in_creation_order

__all__ = ["KubeAdmission", "in_creation_order"]
