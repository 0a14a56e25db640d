import type { Comparison } from "@/client/types";
import { useWindow } from "@/lib/window";

/** A strategy's standing in the chosen window. */
export function useRow(name: string): Comparison | undefined {
  return useWindow().rows?.find((row) => row.name === name);
}
