/** What strategies are compared by: one list for the race, the trend and the matrices. */
import type { Comparison, Metric } from "@/client/types";
import { dollars, joules, seconds } from "./format";

export type RaceMetric = "time" | "latency" | "energy" | "cost" | "makespan";

export interface MetricCard {
  key: RaceMetric;
  label: string;
  short: string;
  of: (row: Comparison) => number | null;
  format: (value: number | null | undefined) => string;
  meaning: string;
}

export const METRICS: readonly MetricCard[] = [
  {
    key: "time",
    label: "Execution time",
    short: "Time",
    of: (row) => row.avg_time,
    format: seconds,
    meaning: "Mean seconds a task runs, as if its devices were free. Queues do not count.",
  },
  {
    key: "latency",
    label: "Latency",
    short: "Latency",
    of: (row) => row.avg_latency,
    format: seconds,
    meaning: "Mean seconds from arrival to finish. Queues count.",
  },
  {
    key: "energy",
    label: "Energy",
    short: "Energy",
    of: (row) => row.avg_energy,
    format: joules,
    meaning: "Mean joules of busy device time for a task.",
  },
  {
    key: "cost",
    label: "Cost",
    short: "Cost",
    of: (row) => row.avg_cost,
    format: dollars,
    meaning: "Mean price of a task at the plan's rates. A µ$ is a millionth of a dollar.",
  },
  {
    key: "makespan",
    label: "Makespan",
    short: "Makespan",
    of: (row) => row.makespan,
    format: seconds,
    meaning: "Simulated seconds from the beginning of the window to its last finish so far.",
  },
];

/** The metrics that exist for every single task. */
export const TASK_METRICS: readonly Metric[] = ["time", "latency", "energy", "cost"];

export function metricCard(key: string | null): MetricCard {
  return (METRICS.find((card) => card.key === key) ?? METRICS[1]) as MetricCard;
}

export function isTaskMetric(key: string | null): key is Metric {
  return TASK_METRICS.some((metric) => metric === key);
}
