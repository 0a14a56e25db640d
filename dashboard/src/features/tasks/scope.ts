/** Which tasks the statistics are about; part of the URL, shared by all widgets that show them. */
import type { Stats } from "@/client/types";
import { count, tasksText } from "@/lib/format";
import { useView } from "@/lib/url";
import { useWindow, type WindowKey } from "@/lib/window";

export interface StatsScope {
  window: WindowKey;
  scheduler: string;
}

export function useStatsScope(): StatsScope {
  const [params] = useView();
  return { window: useWindow().key, scheduler: params.get("of") ?? "hybrid_ml" };
}

/** `the 412 tasks since the last shift`; of a window too long to be read whole, what is left out is said. */
export function scopeWords(stats: Stats | undefined, tasks = stats?.tasks): string {
  if (!stats || !tasks) return "the tasks so far";
  const whole = stats.covers === "run" ? "of this run" : "since the last shift";
  if (stats.window_tasks > stats.tasks)
    return `the latest ${tasksText(tasks)} of ${count(stats.window_tasks)} ${whole}`;
  return stats.covers === "latest" ? `the latest ${tasksText(tasks)}` : `the ${tasksText(tasks)} ${whole}`;
}
