// SPDX-License-Identifier: Apache-2.0
/** Numbers, quantities and times in readable form. */

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"] as const;

/** Format an amount of a resource: cpu in cores, memory and storage in binary units, others unchanged. */
export function quantity(resource: string, amount: number): string {
  if (resource === "cpu") return cores(amount);
  if (isBytes(resource)) return bytes(amount);
  return grouped(amount);
}

export function isBytes(resource: string): boolean {
  return resource === "memory" || resource.endsWith("storage") || resource.startsWith("hugepages-");
}

/** Format millicores as cores: `250m`, `1.5`, `64`. */
export function cores(millicores: number): string {
  if (Math.abs(millicores) < 1000) return millicores === 0 ? "0" : `${trimmed(millicores)}m`;
  return trimmed(millicores / 1000);
}

export function bytes(amount: number): string {
  let value = amount;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < BINARY.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${trimmed(value)}${BINARY[unit] ?? ""}`;
}

/** Format with at most one decimal, none above a hundred, and thousands separators. */
export function trimmed(value: number): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : 1;
  const text = grouped(Number(value.toFixed(digits)));
  return text;
}

/** Format a number of a chart: two significant digits if it is not an integer. */
export function measured(value: number): string {
  return Math.abs(value) < 1 ? String(Number(value.toPrecision(2))) : trimmed(value);
}

export function grouped(value: number): string {
  const [whole = "", part] = String(value).split(".");
  const set = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return part === undefined ? set : `${set}.${part}`;
}

export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return "–";
  const share = (100 * part) / whole;
  return `${share > 0 && share < 1 ? "<1" : Math.round(share)} %`;
}

/** Format a duration in its two largest units: `3 h 20 min`, `45 s`, `120 ms`. */
export function duration(seconds: number): string {
  const span = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "";
  if (span < 0.0005) return "0 s";
  if (span < 1) return `${sign}${Math.round(span * 1000)} ms`;
  if (span < 10) return `${sign}${trimmed(span)} s`;
  if (span < 60) return `${sign}${Math.round(span)} s`;
  const units: readonly [number, string][] = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  const first = units.findIndex(([size]) => span >= size);
  const [size, name] = units[first] ?? [1, "s"];
  const next = units[first + 1];
  const whole = Math.floor(span / size);
  const rest = next ? Math.floor((span - whole * size) / next[0]) : 0;
  return `${sign}${whole} ${name}${next && rest ? ` ${rest} ${next[1]}` : ""}`;
}

/** Format a value of a report with its unit: "%" for shares, "s", "B", or a noun; a dash for a missing value. */
export function withUnit(value: string | number | null, unit: string): string {
  if (value === null) return "–";
  if (typeof value === "string") return value;
  if (unit === "%") return `${Number((100 * value).toFixed(Math.abs(value) < 0.1 ? 1 : 0))} %`;
  if (unit === "s") return duration(value);
  if (unit === "B") return bytes(value);
  return `${grouped(Number(Math.abs(value) < 1 ? value.toPrecision(3) : value.toFixed(2)))}${unit && ` ${unit}`}`;
}

/** Return distances of ticks that are round numbers of a unit; undefined for decimal units. */
export function stepsOf(unit: string): number[] | undefined {
  if (unit === "s") return [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  return unit === "B" ? Array.from({ length: 60 }, (_, power) => 2 ** power) : undefined;
}

/** Format the time of day in UTC, as in logs. */
export function clockTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(11, 19);
}

/** Format the time of day in UTC with milliseconds; timestamps of objects have whole seconds. */
export function preciseTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(11, Number.isInteger(seconds) ? 19 : 23);
}

/** Format date and time in UTC. */
export function dateTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** Format a count: `1 pod`, `2 pods`. */
export function count(number: number, noun: string): string {
  return `${grouped(number)} ${plural(number, noun)}`;
}

/** Return the singular or plural: `pod`, `pods`. */
export function plural(number: number, noun: string): string {
  return `${noun}${number === 1 ? "" : "s"}`;
}
