/** When a race comes to a stand, what was read over HTTP must be read once more: nothing else will ask again. */
import type { SimulationUpdate } from "@/client/types";

/** Whether tasks still come in. */
export function isMoving(update: SimulationUpdate): boolean {
  return update.status.state === "running" && update.status.problem === null;
}

/** Whether a race stands now that moved before, or has stored its last rows only now. */
export function cameToStand(before: SimulationUpdate | null, now: SimulationUpdate | null): boolean {
  if (before === null || now === null || before === now || isMoving(now)) return false;
  const stored = now.status.backlog_rows === 0 && before.status.backlog_rows > 0;
  return isMoving(before) || stored || now.tasks_processed !== before.tasks_processed;
}
