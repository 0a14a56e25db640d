/** Factors on a logarithmic scale: twice as long and half as long are equally far from one. */
import type { Beliefs, BelievedCell } from "@/client/types";
import { digits } from "@/lib/format";

/** `×1.42`: how many times the nominal seconds. */
export const times = (factor: number): string => `×${digits(factor)}`;

/** The ends of the scale: at least half to twice, and everything that is drawn. */
export function factorEnds(cells: readonly BelievedCell[]): [number, number] {
  const all = cells.flatMap((cell) => [cell.believed, cell.happened, cell.now]);
  return [Math.min(0.5, ...all) * 0.9, Math.max(2, ...all) * 1.1];
}

/** Where a factor stands between the ends, in per cent. */
export function placeOf(factor: number, [low, high]: readonly [number, number]): number {
  const share = Math.log(factor / low) / Math.log(high / low);
  return 100 * Math.min(1, Math.max(0, share));
}

/** The kinds in their natural order: `kind_2` before `kind_10`; work without a kind has a name too. */
export function kindsOf(beliefs: Beliefs): string[] {
  const known = [...new Set(beliefs.cells.map((cell) => cell.kind))];
  return known.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

export const kindLabel = (kind: string): string => (kind === "" ? "any kind" : kind.replaceAll("_", " "));
