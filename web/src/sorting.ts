// SPDX-License-Identifier: Apache-2.0
/** The order of the rows of a table. */
import type { Cell } from "./csv";

export interface SortOrder {
  readonly column: string;
  readonly descending: boolean;
}

const collator = new Intl.Collator("en", { numeric: true });

/**
 * Rows by their values: numbers by size, texts by code points (or, `natural`, "node-2" before "node-10"), what is missing always
 * last. Equal rows keep their order.
 */
export function sortedRows(rows: readonly number[], value: (row: number) => Cell, descending: boolean, natural = false): number[] {
  const keyed = rows.map((row) => ({ row, key: value(row) }));
  const sign = descending ? -1 : 1;
  keyed.sort((one, other) => compare(one.key, other.key, sign, natural));
  return keyed.map(({ row }) => row);
}

function compare(one: Cell, other: Cell, sign: number, natural: boolean): number {
  const [noOne, noOther] = [missing(one), missing(other)];
  if (noOne || noOther) return Number(noOne) - Number(noOther);
  if (typeof one === "number" && typeof other === "number") return sign * (one - other);
  const [left, right] = [String(one), String(other)];
  if (natural) return sign * collator.compare(left, right);
  return left < right ? -sign : left > right ? sign : 0;
}

function missing(cell: Cell): boolean {
  return cell === null || cell === undefined || cell === "";
}

/** Return the sort orders after the reader has chosen another one: the latest comes first, earlier ones break ties. */
export function resorted(orders: readonly SortOrder[], chosen: SortOrder): SortOrder[] {
  return [chosen, ...orders.filter((one) => one.column !== chosen.column)].slice(0, ORDERS_KEPT);
}

const ORDERS_KEPT = 3;
