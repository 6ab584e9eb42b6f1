// SPDX-License-Identifier: Apache-2.0
/** The sections that the script of a report draws: the JSON of `steersman.base.report.page_data`. */

type Value = number | null;

export interface TableData {
  readonly type: "table";
  readonly title: string;
  readonly columns: readonly { readonly title: string; readonly unit: string }[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

export interface LinesData {
  readonly type: "lines";
  readonly unit: string;
  readonly stacked: boolean;
  readonly steps: boolean;
  readonly xTitle: string;
  readonly xUnit: string;
  readonly series: readonly { readonly name: string; readonly x: readonly number[]; readonly y: readonly Value[] }[];
  /** Whether long lines have lost points. */
  readonly thinned: boolean;
}

export interface NamedValues {
  readonly name: string;
  readonly values: readonly Value[];
}

export interface BarsData {
  readonly type: "bars";
  readonly unit: string;
  readonly stacked: boolean;
  readonly categories: readonly string[];
  readonly series: readonly NamedValues[];
}

export interface DistributionData {
  readonly type: "distribution";
  readonly unit: string;
  readonly samples: readonly NamedValues[];
}

export interface HeatMapData {
  readonly type: "heatmap";
  readonly title: string;
  readonly names: readonly string[];
  readonly groups: readonly string[];
  readonly details: readonly string[] | null;
  /** Shares from 0 to 1; null where the node does not exist. */
  readonly before: readonly Value[];
  readonly after: readonly Value[] | null;
}

export type ChartData = LinesData | BarsData | DistributionData | HeatMapData;
export type SectionData = TableData | ChartData;

/** The values of a chart as a table. */
export function tableOf(data: ChartData, title: string): TableData {
  const plain = (text: string) => ({ title: text, unit: "" });
  switch (data.type) {
    case "lines": {
      const columns = [plain("line"), { title: data.xTitle, unit: data.xUnit }, { title: "value", unit: data.unit }];
      const rows = data.series.flatMap((line) => line.x.map((x, at) => [line.name, x, line.y[at] ?? null]));
      return { type: "table", title, columns, rows };
    }
    case "bars": {
      const columns = [plain("of"), ...data.series.map((series) => ({ title: series.name, unit: data.unit }))];
      const rows = data.categories.map((name, at) => [name, ...data.series.map((series) => series.values[at] ?? null)]);
      return { type: "table", title, columns, rows };
    }
    case "distribution": {
      const rows = data.samples.flatMap((sample) => sample.values.map((value) => [sample.name, value]));
      return { type: "table", title, columns: [plain("of"), { title: "value", unit: data.unit }], rows };
    }
    case "heatmap":
      return { type: "table", title, ...nodeTable(data) };
  }
}

function nodeTable({ names, groups, before, after }: HeatMapData): Pick<TableData, "columns" | "rows"> {
  const share = (text: string) => ({ title: text, unit: "%" });
  const first = [{ title: "node", unit: "" }, { title: "group", unit: "" }];
  const told = (node: number) => [names[node] ?? "", groups[node] ?? "", before[node] ?? null];
  if (after === null) return { columns: [...first, share("value")], rows: names.map((_, node) => told(node)) };
  const change = (node: number) => (after[node] ?? 0) - (before[node] ?? 0);
  return { columns: [...first, share("before"), share("after"), share("change")], rows: names.map((_, node) => [...told(node), after[node] ?? null, change(node)]) };
}
