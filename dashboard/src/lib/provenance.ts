/** Where the figures on the screen come from: said below every exported picture. */
import type { SimulationUpdate } from "@/client/types";
import { tasksText } from "./format";

/** One line: run, seed, workload, how far the run had got, version and moment. */
export function provenance(update: SimulationUpdate | null, version: string | null, now: Date): string {
  const at = `${now.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const maker = `Hybrid ML Scheduler${version ? ` ${version}` : ""}`;
  if (!update || update.status.run_id === null) return `No run yet. ${maker}, ${at}.`;
  const { run_id: run, seed, workload } = update.status;
  const rate = Number(workload.arrival_rate.toPrecision(3));
  // Tasks of a trace, or of a real run, come when they come.
  const coming = rate > 0 ? ` at ${rate}/s` : "";
  return [
    `Run ${run}`,
    `seed ${seed ?? "–"}`,
    `workload ${workload.preset}${coming}`,
    tasksText(update.tasks_processed),
    maker,
    `${at}.`,
  ].join(" · ");
}
