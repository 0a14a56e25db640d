import { useSize } from "@/lib/useSize";

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

const LEAST_CELL = 17;
const LETTER_PX = 6.2;
/** The heads take what the longest name needs, up to two lines of this length. */
const MOST_HEAD_PX = 96;

/** Widths that let all columns be seen at once, down to a phone; beyond that the region scrolls. */
function fitted(width: number, columns: number): { label: number; small: boolean } {
  const label = width < 440 ? 86 : 112;
  return { label, small: width > 0 && (width - label) / columns < 27 };
}

/** A square table of coloured numbers that fits its widget; its first column stays in sight should it scroll. */
export function Matrix({ caption, names, labels, values, colourOf, textOf, sentenceOf }: MatrixProps) {
  const [ref, size] = useSize<HTMLElement>();
  const { label, small } = fitted(size.width, names.length);
  const head = Math.min(MOST_HEAD_PX, 10 + LETTER_PX * Math.max(0, ...labels.map((text) => text.length)));
  const ground = { background: "var(--panel-solid)" };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section ref={ref} className="h-full overflow-auto" tabIndex={0} aria-label={caption}>
      <div style={{ height: `min(100%, ${names.length * 46 + head + 8}px)` }}>
        <table
          className={`figure h-full w-full table-fixed border-separate ${small ? "border-spacing-px text-[0.625rem]" : "border-spacing-[2px] text-[0.6875rem]"}`}
          style={{ minWidth: label + names.length * LEAST_CELL }}
        >
          <caption className="sr-only">{caption}</caption>
          <colgroup>
            <col style={{ width: label }} />
          </colgroup>
          <thead>
            <tr>
              <td className="sticky left-0 z-10" style={ground} />
              {labels.map((text, i) => (
                <th
                  key={names[i]}
                  scope="col"
                  className="px-0 pb-1 align-bottom font-medium text-muted"
                  style={{ height: head }}
                >
                  <span
                    className="inline-block rotate-180 leading-[1.05]"
                    style={{ writingMode: "vertical-rl", maxHeight: head }}
                  >
                    {text}
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
                  className="sticky left-0 z-10 pr-2 text-right leading-[1.05] font-medium text-muted"
                  style={ground}
                >
                  <span className="line-clamp-2" title={labels[i]}>
                    {labels[i]}
                  </span>
                </th>
                {names.map((column, j) => {
                  const value = values[i]?.[j] ?? null;
                  return (
                    <td
                      key={column}
                      {...(value === null
                        ? {}
                        : { title: sentenceOf(labels[i] ?? row, labels[j] ?? column, value) })}
                      className={`h-5 px-0 text-center font-medium ${small ? "rounded" : "rounded-md"} ${value === null ? "text-muted" : "text-ink"}`}
                      style={{ background: value === null ? "var(--raised)" : colourOf(value, i, j) }}
                    >
                      {value === null ? "·" : textOf(value)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
