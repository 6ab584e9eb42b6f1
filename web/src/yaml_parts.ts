// SPDX-License-Identifier: Apache-2.0
/** Coloured YAML without an editor, which reports do not have. */

export interface YamlPart {
  readonly text: string;
  readonly kind: "key" | "value" | "literal" | "comment" | "mark";
}

const LINE = /^(\s*(?:- )*)([^\s:#'"][^:#]*|"[^"]*"|'[^']*')(:)(?=\s|$)(.*)$/;

/** Return the parts of one line, which together are the line. */
export function yamlParts(line: string): YamlPart[] {
  if (/^\s*#/.test(line)) return [{ text: line, kind: "comment" }];
  const found = LINE.exec(line);
  if (!found) {
    const item = /^(\s*(?:- )+)(.*)$/.exec(line);
    return item ? parts([item[1], "mark"], ...scalar(item[2] ?? "")) : parts(...scalar(line));
  }
  return parts([found[1], "mark"], [found[2], "key"], [found[3], "mark"], ...scalar(found[4] ?? ""));
}

type Pair = readonly [string | undefined, YamlPart["kind"]];

function scalar(text: string): Pair[] {
  return [[text, /^\s*(?:-?\d[\d.]*|true|false|null|~|\{\}|\[\])\s*$/.test(text) ? "literal" : "value"]];
}

function parts(...pairs: readonly Pair[]): YamlPart[] {
  return pairs.flatMap(([text, kind]) => (text ? [{ text, kind }] : []));
}
