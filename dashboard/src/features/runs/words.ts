/** Stored runs in words. */
import type { Metric, PairedRuns, RunCard, RunStanding } from "@/client/types";
import { hasPlace } from "@/lib/places";

type Named = Pick<RunCard, "run_id" | "name">;

/** `Run 3: Baseline`, or `Run 3` while it has no name. */
export const runTitle = (run: Named): string =>
  run.name ? `Run ${run.run_id}: ${run.name}` : `Run ${run.run_id}`;

/** Where a run left another one, as a sentence; empty where it began by itself. */
export function branchWords(run: Pick<RunCard, "branch">): string {
  return run.branch ? ` It left run ${run.branch.run_id} at task ${run.branch.task_id}.` : "";
}

export type RunField =
  | "avg_latency"
  | "longest_latency"
  | "avg_time"
  | "avg_wait"
  | "avg_energy"
  | "avg_cost"
  | "makespan";

/** The metric of a paired comparison that stands behind a column, where there is one. */
export const PAIRED: Partial<Record<RunField, Metric>> = {
  avg_latency: "latency",
  avg_time: "time",
  avg_energy: "energy",
  avg_cost: "cost",
};

/** The strategies with the least value of a run, least first: all whose value reads like it. What only would have been leads nothing, and nobody does where waiting tasks could undo it. */
export function leadersOf(
  run: RunCard,
  field: RunField,
  format: (value: number | null) => string,
): readonly RunStanding[] {
  const known = run.standings.filter((one) => one[field] !== null && one.source !== "modelled");
  const ordered = known.sort((a, b) => (a[field] ?? 0) - (b[field] ?? 0));
  const least = format(ordered[0]?.[field] ?? null);
  return ordered.filter((one) => format(one[field]) === least && hasPlace(one, field));
}

/** `A`, `A and B`, or `A and 3 more`. */
export function namesText(names: readonly string[]): string {
  const [first = "", second] = names;
  if (second === undefined) return first;
  return names.length === 2 ? `${first} and ${second}` : `${first} and ${names.length - 1} more`;
}

/** All strategies of some runs, those of the first run first. */
export function strategiesOf(runs: readonly RunCard[]): string[] {
  return [...new Set(runs.flatMap((run) => run.standings.map((one) => one.name)))];
}

export function standingOf(run: RunCard, name: string): RunStanding | undefined {
  return run.standings.find((one) => one.name === name);
}

/** Of a real run, what was only modelled says so at its value; all else has its mark at the run. */
export function modelledOf(run: RunCard, name: string): RunStanding["source"] {
  return standingOf(run, name)?.source === "modelled" ? "modelled" : "simulated";
}

export function pairedOf(paired: PairedRuns, name: string, field: RunField) {
  return paired.values.find((value) => value.scheduler === name && value.metric === PAIRED[field]);
}

/** The runs of the address: `1,2`, at most six, each once. */
export function chosenRuns(text: string | null): number[] {
  const found = (text ?? "").split(",").filter((part) => /^\d{1,15}$/.test(part));
  return [...new Set(found.map(Number))].slice(0, 6);
}
