// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { FIRST_DEPLOYMENT, nodeManifests, withoutManagedFields } from "../src/manifests";

const POD = `apiVersion: v1
kind: Pod
metadata:
  generation: 1
  managedFields:
  - apiVersion: v1
    fieldsV1:
      f:spec: {}
  - apiVersion: v1
    manager: kubelet
  name: web
  namespace: shop
spec:
  managedFields: kept
`;

it("hides what server-side apply keeps, and nothing else", () => {
  const shown = withoutManagedFields(POD);
  expect(shown).toBe("apiVersion: v1\nkind: Pod\nmetadata:\n  generation: 1\n  name: web\n  namespace: shop\nspec:\n  managedFields: kept\n");
  expect(withoutManagedFields("kind: Pod\nmetadata:\n  name: x\n")).toBe("kind: Pod\nmetadata:\n  name: x\n");
});

it("has nodes in three zones and a Deployment to begin with", () => {
  const nodes = nodeManifests(6);
  expect(nodes.match(/^kind: Node$/gm)).toHaveLength(6);
  expect(new Set(nodes.match(/zone: \S+/g))).toEqual(new Set(["zone: zone-a", "zone: zone-b", "zone: zone-c"]));
  expect(FIRST_DEPLOYMENT).toContain("replicas: 6");
});
