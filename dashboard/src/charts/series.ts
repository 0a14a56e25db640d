/** Columns for the time charts: from samples to aligned arrays. */
import type { Shift } from "@/client/types";
import type { Sample } from "@/live/state";

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

/** A tab that has just been opened need not show two empty minutes: the axis grows with what was watched. */
export function spanOf(watchedS: number, mostS: number): number {
  return [30, 60].find((span) => watchedS <= span) ?? mostS;
}

/** Samples of the last `spanS` wall seconds before the newest one. */
export function lastSeconds(samples: readonly Sample[], spanS: number): readonly Sample[] {
  const newest = samples.at(-1)?.wallS;
  if (newest === undefined) return [];
  const first = samples.findIndex((sample) => sample.wallS >= newest - spanS);
  return samples.slice(first);
}

/** x in seconds before now (0 = newest), y as read from each sample. */
export function columnsOf(
  samples: readonly Sample[],
  names: readonly string[],
  read: (sample: Sample, name: string) => number | null | undefined,
): Columns {
  const newest = samples.at(-1)?.wallS ?? 0;
  return {
    xs: samples.map((sample) => sample.wallS - newest),
    ys: names.map((name) => samples.map((sample) => read(sample, name) ?? null)),
  };
}

/** The mean over the tasks that finished in the `stretchS` wall seconds before each sample; null where none did. */
export function recentMeans(
  samples: readonly Sample[],
  name: string,
  kind: "latency" | "time",
  stretchS: number,
): (number | null)[] {
  let from = 0;
  return samples.map((sample) => {
    while ((samples[from]?.wallS ?? 0) < sample.wallS - stretchS) from += 1;
    const now = sample.sums[name];
    const then = samples[Math.max(0, from - 1)]?.sums[name];
    if (!now || !then || now.tasks <= then.tasks) return null;
    return (now[kind] - then[kind]) / (now.tasks - then.tasks);
  });
}

/** Each series on top of the ones before it. */
export function stacked(ys: readonly (number | null)[][]): (number | null)[][] {
  const sum: number[] = [];
  return ys.map((column) =>
    column.map((value, i) => {
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

/** Workload shifts as markers on an axis of seconds before the newest sample. */
export function shiftMarkers(shifts: readonly Shift[], samples: readonly Sample[]): Marker[] {
  const newest = samples.at(-1)?.wallS;
  if (newest === undefined) return [];
  return shifts.map((shift) => ({ x: Date.parse(shift.at) / 1000 - newest, text: shiftLabel(shift) }));
}

export function shiftLabel(shift: Shift): string {
  return `${shift.workload.replaceAll("_", " ")}, ${Number(shift.arrival_rate.toPrecision(3))}/s`;
}
