// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { flowYaml } from "../src/yaml_flow";
import { yamlParts } from "../src/yaml_parts";

it("writes the arguments of a plugin on one line that is YAML still", () => {
  const args = "scoringStrategy:\n  resources:\n  - name: cpu\n    weight: 1\n  - name: memory\n    weight: 2\n  type: MostAllocated\nignoredResources: []\n";
  expect(flowYaml(args)).toBe("scoringStrategy: {resources: [{name: cpu, weight: 1}, {name: memory, weight: 2}], type: MostAllocated}, ignoredResources: []");
});

it("writes lists of texts, lists of lists, and texts of other forms", () => {
  expect(flowYaml("names:\n  - a\n  - b\nempty:\n")).toBe("names: [a, b], empty:");
  expect(flowYaml("rows:\n-\n  - 1\n  - 2\n")).toBe("rows: [[1, 2]]");
  expect(flowYaml("{type: A}")).toBe("{type: A}");
  expect(flowYaml("")).toBe("");
});

it("colours keys, numbers and comments, and leaves no character out", () => {
  const lines = ["# note", "spec:", "  - name: web", "    replicas: 3", '  "a b": x', "  - plain", "text: 'x: y'", "  url: http://x:80"];
  for (const line of lines) expect(yamlParts(line).map(({ text }) => text).join("")).toBe(line);
  const kinds = (line: string) => yamlParts(line).map(({ kind }) => kind);
  expect(kinds("# note")).toEqual(["comment"]);
  expect(kinds("  - name: web")).toEqual(["mark", "key", "mark", "value"]);
  expect(kinds("replicas: 3")).toEqual(["key", "mark", "literal"]);
  expect(kinds("  - plain")).toEqual(["mark", "value"]);
});
