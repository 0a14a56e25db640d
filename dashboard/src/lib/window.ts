/** The window of a comparison: which tasks count. One choice for every widget, kept in the URL. */
import type { Comparison, SimulationUpdate, Window } from "@/client/types";
import { useLive } from "@/live/store";
import { tasksText } from "./format";
import { useView } from "./url";

export type WindowKey = Window["name"];

export const WINDOWS: readonly { key: WindowKey; label: string; short: string }[] = [
  { key: "shift", label: "Since shift", short: "Shift" },
  { key: "latest", label: "Latest 1,000", short: "Latest" },
  { key: "run", label: "Whole run", short: "Run" },
];

/** The window that counts: the one asked for, else since the last shift, and where there was none, the whole run. */
export function windowKey(wish: string | null, hasShift: boolean): WindowKey {
  const known = WINDOWS.find(({ key }) => key === wish)?.key;
  const wanted = known ?? "shift";
  return wanted === "shift" && !hasShift ? "run" : wanted;
}

/** Every strategy over one window; the whole run is the update's own comparison. */
export function windowOf(update: SimulationUpdate, key: WindowKey): Window {
  const found = key === "run" ? undefined : update.windows[key];
  if (found) return found;
  const last = update.status.last_task_id;
  const tasks = update.tasks_processed;
  return {
    name: "run",
    first_task_id: last === null || tasks === 0 ? null : last - tasks + 1,
    last_task_id: tasks === 0 ? null : last,
    tasks,
    compared_tasks: update.compared_tasks,
    begin_s: update.status.branch?.simulated_time_s ?? 0,
    end_s: update.simulated_time_s,
    comparison: update.comparison,
  };
}

/** The window as the end of a sentence. */
export function windowWords(name: WindowKey, tasks: number | undefined): string {
  const amount = tasks === undefined ? "" : ` (${tasksText(tasks)})`;
  if (name === "shift") return `since the last shift${amount}`;
  if (name === "latest") return tasks ? `over the latest ${tasksText(tasks)}` : "over the latest tasks";
  return `over the whole run${amount}`;
}

/** The search part of a link to another view: the window and the run that is looked at go along. */
export function useWindowSearch(): string {
  const [params] = useView();
  const kept = new URLSearchParams();
  for (const key of ["run", "at", "window"]) {
    const wish = params.get(key);
    if (wish !== null) kept.set(key, wish);
  }
  const text = kept.toString();
  return text === "" ? "" : `?${text}`;
}

export interface ChosenWindow {
  key: WindowKey;
  hasShift: boolean;
  /** Undefined until the race is heard of. */
  window: Window | undefined;
  rows: readonly Comparison[] | undefined;
  words: string;
}

/** The window that a person chose, with the figures of the newest update. */
export function useWindow(): ChosenWindow {
  const [params] = useView();
  const update = useLive((s) => s.update);
  const hasShift = update?.windows.shift !== undefined;
  const key = windowKey(params.get("window"), hasShift);
  const window = update ? windowOf(update, key) : undefined;
  return { key, hasShift, window, rows: window?.comparison, words: windowWords(key, window?.compared_tasks) };
}
