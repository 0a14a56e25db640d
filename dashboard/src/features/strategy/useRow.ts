import type { Comparison } from "@/client/types";
import { useLive } from "@/live/store";

/** A strategy's standing in the latest update. */
export function useRow(name: string): Comparison | undefined {
  return useLive((s) => s.update?.comparison.find((row) => row.name === name));
}
