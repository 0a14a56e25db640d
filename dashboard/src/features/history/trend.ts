/** From stored means to the rows a chart draws. */
import type { Metric, Trend } from "@/client/types";

export type TrendRow = Record<string, number | null>;

const FIELDS: Record<Metric, "avg_time" | "avg_latency" | "avg_energy" | "avg_cost"> = {
  time: "avg_time",
  latency: "avg_latency",
  energy: "avg_energy",
  cost: "avg_cost",
};

/** Whether a stretch has too few tasks yet to stand beside the others. */
const isYoung = (trend: Trend, tasks: number): boolean => tasks < trend.tasks_per_point / 2;

/** One row a point: `x` is the last task of the stretch; on a log axis zero and less cannot be drawn and become gaps. */
export function trendRows(trend: Trend, metric: Metric, names: readonly string[], log: boolean): TrendRow[] {
  return trend.points
    .filter((point) => !isYoung(trend, point.tasks))
    .map((point) => {
      const values = point[FIELDS[metric]];
      const entries = names.map((name): [string, number | null] => {
        const value = values[name] ?? null;
        return [name, value !== null && (!log || value > 0) ? value : null];
      });
      return { x: point.last_task_id, ...Object.fromEntries(entries) };
    });
}

/** The strategies that have a value anywhere. */
export function strategiesOf(trend: Trend): string[] {
  const names = new Set<string>();
  for (const point of trend.points) for (const name of Object.keys(point.avg_time)) names.add(name);
  return [...names];
}
