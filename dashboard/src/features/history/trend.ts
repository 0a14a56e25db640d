/** From stored means to the rows a chart draws. */
import { clockTicks } from "@/charts/axes";
import { gapsIn, isAtOnce, reachOf } from "@/charts/series";
import type { Metric, Trend } from "@/client/types";
import { clock } from "@/lib/format";

/** The axis that all charts of the history share. */
export const TIME_AXIS = {
  title: "simulated time",
  format: clock,
  ticks: clockTicks,
  words: "up to",
} as const;

export type TrendRow = Record<string, number | null>;

const FIELDS: Record<Metric, "avg_time" | "avg_latency" | "avg_energy" | "avg_cost"> = {
  time: "avg_time",
  latency: "avg_latency",
  energy: "avg_energy",
  cost: "avg_cost",
};

/** Whether a stretch has too few tasks yet to stand beside the others. */
const isYoung = (trend: Trend, tasks: number): boolean => tasks < trend.tasks_per_point / 2;

/** One row a point: `x` is simulated time, or the place of the last task where all came at once; on a log axis zero and less cannot be drawn and become gaps. */
export function trendRows(trend: Trend, metric: Metric, names: readonly string[], log: boolean): TrendRow[] {
  const first = trend.points[0]?.first_task_id ?? 0;
  const placeOf = isAtOnce(trend)
    ? (point: Trend["points"][number]): number => point.last_task_id - first
    : (point: Trend["points"][number]): number => point.simulated_time_s;
  const rows = trend.points
    .filter((point) => !isYoung(trend, point.tasks))
    .map((point) => {
      const values = point[FIELDS[metric]];
      const entries = names.map((name): [string, number | null] => {
        const value = values[name] ?? null;
        return [name, value !== null && (!log || value > 0) ? value : null];
      });
      return { x: placeOf(point), task: point.last_task_id, ...Object.fromEntries(entries) };
    });
  const gaps = new Set(
    gapsIn(
      rows.map((row) => row.x as number),
      reachOf(trend),
    ),
  );
  const middle = (i: number): number => ((rows[i]?.x as number) + (rows[i - 1]?.x as number)) / 2;
  return rows.flatMap((row, i) => (gaps.has(i) ? [{ x: middle(i) }, row] : [row]));
}

/** The simulated second of a task, between the ends of the stretches around it. */
export function timeOfTask(trend: Trend, task: number): number | null {
  const place = trend.points.findIndex((point) => point.last_task_id >= task);
  const point = trend.points[place];
  if (!point || task < (trend.points[0]?.first_task_id ?? 0)) return null;
  const before = trend.points[place - 1];
  const begin = before ? before.simulated_time_s : 0;
  const first = before ? before.last_task_id : point.first_task_id - 1;
  const share = (task - first) / Math.max(1, point.last_task_id - first);
  return begin + share * (point.simulated_time_s - begin);
}

/** The strategies that have a value anywhere. */
export function strategiesOf(trend: Trend): string[] {
  const names = new Set<string>();
  for (const point of trend.points) for (const name of Object.keys(point.avg_time)) names.add(name);
  return [...names];
}
