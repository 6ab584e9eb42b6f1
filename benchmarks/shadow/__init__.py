# SPDX-License-Identifier: Apache-2.0
"""`make shadow-check`: a shadow beside the real kube-scheduler, on the race's workloads. Every decision must be explained.

Two runs on one real API server: the workloads one after the other with kube-scheduler's own sampling, pods created as fast
as they can be; and pods one at a time with sampling off in both, where every decision must be the same or a tie. With
`--weights` the other scheduler gives other weights to its plugins, and the shadow must find that.
"""
