/** What strategies are compared by: one list for the race, the trend and the matrices. */
import type { Comparison, Metric } from "@/client/types";
import { figureOf, formatOf, listed, quantity } from "./catalogue";

export type RaceMetric = "time" | "latency" | "energy" | "cost" | "makespan";

export interface MetricCard {
  key: RaceMetric;
  /** Its name in an update. */
  wire: string;
  label: string;
  short: string;
  of: (row: Comparison) => number | null;
  format: (value: number | null | undefined) => string;
  meaning: string;
}

export const METRICS: readonly MetricCard[] = listed("live_race").map((metric) => ({
  key: (metric.task ?? metric.wire) as RaceMetric,
  wire: metric.wire ?? metric.key,
  label: quantity(metric),
  short: metric.short,
  of: (row) => figureOf(metric, row),
  format: formatOf(metric),
  meaning: metric.meaning,
}));

/** The metrics that exist for every single task. */
export const TASK_METRICS: readonly Metric[] = ["time", "latency", "energy", "cost"];

export function metricCard(key: string | null): MetricCard {
  return (METRICS.find((card) => card.key === key) ?? METRICS[1]) as MetricCard;
}

export function isTaskMetric(key: string | null): key is Metric {
  return TASK_METRICS.some((metric) => metric === key);
}
