# SPDX-License-Identifier: Apache-2.0
"""Controllers of the embedded cluster: what kube-controller-manager does, on the store, in virtual or real time."""

from steersman.controllers.controller import Cluster, Controller
from steersman.controllers.manager import CONTROLLERS, start

__all__ = ["CONTROLLERS", "Cluster", "Controller", "start"]
