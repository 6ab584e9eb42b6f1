// SPDX-License-Identifier: Apache-2.0
/** Actions of kubectl on a sandbox, through its Kubernetes API: cordon, drain, taint, scale, evict, delete. */
import { ApiError, type Host, pathOf } from "./api/host";
import { count } from "./formats";
import type { Taint } from "./api/types";

const MERGE = "application/merge-patch+json";
/** Kinds of the group apps with replicas, and their plurals. */
const SCALABLE: Readonly<Record<string, string>> = { Deployment: "deployments", ReplicaSet: "replicasets", StatefulSet: "statefulsets" };

interface Meta {
  name: string;
  namespace?: string;
  annotations?: Record<string, string>;
  ownerReferences?: { kind: string; name: string; controller?: boolean }[];
}

export interface Workload {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
}

const node = (name: string): string => `kube/api/v1/nodes/${pathOf(name)}`;
const pod = (namespace: string, name: string): string => `kube/api/v1/namespaces/${pathOf(namespace)}/pods/${pathOf(name)}`;
const workload = (kind: string, namespace: string, name: string): string => `kube/apis/apps/v1/namespaces/${pathOf(namespace)}/${SCALABLE[kind] ?? ""}/${pathOf(name)}`;

async function patch(host: Host, path: string, body: object): Promise<void> {
  await host.request("PATCH", path, { body: JSON.stringify(body), contentType: MERGE });
}

export async function cordon(host: Host, name: string, cordoned: boolean): Promise<string> {
  await patch(host, node(name), { spec: { unschedulable: cordoned || null } });
  return cordoned ? `${name} is cordoned: no new pods are placed here.` : `${name} takes pods again.`;
}

/**
 * Evict the pods of a node like `kubectl drain --ignore-daemonsets --force --delete-emptydir-data`; budgets may refuse
 * some.
 */
export async function drain(host: Host, name: string): Promise<string> {
  await cordon(host, name, true);
  const found = await host.get<{ items: { metadata: Meta; status?: { phase?: string } }[] }>("kube/api/v1/pods", { fieldSelector: `spec.nodeName=${name}` });
  const pods = found.items.filter(({ metadata, status }) => isEvicted(metadata, status?.phase ?? ""));
  const refusals: string[] = [];
  for (const { metadata } of pods) {
    try {
      await evict(host, metadata.namespace ?? "default", metadata.name);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code !== 404) refusals.push(error.message);
    }
  }
  const kept = found.items.filter(({ metadata }) => isDaemon(metadata)).length;
  const said = `${name} is cordoned, ${count(pods.length - refusals.length, "pod")} evicted${kept ? `, ${count(kept, "pod")} of DaemonSets left` : ""}.`;
  return refusals.length ? `${said} ${count(refusals.length, "pod")} refused, drain again later: ${refusals[0]}` : said;
}

function isDaemon(meta: Meta): boolean {
  return meta.ownerReferences?.some((owner) => owner.controller && owner.kind === "DaemonSet") ?? false;
}

function isEvicted(meta: Meta, phase: string): boolean {
  return !isDaemon(meta) && !meta.annotations?.["kubernetes.io/config.mirror"] && phase !== "Succeeded" && phase !== "Failed";
}

export async function evict(host: Host, namespace: string, name: string): Promise<string> {
  await host.post(`${pod(namespace, name)}/eviction`, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } });
  return `${namespace}/${name} is evicted.`;
}

/** Parse `key=value:Effect`; null if it is no taint. */
export function parseTaint(text: string): Taint | null {
  const found = /^([\w./-]+)(?:=([\w.-]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text.trim());
  return found ? { key: found[1] ?? "", effect: found[3] ?? "", ...(found[2] ? { value: found[2] } : {}) } : null;
}

/** Add a taint, replacing one of the same key and effect; or remove it. */
export async function taint(host: Host, name: string, change: Taint, remove = false): Promise<string> {
  const { spec } = await host.get<{ spec?: { taints?: Taint[] } }>(node(name));
  const others = (spec?.taints ?? []).filter((one) => one.key !== change.key || one.effect !== change.effect);
  await patch(host, node(name), { spec: { taints: remove ? others : [...others, change] } });
  return `${name} ${remove ? "lost" : "has"} the taint ${change.key}:${change.effect}.`;
}

export async function deleteNode(host: Host, name: string): Promise<string> {
  await host.request("DELETE", node(name));
  return `${name} is deleted.`;
}

export async function deletePod(host: Host, namespace: string, name: string): Promise<string> {
  await host.request("DELETE", pod(namespace, name));
  return `${namespace}/${name} is deleted.`;
}

/** Return the workload to scale for an owner such as `ReplicaSet default/web-5d8`; null if there is none. */
export async function scalable(host: Host, owner: string): Promise<Workload | null> {
  const [kind = "", place = ""] = owner.split(" ");
  const [namespace = "", name = ""] = place.split("/");
  if (!SCALABLE[kind]) return null;
  const found = await host.get<{ metadata: Meta; spec?: { replicas?: number } }>(workload(kind, namespace, name));
  const above = found.metadata.ownerReferences?.find((one) => one.controller && SCALABLE[one.kind]);
  return above ? scalable(host, `${above.kind} ${namespace}/${above.name}`) : { kind, namespace, name, replicas: found.spec?.replicas ?? 1 };
}

export async function scale(host: Host, { kind, namespace, name }: Workload, replicas: number): Promise<string> {
  await patch(host, workload(kind, namespace, name), { spec: { replicas } });
  return `${kind} ${namespace}/${name} is scaled to ${replicas}.`;
}
