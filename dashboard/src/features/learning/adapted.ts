/** From what a change did to the strategies to the rows and words that a person reads. */
import type { Adaptation, AdaptedStrategy } from "@/client/types";
import { count, LEAST_S, seconds, tasksText } from "@/lib/format";

/** The chart counts tasks from the change on; what was before it is negative. */
export const SINCE_AXIS = {
  title: "tasks since the change",
  format: (x: number): string => count(x).replace("-", "−"),
  words: "task",
  unit: "since",
} as const;

/** One row a step, at its beginning; on a log axis what is nothing, or less, cannot be drawn and becomes a gap. */
export function regretRows(found: Adaptation, log: boolean): Record<string, number | null>[] {
  const names = Object.keys(found.regret);
  const drawn = (value: number | null): number | null =>
    value !== null && (!log || value >= LEAST_S) ? value : null;
  return found.since_tasks.map((x, i) => ({
    x,
    ...Object.fromEntries(names.map((name) => [name, drawn(found.regret[name]?.[i] ?? null)])),
  }));
}

/** How long it took: at once, so many tasks and seconds, or not yet. */
export function recoveryText(one: AdaptedStrategy): string {
  if (one.recovery_tasks === null) return "not yet";
  if (one.recovery_tasks === 0) return "at once";
  return `${tasksText(one.recovery_tasks)}, ${seconds(one.recovery_s)}`;
}

/** Who lost least since the change and who most, in one sentence. */
export function leadSentence(found: Adaptation, labelOf: (name: string) => string): string | null {
  const known = found.strategies.filter((one) => one.after_s !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last || first === last) return null;
  const behind = found.strategies.filter((one) => one.is_behind).map((one) => labelOf(one.name));
  const whom =
    behind.length === 0
      ? ""
      : ` of those that finished the same tasks (${behind.join(", ")} ${behind.length === 1 ? "is" : "are"} behind)`;
  return `Since the change ${labelOf(first.name)} loses least${whom}: a task takes ${seconds(first.after_s)} longer than its fastest execution; with ${labelOf(last.name)} it is ${seconds(last.after_s)}.`;
}
