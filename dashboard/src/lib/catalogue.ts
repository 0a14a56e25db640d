/** The catalogue of metrics: the very file from which tables, reports and the glossary are made. */

import type { Comparison } from "@/client/types";
import declared from "../../../src/hybrid_ml_scheduler/plans/metrics.json";
import { count, digits, dollars, gap, joules, NOTHING, percent, seconds } from "./format";

export interface CatalogueMetric {
  key: string;
  title: string;
  short: string;
  unit: string;
  better: string;
  meaning: string;
  computed: string;
  /** Its name in a live update. */
  wire?: string;
  /** The name of a single task's value. */
  task?: string;
}

type Shown = number | null | undefined;

const METRICS: ReadonlyMap<string, CatalogueMetric> = new Map(
  declared.metrics.map((metric: CatalogueMetric) => [metric.key, metric]),
);

export function metricOf(key: string): CatalogueMetric {
  const found = METRICS.get(key);
  if (!found) throw new Error(`The catalogue has no metric ${key}.`);
  return found;
}

/** The metrics that stand in one place, in their order. */
export function listed(place: keyof typeof declared.lists): readonly CatalogueMetric[] {
  return declared.lists[place].map(metricOf);
}

/** What is measured, without the word mean: `Latency` of `Mean latency`. */
export function quantity(metric: CatalogueMetric): string {
  const bare = metric.title.replace(/^Mean /, "");
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}

/** A strategy's value; null where there is none yet, or only a lower end. */
export function figureOf(metric: CatalogueMetric, row: Comparison): number | null {
  if (row.at_least && (metric.wire ?? "") in row.at_least) return null;
  const value: unknown = (row as unknown as Record<string, unknown>)[metric.wire ?? ""];
  return typeof value === "number" ? value : null;
}

const FORMATS: Record<string, (value: Shown) => string> = {
  s: seconds,
  J: joules,
  $: dollars,
  tasks: count,
  "%": (value) => percent(value),
  "×": (value) => (value == null ? NOTHING : `${digits(value)} ×`),
};

export function formatOf(metric: CatalogueMetric): (value: Shown) => string {
  return metric.key.endsWith("_gap") ? gap : (FORMATS[metric.unit] ?? count);
}
