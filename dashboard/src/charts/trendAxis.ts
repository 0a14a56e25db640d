/** The value axis of a trend: round ticks, and bounds that let no line touch the edge. */
import { linearTicks, logTicks } from "./axes";

type Values = readonly (number | null)[];

function extent(values: Values): [number, number] | null {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value === null || value <= 0) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

/** The ends of a logarithmic axis; at least half a decade, so that a flat line is not blown up to drama. */
export function logBounds(values: Values): [number, number] {
  const [low, high] = extent(values) ?? [0.1, 1];
  const least = Math.max(high * 1.15, low * 0.87 * Math.sqrt(10));
  return [low * 0.87, least];
}

/** At most about `wanted` round ticks: 1, 2, 5 on a log axis, decades where there are many of them. */
export function valueTicks(values: Values, log: boolean, wanted: number): number[] {
  if (!log) {
    const high = extent(values)?.[1] ?? 1;
    const ticks = linearTicks(0, high, wanted);
    const step = (ticks[1] ?? high) - (ticks[0] ?? 0);
    const last = ticks.at(-1) ?? high;
    return last >= high ? ticks : [...ticks, Number((last + step).toPrecision(12))];
  }
  const [low, high] = logBounds(values);
  const all = logTicks(low, high);
  // Values that differ little lie between two round steps of a decade: then round numbers do.
  if (all.length < 3) return linearTicks(low, high, wanted);
  if (all.length <= wanted + 1) return all;
  const decades = all.filter((tick) => Number.isInteger(Number(Math.log10(tick).toFixed(9))));
  return decades.length >= 2 ? decades : all.filter((_, i) => i % Math.ceil(all.length / wanted) === 0);
}
