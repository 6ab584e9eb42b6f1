// SPDX-License-Identifier: Apache-2.0
/**
 * Block YAML, as written by the server, on one line: `scoringStrategy: {type: LeastAllocated, resources: [{name:
 * cpu}]}`.
 */

interface Line {
  readonly indent: number;
  readonly text: string;
}

/** Return the fields of a mapping on one line; return other texts unchanged. */
export function flowYaml(yaml: string): string {
  const lines: Line[] = yaml
    .split("\n")
    .filter((line) => line.trim() && !line.trimStart().startsWith("#"))
    .map((line) => ({ indent: line.length - line.trimStart().length, text: line.trim() }));
  return flow(lines).replace(/^\{(.*)\}$/s, "$1");
}

function flow(lines: readonly Line[]): string {
  const [first] = lines;
  if (!first) return "";
  const isList = first.text === "-" || first.text.startsWith("- ");
  if (!isList && !/^[^\s].*?:(\s|$)/.test(first.text)) return lines.map(({ text }) => text).join(" ");
  const parts = blocks(lines, first.indent, isList).map(isList ? item : field);
  return isList ? `[${parts.join(", ")}]` : `{${parts.join(", ")}}`;
}

/** Return every entry with the lines below it; items of a list may have the indentation of its key. */
function blocks(lines: readonly Line[], indent: number, isList: boolean): Line[][] {
  const found: Line[][] = [];
  for (const line of lines) {
    const begins = line.indent <= indent && (isList || !/^-(\s|$)/.test(line.text));
    if (begins || !found.length) found.push([line]);
    else found.at(-1)?.push(line);
  }
  return found;
}

function item([first, ...rest]: readonly Line[]): string {
  if (!first) return "";
  const text = first.text.replace(/^-\s*/, "");
  const indent = first.indent + first.text.length - text.length;
  return flow(text ? [{ indent, text }, ...rest] : rest);
}

function field([first, ...rest]: readonly Line[]): string {
  return !first || !rest.length ? (first?.text ?? "") : `${first.text} ${flow(rest)}`;
}
