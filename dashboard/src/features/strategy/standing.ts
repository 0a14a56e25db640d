/** A strategy's place among all. */
import type { Comparison } from "@/client/types";

/** 1 + how many have a lower value that also reads differently; null while this one has none. */
export function rankOf(
  rows: readonly Comparison[],
  name: string,
  of: (row: Comparison) => number | null,
  format: (value: number) => string,
): number | null {
  const known = rows.filter((row) => row.tasks > 0);
  const mine = known.find((row) => row.name === name);
  const value = mine ? of(mine) : null;
  if (value === null) return null;
  const isBetter = (other: number | null): boolean =>
    other !== null && other < value && format(other) !== format(value);
  return 1 + known.filter((row) => isBetter(of(row))).length;
}
