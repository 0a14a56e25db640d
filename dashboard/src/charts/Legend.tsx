export interface LegendEntry {
  key: string;
  label: string;
  colour: string;
  value?: string;
}

/** Names and colours in words; the value is the one under the cursor, or the newest. */
export function Legend({ entries }: { entries: readonly LegendEntry[] }) {
  return (
    <ul className="flex shrink-0 flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {entries.map((entry) => (
        <li key={entry.key} className="flex items-center gap-1.5">
          <span aria-hidden="true" className="h-2 w-3 rounded-sm" style={{ background: entry.colour }} />
          {entry.label}
          {entry.value !== undefined && <span className="figure font-medium text-ink">{entry.value}</span>}
        </li>
      ))}
    </ul>
  );
}
