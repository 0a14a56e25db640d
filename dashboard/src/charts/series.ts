/** Columns for the time charts: from stored means and shares to aligned arrays. */
import type { LoadHistory, Shift, Trend } from "@/client/types";
import { presetLabel } from "@/lib/presets";

export interface Marker {
  x: number;
  text: string;
}

export interface Word {
  text: string;
  left: number;
  /** 0 is the upper line; null where no line has room for it. */
  line: number | null;
}

/** Words beside markers, each on the first line where it touches no other; what has no room stays unwritten. */
export function wordsBeside(
  markers: readonly { at: number; text: string }[],
  widthOf: (text: string) => number,
  bounds: { left: number; right: number; lines: number; gap: number },
): Word[] {
  const ends: number[] = [];
  return markers.map(({ at, text }) => {
    const width = widthOf(text);
    const left = Math.max(bounds.left, Math.min(at + bounds.gap, bounds.right - width));
    const free = ends.findIndex((end) => end + bounds.gap <= left);
    const line = free === -1 ? ends.length : free;
    if (line >= bounds.lines) return { text, left, line: null };
    ends[line] = left + width;
    return { text, left, line };
  });
}

export interface Columns {
  xs: number[];
  ys: (number | null)[][];
}

/** Neighbours this many times further apart than those on either side have nothing between them: a gap, not a line. */
const GAP = 5;

/** Points of few tasks lie apart by chance: they are held against so many neighbours on either side. */
const THIN_TASKS = 4;
const THIN_REACH = 4;

/** How many neighbours on either side say whether a step is long. */
export const reachOf = (trend: Pick<Trend, "tasks_per_point">): number =>
  trend.tasks_per_point < THIN_TASKS ? THIN_REACH : 1;

/** Where nothing happened for long between two points; the places before which a gap is. Where tasks come slowly for a while, all steps are long, and none is a gap. */
export function gapsIn(xs: readonly number[], reach = 1): number[] {
  const steps = xs.slice(1).map((x, i) => x - (xs[i] ?? x));
  return steps.flatMap((step, i) => {
    const around = [...steps.slice(Math.max(0, i - reach), i), ...steps.slice(i + 1, i + 1 + reach)];
    const beside = Math.max(0, ...around);
    return beside > 0 && step > GAP * beside ? [i + 1] : [];
  });
}

/** The columns with an empty point in every gap, so that no line claims to know what was there. */
export function withGaps(columns: Columns, reach = 1): Columns {
  const gaps = new Set(gapsIn(columns.xs, reach));
  if (gaps.size === 0) return columns;
  const spread = <T>(values: readonly T[], between: (i: number) => T): T[] =>
    values.flatMap((value, i) => (gaps.has(i) ? [between(i), value] : [value]));
  return {
    xs: spread(columns.xs, (i) => ((columns.xs[i] ?? 0) + (columns.xs[i - 1] ?? 0)) / 2),
    ys: columns.ys.map((ys) => spread<number | null>(ys, () => null)),
  };
}

/** Whether all tasks arrived at one moment, so that there is no time to draw them along. */
export const isAtOnce = ({ points }: Pick<Trend, "points">): boolean =>
  points.every((point) => point.simulated_time_s === points[0]?.simulated_time_s);

/** The stored means as columns: x in simulated seconds before the newest point. */
export function trendColumns(
  trend: Trend,
  names: readonly string[],
  field: "avg_latency" | "avg_time",
): Columns {
  const newest = trend.points.at(-1)?.simulated_time_s ?? 0;
  const columns = {
    xs: trend.points.map((point) => point.simulated_time_s - newest),
    ys: names.map((name) => trend.points.map((point) => point[field][name] ?? null)),
  };
  return withGaps(columns, reachOf(trend));
}

/** The busy shares of devices as columns: x in simulated seconds before the newest arrival, at the middle of each step. */
export function loadColumns(load: LoadHistory, devices: readonly string[]): Columns {
  const end = load.edges_s.at(-1) ?? 0;
  const middles = load.edges_s.slice(1).map((edge, i) => (edge + (load.edges_s[i] ?? edge)) / 2 - end);
  return { xs: middles, ys: devices.map((device) => middles.map((_, i) => load.busy[device]?.[i] ?? null)) };
}

/** Each series on top of the ones before it; where none is known, nothing is drawn. */
export function stacked(ys: readonly (number | null)[][]): (number | null)[][] {
  const sum: number[] = [];
  const unknown = (ys[0] ?? []).map((_, i) => ys.every((column) => column[i] === null));
  return ys.map((column) =>
    column.map((value, i) => {
      if (unknown[i]) return null;
      sum[i] = (sum[i] ?? 0) + (value ?? 0);
      return sum[i] as number;
    }),
  );
}

/** The columns as they are drawn: stacked, or by their logarithm, where zero and less become gaps. */
export function drawnColumns(
  columns: Columns,
  stack: boolean,
  log: boolean,
): [number[], ...(number | null)[][]] {
  const ys = stack ? stacked(columns.ys) : columns.ys;
  const toLog = (y: number | null): number | null => (y !== null && y > 0 ? Math.log10(y) : null);
  return [columns.xs, ...(log ? ys.map((column) => column.map(toLog)) : ys)];
}

/** Workload shifts as markers on an axis of simulated seconds before `endS`. */
export function shiftMarkers(shifts: readonly Shift[], endS: number): Marker[] {
  return shifts.map((shift) => ({ x: shift.simulated_time_s - endS, text: shiftLabel(shift) }));
}

/** What changed, in a few words: a drift says more than the workload that it left alone. */
export function shiftLabel(shift: Shift): string {
  if (shift.message.startsWith("Drift")) return "durations drift";
  return `${presetLabel(shift.workload)}, ${Number(shift.arrival_rate.toPrecision(3))}/s`;
}
