/** How heavily a node is loaded: work given in a second over the second itself. */
import type { Comparison } from "@/client/types";

export type Burden = "calm" | "busy" | "over";

export function burdenOf(load: number): Burden {
  return load > 1 ? "over" : load > 0.85 ? "busy" : "calm";
}

/** The load of a strategy's most loaded kind of device. */
export function heaviest(row: Comparison): number {
  return Math.max(row.cpu_load ?? 0, row.gpu_load ?? 0);
}
