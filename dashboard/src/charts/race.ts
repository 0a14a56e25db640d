/** The arithmetic of the race bars: ranks, lengths and the scale. */

import { linearTicks, logTicks } from "./axes";

export interface Racer {
  name: string;
  label: string;
  colour: string;
  value: number | null;
  text: string;
  /** Of the value, what is running; the rest is waiting. Null where the value has no such parts. */
  running: number | null;
  /** Finished and waiting tasks, line by line. */
  counts: readonly string[];
  /** Whether waiting tasks leave it its place. */
  hasPlace: boolean;
  /** Whether the value is only what it will be at least. */
  isLeast: boolean;
  /** Figures that stand beside the value, each with its own head. */
  extras: readonly Extra[];
  /** Whether it only would have been, beside others that were measured: then it has no rank among them. */
  isModelled?: boolean;
}

export interface Extra {
  key: string;
  label: string;
  text: string;
  value: number | null;
}

export type Scale = "linear" | "log";

export interface Placed extends Racer {
  /** Its row, from 0. */
  place: number;
  /** 1 + how many are better; those whose values read alike share a rank. Null where waiting tasks could change it. */
  rank: number | null;
  /** Length of the bar, 0 to 1; null when there is no value yet. */
  length: number | null;
}

const SPREAD_FOR_LOG = 40;

/** A linear scale, unless the slowest would squash all others into a sliver. */
export function fittingScale(values: readonly (number | null)[]): Scale {
  const known = values.filter((v): v is number => v !== null && v > 0).sort((a, b) => a - b);
  const least = known[0];
  const most = known.at(-1);
  return least !== undefined && most !== undefined && most / least > SPREAD_FOR_LOG ? "log" : "linear";
}

/** Maps a value to a length of bar. On the log scale the shortest bar keeps 12 % so that it is seen. */
export function lengthOf(values: readonly (number | null)[], scale: Scale): (value: number) => number {
  const known = values.filter((v): v is number => v !== null && v > 0);
  const most = Math.max(...known, 0);
  const least = Math.min(...known, most);
  if (scale === "linear" || most <= 0 || least === most) return (value) => (most > 0 ? value / most : 0);
  const width = Math.log(most / least);
  return (value) => 0.12 + (0.88 * Math.log(Math.max(value, least) / least)) / width;
}

export interface Grade {
  value: number;
  /** Where it stands on the bars, 0 to 1. */
  at: number;
}

/** Round values along the bars, so that a length can be read; the first is the start of the scale. */
export function grades(values: readonly (number | null)[], scale: Scale, wanted: number): Grade[] {
  const known = values.filter((v): v is number => v !== null && v > 0);
  const most = Math.max(...known, 0);
  if (most <= 0) return [];
  const least = Math.min(...known);
  const toLength = lengthOf(values, scale);
  const isLog = scale === "log" && least < most;
  const all = isLog ? logTicks(least, most) : linearTicks(0, most, wanted);
  const decades = all.filter((tick) => Number.isInteger(Number(Math.log10(tick).toFixed(9))));
  const kept = isLog && all.length > wanted && decades.length > 1 ? decades : all;
  // From the far end, so that the longest bar has a value beside it; far enough apart that their words do not touch.
  const apart = 1 / (wanted + 1);
  const found: Grade[] = [];
  for (const value of kept.reverse()) {
    const at = toLength(value);
    const nearest = found.at(-1);
    if (nearest === undefined || nearest.at - at >= apart) found.push({ value, at });
  }
  return found.reverse();
}

/** The racers with their places; the least value leads, lower ends and unknown values come last, names break ties. What is modelled stands below. */
export function placed(racers: readonly Racer[], scale: Scale, bound: number | null): Placed[] {
  const toLength = lengthOf([...racers.map((r) => r.value), bound], scale);
  const order = [...racers].sort(
    (a, b) =>
      Number(a.isModelled ?? false) - Number(b.isModelled ?? false) ||
      Number(a.isLeast) - Number(b.isLeast) ||
      (a.value ?? Number.POSITIVE_INFINITY) - (b.value ?? Number.POSITIVE_INFINITY) ||
      (a.name < b.name ? -1 : 1),
  );
  return order.map((racer, place) => ({
    ...racer,
    place,
    rank:
      racer.isModelled || racer.isLeast || !racer.hasPlace || racer.value === null
        ? null
        : 1 + order.findIndex((other) => other.text === racer.text),
    length: racer.value === null ? null : toLength(racer.value),
  }));
}
