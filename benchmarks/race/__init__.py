# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler and Steersman in turn on one real API server: the same nodes, the same pods waiting."""
