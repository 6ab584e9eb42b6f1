// SPDX-License-Identifier: Apache-2.0
/** Manifests as text, as far as the page reads them; the server parses the rest. */

/** Return a manifest as kubectl shows it, without the managed fields of server-side apply. */
export function withoutManagedFields(yaml: string): string {
  const lines = yaml.split("\n");
  const begin = lines.findIndex((line) => /^ {2}managedFields:/.test(line));
  if (begin < 0) return yaml;
  let end = begin + 1;
  while (end < lines.length && /^(?: {3}| {2}-)/.test(lines[end] ?? "")) end += 1;
  return [...lines.slice(0, begin), ...lines.slice(end)].join("\n");
}

/** A first Deployment: small enough for any node, large enough to be visible on the map. */
export const FIRST_DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
spec:
  replicas: 6
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: nginx
          resources:
            requests: {cpu: 500m, memory: 512Mi}
`;

/** Nodes in three zones. */
export function nodeManifests(number: number): string {
  const room = `{cpu: "8", memory: 32Gi, pods: "110"}`;
  const one = (index: number): string => `apiVersion: v1
kind: Node
metadata:
  name: node-${index}
  labels:
    kubernetes.io/hostname: node-${index}
    topology.kubernetes.io/zone: zone-${"abc"[index % 3] ?? "a"}
status:
  capacity: ${room}
  allocatable: ${room}
`;
  return Array.from({ length: number }, (_, index) => one(index)).join("---\n");
}
