/** A strategy's place among all of its sort: what was measured and what would have been are not ranked together. */
import type { Comparison } from "@/client/types";
import type { MetricCard } from "@/lib/metrics";
import { hasPlace } from "@/lib/places";
import { isModelled } from "@/lib/useStrategy";

export const rivalsOf = (rows: readonly Comparison[], name: string): readonly Comparison[] =>
  rows.filter((row) => isModelled(row.name) === isModelled(name));

/** 1 + how many have a lower value that also reads differently; null while this one has none, or no place. */
export function rankOf(
  rows: readonly Comparison[],
  name: string,
  { of, format, wire }: Pick<MetricCard, "of" | "format" | "wire">,
): number | null {
  const known = rivalsOf(rows, name).filter((row) => row.tasks > 0);
  const mine = known.find((row) => row.name === name);
  const value = mine ? of(mine) : null;
  if (!mine || value === null || !hasPlace(mine, wire)) return null;
  const isBetter = (other: number | null): boolean =>
    other !== null && other < value && format(other) !== format(value);
  return 1 + known.filter((row) => isBetter(of(row))).length;
}
