/** The radar's scale: a ratio to the oracle becomes a radius that neither collapses nor runs away. */

/** 1 (as the oracle) is half the radius, twice as much two thirds, four times four fifths; 0 is the centre. */
export function radiusOf(ratio: number): number {
  return ratio / (1 + ratio);
}

export interface Spoke {
  axis: string;
  ratio: number | null;
  radius: number;
  oracle: number;
}

/** One spoke for each measure; an unknown ratio is drawn on the oracle's ring and said to be unknown. */
export function spokes(
  measures: readonly { axis: string; mine: number | null; oracle: number | null }[],
): Spoke[] {
  return measures.map(({ axis, mine, oracle }) => {
    const ratio = mine !== null && oracle !== null && oracle > 0 ? mine / oracle : null;
    return { axis, ratio, radius: radiusOf(ratio ?? 1), oracle: radiusOf(1) };
  });
}

export const RINGS = [0.5, 1, 2, 4] as const;
