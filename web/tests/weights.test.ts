// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest";
import { presets, withWeights } from "../src/weights";

const profile = (name: string, score = "    score: {}"): string => `- pluginConfig:
  - args:
      scoringStrategy:
        resources:
        - name: cpu
          weight: 1
    name: NodeResourcesFit
  plugins:
    filter: {}
    multiPoint:
      enabled:
      - name: TaintToleration
        weight: 3
      - name: NodeResourcesFit
        weight: 1
${score}
  schedulerName: ${name}
`;
const configuration = (...profiles: readonly string[]): string => `apiVersion: kubescheduler.config.k8s.io/v1\nprofiles:\n${profiles.join("")}`;

it("sets the weight of a plugin and of no resource", () => {
  const changed = withWeights(configuration(profile("one")), "one", { NodeResourcesFit: 7 });
  expect(changed).toBe(configuration(profile("one").replace("      - name: NodeResourcesFit\n        weight: 1", "      - name: NodeResourcesFit\n        weight: 7")));
});

it("changes one profile of several", () => {
  const changed = withWeights(configuration(profile("one"), profile("two")), "two", { TaintToleration: 9 });
  expect(changed).toBe(configuration(profile("one"), profile("two").replace("weight: 3", "weight: 9")));
});

it("takes a plugin with weight 0 out of scoring, not out of filtering", () => {
  const changed = withWeights(configuration(profile("one")), "one", { NodeResourcesFit: 0 });
  expect(changed).toBe(configuration(profile("one", "    score:\n      disabled:\n      - name: NodeResourcesFit")));
});

it("takes out a plugin that the point score enables, and keeps what it disables", () => {
  const score = "    score:\n      disabled:\n      - name: ImageLocality\n        weight: 0\n      enabled:\n      - name: NodeResourcesFit\n        weight: 5";
  const changed = withWeights(configuration(profile("one", score)), "one", { NodeResourcesFit: 0 });
  expect(changed).toBe(configuration(profile("one", "    score:\n      disabled:\n      - name: NodeResourcesFit\n      - name: ImageLocality\n        weight: 0")));
});

it("leaves the entries of disabled plugins as they are", () => {
  const score = (weight: number) => `    score:\n      disabled:\n      - name: NodeResourcesFit\n        weight: 0\n      enabled:\n      - name: NodeResourcesFit\n        weight: ${weight}`;
  const changed = withWeights(configuration(profile("one", score(5))), "one", { NodeResourcesFit: 8 });
  expect(changed).toContain(score(8));
});

it("leaves a text alone that has no such profile", () => {
  expect(withWeights(configuration(profile("one")), "two", { NodeResourcesFit: 7 })).toBe(configuration(profile("one")));
});

it("has presets for the profile of the cluster that pack and spread", () => {
  const [plain, pack, spread] = presets("mine");
  for (const preset of [plain, pack, spread]) expect(preset?.yaml).toContain("schedulerName: mine\n");
  expect(pack?.yaml).toContain("MostAllocated");
  expect(spread?.yaml).toContain("LeastAllocated");
});
