export interface MatrixProps {
  caption: string;
  names: readonly string[];
  labels: readonly string[];
  values: readonly (readonly (number | null)[])[];
  colourOf: (value: number, row: number, column: number) => string;
  textOf: (value: number) => string;
  /** The sentence for a screen reader and the pointer. */
  sentenceOf: (row: string, column: string, value: number) => string;
}

/** A square table of coloured numbers; it scrolls inside its widget, and its first column stays in sight. */
export function Matrix({ caption, names, labels, values, colourOf, textOf, sentenceOf }: MatrixProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="h-full overflow-auto" tabIndex={0} aria-label={caption}>
      <table className="figure h-full w-full border-separate border-spacing-[2px] text-[0.6875rem]">
        <caption className="sr-only">{caption}</caption>
        <thead>
          <tr>
            <td className="sticky left-0 z-10" style={{ background: "var(--panel-solid)" }} />
            {labels.map((label, i) => (
              <th key={names[i]} scope="col" className="h-24 px-0 align-bottom font-medium text-muted">
                <span
                  className="inline-block max-h-24 rotate-180 truncate"
                  style={{ writingMode: "vertical-rl" }}
                >
                  {label}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((row, i) => (
            <tr key={row}>
              <th
                scope="row"
                className="sticky left-0 z-10 max-w-32 truncate pr-2 text-right font-medium text-muted"
                style={{ background: "var(--panel-solid)" }}
              >
                {labels[i]}
              </th>
              {names.map((column, j) => {
                const value = values[i]?.[j] ?? null;
                if (value === null)
                  return (
                    <td key={column} className="rounded-md bg-raised text-center text-muted">
                      ·
                    </td>
                  );
                return (
                  <td
                    key={column}
                    title={sentenceOf(labels[i] ?? row, labels[j] ?? column, value)}
                    className="h-5 min-w-8 rounded-md text-center font-medium text-ink"
                    style={{ background: colourOf(value, i, j) }}
                  >
                    {textOf(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
