// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { ApiError, type Host, type RequestOptions } from "../src/api/host";
import { cordon, drain, parseTaint, scalable, scale, taint } from "../src/cluster_actions";

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** A host that answers GET from a table, notes the other requests, and refuses the paths that it is told to. */
function fakeHost(answers: Readonly<Record<string, unknown>> = {}, refuses: Readonly<Record<string, number>> = {}): Host & { calls: Call[] } {
  const calls: Call[] = [];
  const request = (method: string, path: string, options: RequestOptions = {}): Promise<Response> => {
    calls.push({ method, path, body: options.body === undefined ? undefined : JSON.parse(options.body) });
    const code = refuses[path];
    return code ? Promise.reject(new ApiError("Cannot evict pod as it would violate the pod's disruption budget.", code)) : Promise.resolve(new Response("{}"));
  };
  return {
    calls,
    get: <T>(path: string) => (path in answers ? Promise.resolve(answers[path] as T) : Promise.reject(new ApiError(`no ${path}`, 404))),
    post: async <T>(path: string, body: unknown) => (await request("POST", path, { body: JSON.stringify(body) })).json() as Promise<T>,
    request,
  };
}

it("cordons with true and uncordons by removing the field", async () => {
  const host = fakeHost();
  await cordon(host, "n", true);
  await cordon(host, "n", false);
  expect(host.calls.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["PATCH", "kube/api/v1/nodes/n", { spec: { unschedulable: true } }],
    ["PATCH", "kube/api/v1/nodes/n", { spec: { unschedulable: null } }],
  ]);
});

it("drains a node: cordons it, evicts its pods, leaves those of DaemonSets, and tells which were refused", async () => {
  const pod = (name: string, owner = "ReplicaSet", phase = "Running") => ({ metadata: { name, namespace: "shop", ownerReferences: [{ kind: owner, name: "x", controller: true }] }, status: { phase } });
  const items = [pod("a"), pod("b"), pod("agent", "DaemonSet"), pod("done", "Job", "Succeeded")];
  const host = fakeHost({ "kube/api/v1/pods": { items } }, { "kube/api/v1/namespaces/shop/pods/b/eviction": 429 });
  const said = await drain(host, "n");
  expect(host.calls.map(({ path }) => path)).toEqual(["kube/api/v1/nodes/n", "kube/api/v1/namespaces/shop/pods/a/eviction", "kube/api/v1/namespaces/shop/pods/b/eviction"]);
  expect(said).toContain("1 pod evicted, 1 pod of DaemonSets left");
  expect(said).toContain("1 pod refused, drain again later: Cannot evict pod");
});

it("reads taints as kubectl does", () => {
  expect(parseTaint("a.io/gpu=yes:NoSchedule")).toEqual({ key: "a.io/gpu", value: "yes", effect: "NoSchedule" });
  expect(parseTaint(" gpu:NoExecute ")).toEqual({ key: "gpu", effect: "NoExecute" });
  expect([parseTaint("gpu"), parseTaint("gpu=yes"), parseTaint("gpu:Never"), parseTaint(":NoSchedule")]).toEqual([null, null, null, null]);
});

it("adds a taint in place of one of the same key and effect, and removes it", async () => {
  const taints = [{ key: "a", value: "1", effect: "NoSchedule" }, { key: "a", effect: "NoExecute" }];
  const host = fakeHost({ "kube/api/v1/nodes/n": { spec: { taints } } });
  await taint(host, "n", { key: "a", value: "2", effect: "NoSchedule" });
  await taint(host, "n", { key: "a", effect: "NoSchedule" }, true);
  expect(host.calls.map(({ body }) => body)).toEqual([{ spec: { taints: [taints[1], { key: "a", value: "2", effect: "NoSchedule" }] } }, { spec: { taints: [taints[1]] } }]);
});

it("adds a taint to a node without a spec", async () => {
  const host = fakeHost({ "kube/api/v1/nodes/n": { metadata: { name: "n" } } });
  await taint(host, "n", { key: "a", effect: "NoSchedule" });
  expect(host.calls[0]?.body).toEqual({ spec: { taints: [{ key: "a", effect: "NoSchedule" }] } });
});

it("scales the Deployment above a ReplicaSet, and offers nothing for other owners", async () => {
  const host = fakeHost({
    "kube/apis/apps/v1/namespaces/shop/replicasets/web-5d8": { metadata: { name: "web-5d8", ownerReferences: [{ kind: "Deployment", name: "web", controller: true }] }, spec: { replicas: 3 } },
    "kube/apis/apps/v1/namespaces/shop/deployments/web": { metadata: { name: "web" }, spec: { replicas: 3 } },
  });
  const found = await scalable(host, "ReplicaSet shop/web-5d8");
  expect(found).toEqual({ kind: "Deployment", namespace: "shop", name: "web", replicas: 3 });
  expect(await scalable(host, "Job shop/once")).toBeNull();
  if (found) await scale(host, found, 5);
  expect(host.calls).toEqual([{ method: "PATCH", path: "kube/apis/apps/v1/namespaces/shop/deployments/web", body: { spec: { replicas: 5 } } }]);
});
