/** Which two strategies stand side by side, and how much time is seen; kept in the URL. */
import { useMemo } from "react";
import { useRunWords } from "@/lib/runWords";
import { useView, wholeParam } from "@/lib/url";
import { isModelled, useRacers } from "@/lib/useStrategy";
import { useLive } from "@/live/store";

const SPANS = [10, 30, 120] as const;
const UNITS_S = [1, 60, 3600] as const;
/** So many tasks should come in half of the usual stretch. */
const ENOUGH = 20;
const DAY_S = 86_400;

/** The stretches that can be chosen, in a unit in which enough tasks come; the one in the middle is the usual one. */
export function spansOf(tasksPerSecond: number): [number, number, number] {
  const unit_s = tasksPerSecond > 0 ? UNITS_S.find((one) => SPANS[1] * one * tasksPerSecond >= ENOUGH) : 1;
  return SPANS.map((span) => span * (unit_s ?? DAY_S)) as [number, number, number];
}

/** The two that are asked for, else a learner beside a simple rule; never the same twice where there are two. */
export function pairOf(
  racers: readonly string[],
  left: string | null,
  right: string | null,
): [string, string] | null {
  const first = racers.find((name) => !isModelled(name)) ?? racers[0];
  if (first === undefined) return null;
  const known = (name: string | null, ...wishes: string[]): string =>
    [name, ...wishes].find((wish) => wish !== null && racers.includes(wish)) ?? first;
  const a = known(left, "hybrid_ml");
  const others = racers.filter((name) => name !== a);
  const beside = [...others.filter((name) => !isModelled(name)), ...others];
  const b = known(right, ...["frugal_finish", "earliest_finish", ...beside].filter((name) => name !== a));
  return [a, b];
}

/** What the service gives at most. */
const MOST_SPAN_S = 2e7;

export interface Pair {
  names: [string, string] | null;
  spanS: number;
  /** All that can be chosen. */
  spans: [number, number, number];
}

export function usePair(): Pair {
  const [params] = useView();
  const racers = useRacers();
  const rate = useLive((s) => s.update?.status.workload.arrival_rate ?? 0);
  const { isMeasured } = useRunWords();
  const spans = useMemo(() => spansOf(isMeasured ? 0 : rate), [isMeasured, rate]);
  return {
    names: pairOf(racers, params.get("left"), params.get("right")),
    spanS: wholeParam(params, "span", spans[1], 5, MOST_SPAN_S),
    spans,
  };
}
