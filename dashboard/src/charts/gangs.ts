/** Gangs: tasks that hold several GPUs at once, drawn as one thing however far apart their GPUs lie. */
import type { StrategyMotion } from "@/client/types";

type Parts = StrategyMotion["parts"];

/** One task on several GPUs: the places of its parts in the columns, by device. */
export interface Gang {
  taskId: number;
  parts: readonly number[];
  devices: readonly number[];
}

/** Two clocks' readings of one moment may differ by this much. */
const TOGETHER_S = 1e-6;
const found = new WeakMap<Parts, readonly Gang[]>();

/** The tasks that hold more than one GPU at once; the share of a split task on the CPU is a part of its own. */
export function gangsOf(parts: Parts): readonly Gang[] {
  const known = found.get(parts);
  if (known) return known;
  const byTask = new Map<number, number[]>();
  parts.device.forEach((device, i) => {
    const task = parts.task_id[i];
    if (device === 0 || task === undefined) return;
    const own = byTask.get(task);
    if (own) own.push(i);
    else byTask.set(task, [i]);
  });
  const gangs: Gang[] = [];
  for (const [taskId, all] of byTask) {
    // A real task that was tried again ran on one GPU after the other: only what begins together is a gang.
    const begin = parts.begin_s[all[0] ?? 0] ?? 0;
    const own = all.filter((i) => Math.abs((parts.begin_s[i] ?? 0) - begin) < TOGETHER_S);
    if (own.length < 2) continue;
    own.sort((a, b) => (parts.device[a] ?? 0) - (parts.device[b] ?? 0));
    gangs.push({ taskId, parts: own, devices: own.map((i) => parts.device[i] ?? 0) });
  }
  found.set(parts, gangs);
  return gangs;
}

/** Neighbours among numbers in order, as pairs of their first and last. */
export function runsOf(numbers: readonly number[]): readonly (readonly [number, number])[] {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last && number === last[1] + 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs;
}

/** The GPUs of a gang in words; the first device of a node is its CPU. */
export function gangWords(devices: readonly number[]): string {
  const runs = runsOf(devices.map((device) => device - 1));
  return `GPUs ${runs.map(([low, high]) => (low === high ? low : `${low}–${high}`)).join(", ")} together`;
}
