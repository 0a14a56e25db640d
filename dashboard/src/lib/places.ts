/** Finished and waiting tasks in words, and which figures have a place: the service says which waiting tasks could undo. */
import type { Comparison, RunStanding } from "@/client/types";
import { count } from "./format";
import type { MetricCard } from "./metrics";

type Counts = Pick<Comparison, "finished" | "waiting">;

export const finishedText = (row: Counts): string => `${count(row.finished)} finished`;

/** `711 finished, 1,982 waiting`; nothing is said of waiting where nothing waits. */
export const countsText = (row: Counts): string =>
  row.waiting > 0 ? `${finishedText(row)}, ${count(row.waiting)} waiting` : finishedText(row);

/** Whether waiting tasks leave a figure its place; `wire` is its name in an update. */
export function hasPlace(row: Pick<Comparison | RunStanding, "undecided">, wire: string): boolean {
  return !row.undecided.includes(wire);
}

/** What a figure will be at least, for a strategy that is behind. */
export function atLeast(row: Comparison, metric: MetricCard): number | null {
  return row.at_least?.[metric.wire] ?? null;
}
