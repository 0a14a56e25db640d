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

/** What must hold, as the question asks it: the metric's own words, and the limit with its unit. */
export const PROMISES: readonly { key: string; label: string }[] = [
  { key: "p95_latency_s", label: "95 % of tasks are done within" },
  { key: "p99_latency_s", label: "99 % of tasks are done within" },
  { key: "mean_latency_s", label: "Tasks are done on average within" },
  { key: "makespan_s", label: "Everything is done within" },
];

/** `p95_latency_s < 2` as it is said to a person; what has another form is left as it is. */
export function promiseText(promise: string): string {
  const [, metric, limit] = /^\s*(\w+)\s*<=?\s*([\d.eE+-]+)\s*$/.exec(promise) ?? [];
  const known = PROMISES.find((one) => one.key === metric);
  const value = Number(limit);
  if (!known || !(value > 0)) return promise;
  return `${known.label.charAt(0).toLowerCase()}${known.label.slice(1)} ${tidy(seconds(value))}`;
}

/** The sentences without the options of a command line, which nobody can type here. */
export const withoutOptions = (text: string): string => text.replaceAll(/ \(--[\w-]+\)/g, "");

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
    promise: `${picked.metric} < ${picked.limit}`,
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
