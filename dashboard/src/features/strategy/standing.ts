/** A strategy's place among all. */
import type { Comparison } from "@/client/types";

/** 1 + how many have a lower value; null while this one has none. */
export function rankOf(
  rows: readonly Comparison[],
  name: string,
  of: (row: Comparison) => number | null,
): number | null {
  const known = rows.filter((row) => row.tasks > 0);
  const mine = known.find((row) => row.name === name);
  const value = mine ? of(mine) : null;
  if (value === null) return null;
  return 1 + known.filter((row) => (of(row) ?? Number.POSITIVE_INFINITY) < value).length;
}
