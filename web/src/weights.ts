// SPDX-License-Identifier: Apache-2.0
/** Weights of score plugins, written into the YAML of the configuration in effect, which has all defaults. */

/** Return the configuration with other weights in one profile; 0 disables scoring of the plugin. */
export function withWeights(yaml: string, profile: string, weights: Readonly<Record<string, number>>): string {
  const lines = yaml.split("\n");
  const [begin, end] = pluginLines(lines, profile);
  if (begin < 0) return yaml;
  const section = lines.slice(begin, end);
  for (const [plugin, weight] of Object.entries(weights)) setWeight(section, plugin, weight);
  const off = Object.keys(weights).filter((plugin) => weights[plugin] === 0);
  if (off.length) disable(section, off);
  return [...lines.slice(0, begin), ...section, ...lines.slice(end)].join("\n");
}

/** Return the lines of a profile's `plugins`. */
function pluginLines(lines: readonly string[], profile: string): [number, number] {
  const first = lines.findIndex((line) => line === "profiles:");
  const starts = lines.flatMap((line, at) => (at > first && first >= 0 && /^- /.test(line) ? [at] : []));
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1] ?? lines.length;
    const names = lines.slice(start, end).some((line) => new RegExp(`^[- ] schedulerName: ["']?${escaped(profile)}["']?$`).test(line));
    const begin = lines.findIndex((line, at) => at >= start && at < end && /^[- ] plugins:$/.test(line));
    if (!names || begin < 0) continue;
    const next = lines.findIndex((line, at) => at > begin && /^(?:\S| {2}\S)/.test(line));
    return [begin, next < 0 ? lines.length : next];
  }
  return [-1, -1];
}

/** Change the weight wherever the plugin is enabled with one. */
function setWeight(section: string[], plugin: string, weight: number): void {
  if (weight === 0) return;
  let isEnabled = false;
  section.forEach((line, at) => {
    const next = section[at + 1] ?? "";
    if (/^ +(?:en|dis)abled:/.test(line)) isEnabled = line.trim().startsWith("enabled");
    else if (isEnabled && line.trim() === `- name: ${plugin}` && /^ *weight:/.test(next)) section[at + 1] = next.replace(/weight:.*/, `weight: ${weight}`);
  });
}

/** Disable plugins at the point `score`, and remove them from the enabled ones. */
function disable(section: string[], plugins: readonly string[]): void {
  const at = section.findIndex((line) => /^ {4}score:/.test(line));
  if (at < 0) return;
  section[at] = "    score:";
  let end = section.findIndex((line, place) => place > at && !/^ {5}/.test(line));
  if (end < 0) end = section.length;
  const kept: string[] = [];
  for (let place = at + 1; place < end; place += 1) {
    const name = /^\s*- name: (.*)$/.exec(section[place] ?? "")?.[1];
    if (name && plugins.includes(name)) place += /weight:/.test(section[place + 1] ?? "") ? 1 : 0;
    else kept.push(section[place] ?? "");
  }
  const known = kept.findIndex((line) => line === "      disabled:");
  const added = plugins.map((plugin) => `      - name: ${plugin}`);
  if (known < 0) kept.unshift("      disabled:", ...added);
  else kept.splice(known + 1, 0, ...added);
  const enabled = kept.indexOf("      enabled:");
  if (enabled >= 0 && !/^ {6}- /.test(kept[enabled + 1] ?? "")) kept.splice(enabled, 1);
  section.splice(at + 1, end - at - 1, ...kept);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

const HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n";

/** Configurations to start from, by purpose. */
export function presets(profile: string): { name: string; note: string; yaml: string }[] {
  return [
    { name: "Default", note: "kube-scheduler as it comes: spread by resources, with topology spread", yaml: `${HEADER}- schedulerName: ${profile}\n` },
    { name: "Pack", note: "fill nodes up before others are used, so that nodes can be removed", yaml: strategy(profile, "MostAllocated", "") },
    {
      name: "Spread",
      note: "even load: the emptiest node, and replicas as far apart as possible",
      yaml: strategy(profile, "LeastAllocated", ", {name: PodTopologySpread}", ", {name: PodTopologySpread, weight: 5}"),
    },
  ];
}

function strategy(profile: string, type: string, off: string, on = ""): string {
  return `${HEADER}- schedulerName: ${profile}
  plugins:
    score:
      disabled: [{name: NodeResourcesFit}${off}]
      enabled: [{name: NodeResourcesFit, weight: 10}${on}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: ${type}, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}
`;
}
