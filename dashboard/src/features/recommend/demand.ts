/** From what a person picked to what the service is asked. */

import type { RecommendationDemand, RecommendationRecord, RecommendationTrial } from "@/client/types";
import { seconds, tidy } from "@/lib/format";

export const MOST_NODES = 60;

/** The numbers of GPUs that were typed, such as “1, 2, 4”; null if one of them is none. */
export function countsOf(text: string): readonly number[] | null {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== "");
  const found = parts.map(Number);
  const good = found.every((one) => Number.isInteger(one) && one >= 1 && one <= 64);
  return found.length > 0 && good ? [...new Set(found)].sort((a, b) => a - b) : null;
}

export interface Picked {
  /** A preset, or `upload:ID`. */
  source: string;
  tasks: number;
  rate: number | null;
  types: readonly string[];
  counts: readonly number[];
  metric: string;
  /** Seconds, or dollars an hour where the best node is asked for. */
  limit: number;
  /** Dollars an hour for one GPU, where a person has given a price. */
  prices: Readonly<Record<string, number>>;
  policies: readonly string[];
}

export const MOST_POLICIES = 16;

/** A price that was typed; null if it is none. */
export function priceOf(text: string | undefined): number | null {
  const value = Number(text?.trim() || Number.NaN);
  return value > 0 && value <= 1e6 ? value : null;
}

const UPLOAD = "upload:";

/** What is asked for: a target to keep, or (`best:`) a metric to be best in. */
const BEST = "best:";
export const isBest = (metric: string): boolean => metric.startsWith(BEST);

/** What must hold, as the question asks it: the metric's own words, and the limit with its unit. */
export const TARGETS: readonly { key: string; label: string }[] = [
  { key: "p95_latency_s", label: "95 % of tasks are done within" },
  { key: "p99_latency_s", label: "99 % of tasks are done within" },
  { key: "mean_latency_s", label: "Tasks are done on average within" },
  { key: "makespan_s", label: "Everything is done within" },
  { key: `${BEST}p95_latency_s`, label: "The lowest 95 % latency for" },
  { key: `${BEST}mean_latency_s`, label: "The lowest mean latency for" },
];

/** `p95_latency_s < 2` as it is said to a person; what has another form is left as it is. */
export function targetText(target: string): string {
  const [, metric, limit] = /^\s*(\w+)\s*<=?\s*([\d.eE+-]+)\s*$/.exec(target) ?? [];
  const known = TARGETS.find((one) => one.key === metric);
  const value = Number(limit);
  if (!known || !(value > 0)) return target;
  return `${known.label.charAt(0).toLowerCase()}${known.label.slice(1)} ${tidy(seconds(value))}`;
}

/** A value of the target's metric: seconds, or the share of the tasks that are late. */
export const valueText = (record: RecommendationRecord, value: number): string =>
  record.promise.unit === "%" ? `${Number((100 * value).toPrecision(3))} %` : seconds(value);

/** What was asked, in words. */
export function askedText(demand: RecommendationDemand): string {
  if (demand.best != null) {
    const known = TARGETS.find((one) => one.key === `${BEST}${demand.best}`);
    return `${known?.label ?? `the lowest ${demand.best} for`} ${demand.budget ?? "any price"}`;
  }
  return targetText(demand.target ?? demand.promise ?? "");
}

/** The sentences without the options of a command line, which nobody can type here. */
export const withoutOptions = (text: string): string => text.replaceAll(/ \(--[\w-]+( \d+)?\)/g, "");

export function demandOf(picked: Picked): RecommendationDemand {
  const isUpload = picked.source.startsWith(UPLOAD);
  return {
    ...(isUpload ? { upload: picked.source.slice(UPLOAD.length) } : { workload: picked.source }),
    ...(picked.rate === null ? {} : { arrival_rate: picked.rate }),
    num_tasks: picked.tasks,
    nodes: picked.types.flatMap((gpu_type) => {
      const price = picked.prices[gpu_type];
      return picked.counts.map((gpus) => ({
        gpu_type,
        gpus,
        ...(price === undefined ? {} : { price_usd_h: price * gpus }),
      }));
    }),
    ...(isBest(picked.metric)
      ? { best: picked.metric.slice(BEST.length), budget: `$${picked.limit}/h` }
      : { target: `${picked.metric} < ${picked.limit}` }),
    policies: [...picked.policies],
  };
}

/** The best trial of every node, cheapest node first: what a chart of nodes shows. */
export function bestOfNodes(record: RecommendationRecord): readonly RecommendationTrial[] {
  const best = new Map<string, RecommendationTrial>();
  for (const one of record.trials) {
    const known = best.get(one.node);
    const isBetter = (one.mean ?? Number.POSITIVE_INFINITY) < (known?.mean ?? Number.POSITIVE_INFINITY);
    if (known === undefined || isBetter) best.set(one.node, one);
  }
  const all = [...best.values()].sort((a, b) => a.price_usd_h - b.price_usd_h);
  const chosen = record.recommended;
  return all.map((one) => (chosen && one.node === chosen.node ? chosen : one));
}
