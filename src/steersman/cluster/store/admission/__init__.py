# SPDX-License-Identifier: Apache-2.0
"""Admission: changes and checks of an object by the API server before it is stored.

`KubeAdmission` is passed to a `Store`, which calls it for every created or updated object: it adds
defaults and resolves pod priorities. Objects that a real API server has already admitted pass
unchanged. Not implemented: service account tokens, the taint on new nodes until a controller
removes it, validation and webhooks.
"""

from steersman.cluster.store.admission.kube_admission import KubeAdmission, in_creation_order

__all__ = ["KubeAdmission", "in_creation_order"]
