/** What not knowing durations costs: the same strategy at different levels of knowledge, on the same tasks. */
import type { Comparison } from "@/client/types";

export type Level = "exact" | "nominal" | "learned";

export interface Price {
  strategy: string;
  /** Mean latency at each level that races. */
  latency: Partial<Record<Level, number>>;
  /** Latency at a level ÷ at `exact`. */
  price: Partial<Record<"nominal" | "learned", number>>;
}

/** `earliest_finish@exact` is a strategy and its level; without a suffix the level is that of the run. */
export function levelOf(name: string, ofRun: Level): [string, Level] {
  const [strategy = name, level] = name.split("@");
  return [strategy, (level as Level | undefined) ?? ofRun];
}

/** Strategies that race at two levels or more, one of them exact; the dearest ignorance first. */
export function prices(rows: readonly Comparison[], ofRun: Level): Price[] {
  const found = new Map<string, Partial<Record<Level, number>>>();
  for (const row of rows) {
    if (row.avg_latency === null) continue;
    const [strategy, level] = levelOf(row.name, ofRun);
    found.set(strategy, { ...found.get(strategy), [level]: row.avg_latency });
  }
  return [...found]
    .flatMap(([strategy, latency]) => {
      const { exact, nominal, learned } = latency;
      if (exact === undefined || exact <= 0 || (nominal === undefined && learned === undefined)) return [];
      const price = {
        ...(nominal === undefined ? {} : { nominal: nominal / exact }),
        ...(learned === undefined ? {} : { learned: learned / exact }),
      };
      return [{ strategy, latency, price }];
    })
    .sort((a, b) => (b.price.learned ?? 0) - (a.price.learned ?? 0));
}
