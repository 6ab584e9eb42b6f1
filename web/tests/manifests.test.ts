// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { namespaceOf, withoutManagedFields } from "../src/manifests";

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

it("finds the namespace in the metadata alone", () => {
  expect(namespaceOf(POD)).toBe("shop");
  expect(namespaceOf("metadata:\n  name: x\nspec:\n  namespace: other\n")).toBe("");
  expect(namespaceOf('metadata:\n    namespace: "quoted"\n')).toBe("quoted");
  expect(namespaceOf('{"metadata": {}}')).toBe("");
});
