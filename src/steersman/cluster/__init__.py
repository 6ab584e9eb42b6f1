# SPDX-License-Identifier: Apache-2.0
"""The embedded cluster: a Kubernetes cluster in memory, without containers.

`store` has the objects, with admission, deletion and watches; `kubelets` simulate nodes that run
pods; `controllers` are the controllers of kube-controller-manager; `apiserver` serves the store
over HTTP as kube-apiserver does. Everything is a subscriber of the store.

May import `kube`, `scheduler` and what those may import. The order of the sub-packages is enforced
by import-linter.
"""
