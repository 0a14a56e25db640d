export interface LegendEntry {
  key: string;
  label: string;
  colour: string;
  dash?: string | undefined;
  value?: string;
  /** A patch for areas, a piece of line for lines. */
  patch?: boolean;
}

export interface LegendProps {
  entries: readonly LegendEntry[];
  /** Lines that are not drawn. */
  hidden?: ReadonlySet<string>;
  /** With it the entries are buttons: a click shows this line alone, with Shift or Ctrl it hides or shows it. */
  onPick?: (key: string, one: boolean) => void;
}

/** A piece of the line as it is drawn, so that dashes tell apart what colours alone might not. */
function Swatch({ entry }: { entry: LegendEntry }) {
  if (entry.patch)
    return <span aria-hidden="true" className="size-2.5 rounded-sm" style={{ background: entry.colour }} />;
  if (!entry.dash)
    return (
      <span aria-hidden="true" className="h-[3px] w-4 rounded-full" style={{ background: entry.colour }} />
    );
  return (
    <svg width="18" height="3" aria-hidden="true" className="shrink-0">
      <line
        x1="0"
        x2="18"
        y1="1.5"
        y2="1.5"
        stroke={entry.colour}
        strokeWidth="3"
        strokeDasharray={entry.dash}
      />
    </svg>
  );
}

function Words({ entry }: { entry: LegendEntry }) {
  return (
    <>
      <Swatch entry={entry} />
      {entry.label}
      {entry.value !== undefined && <span className="figure font-medium text-ink">{entry.value}</span>}
    </>
  );
}

/** Names and colours in words; the value is the one under the cursor, or the newest. */
export function Legend({ entries, hidden, onPick }: LegendProps) {
  return (
    <ul
      className={`flex shrink-0 flex-wrap text-xs text-muted ${onPick ? "-mx-1.5 gap-x-1" : "gap-x-4 gap-y-1"}`}
    >
      {entries.map((entry) => (
        <li key={entry.key}>
          {onPick ? (
            <button
              type="button"
              className={`flex min-h-6 items-center gap-1.5 rounded-md px-1.5 hover:bg-raised ${hidden?.has(entry.key) ? "opacity-45" : ""}`}
              aria-pressed={!hidden?.has(entry.key)}
              title="Click: this line alone, or all again. Shift+click: hide or show it."
              onClick={(event) => onPick(entry.key, event.shiftKey || event.ctrlKey || event.metaKey)}
            >
              <Words entry={entry} />
            </button>
          ) : (
            <span className="flex items-center gap-1.5">
              <Words entry={entry} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
