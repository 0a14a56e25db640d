/** Diverging colours by way of CSS, so that both themes bring their own poles. */

/** −1 blue, 0 grey, +1 red. */
export function correlationColour(value: number): string {
  const pole = value < 0 ? "var(--diverge-low)" : "var(--diverge-high)";
  return `color-mix(in oklab, ${pole} ${Math.round(Math.min(1, Math.abs(value)) * 100)}%, var(--diverge-mid))`;
}

/** Green where the row wins more often than it loses, rose where it loses; equal values count for nobody. */
export function winColour(won: number, lost: number): string {
  const lead = won - lost;
  const pole = lead >= 0 ? "var(--good)" : "var(--bad)";
  return `color-mix(in oklab, ${pole} ${Math.round(Math.min(1, Math.abs(lead)) * 48)}%, var(--raised))`;
}
