/** The scale of everybody's latency for one task. */
import { fittingScale } from "@/charts/race";

/** A bar more than this many times the next one is cut, and says so: one queue must not flatten all others. */
const CUT = 4;
/** What the shortest bar keeps on a log scale, so that it is seen. */
const LEAST = 0.04;

export interface LatencyScale {
  isLog: boolean;
  /** The longest latency that is drawn whole. */
  end: number;
  /** Where a value ends on its bar, 0 to 1. */
  at: (value: number) => number;
}

/** The longest latency that is not an outlier at the far end. */
export function scaleEnd(latencies: readonly number[]): number {
  const sorted = [...latencies].sort((a, b) => b - a);
  const first = sorted.findIndex((value, i) => value <= CUT * (sorted[i + 1] ?? value));
  return sorted[Math.max(0, first)] || 1;
}

/** Linear and cut where one is far away; log where many are, as the race beside it would do. */
export function latencyScale(latencies: readonly number[], runs: readonly number[]): LatencyScale {
  const end = scaleEnd(latencies);
  const whole = latencies.filter((value) => value <= end);
  if (fittingScale(whole) === "linear") return { isLog: false, end, at: (v) => Math.min(1, v / end) };
  const most = Math.max(...latencies);
  const least = Math.min(...[...latencies, ...runs].filter((value) => value > 0));
  const width = Math.log(most / least);
  const at = (v: number): number =>
    v <= 0 ? 0 : LEAST + (1 - LEAST) * (Math.log(Math.max(v, least) / least) / width);
  return { isLog: true, end: most, at };
}
