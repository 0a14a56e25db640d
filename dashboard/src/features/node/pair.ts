/** Which two strategies stand side by side, and how much time is seen; kept in the URL. */
import { useView, wholeParam } from "@/lib/url";
import { isModelled, useRacers } from "@/lib/useStrategy";

export const SPANS = [10, 30, 120] as const;

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

export interface Pair {
  names: [string, string] | null;
  spanS: number;
}

export function usePair(): Pair {
  const [params] = useView();
  const racers = useRacers();
  return {
    names: pairOf(racers, params.get("left"), params.get("right")),
    spanS: wholeParam(params, "span", 30, 5, 3600),
  };
}
