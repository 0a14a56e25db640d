/** The order in which a task's strategies are told. */
import type { TaskAudit } from "@/client/types";

/** The shortest latency first; without one (not finished, failed) last; otherwise in the order of the race. */
export function soonestFirst(audit: TaskAudit, racers: readonly string[]): string[] {
  const latency = (name: string): number => audit.strategies[name]?.latency ?? Number.POSITIVE_INFINITY;
  const gap = (a: string, b: string): number => {
    const [x, y] = [latency(a), latency(b)];
    return x === y ? 0 : x - y;
  };
  return Object.keys(audit.strategies).sort((a, b) => gap(a, b) || racers.indexOf(a) - racers.indexOf(b));
}
