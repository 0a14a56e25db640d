import type { ReactNode } from "react";
import { ScrollRegion } from "./ScrollRegion";

export interface ScrollTableProps {
  /** What a screen reader calls the region, which can be scrolled by keyboard. */
  label: string;
  heads: readonly string[];
  /** How many columns from the left hold words; all others hold figures and stand at the right. */
  words: number;
  /** How tall the region is; as its widget where nothing is said. */
  height?: string;
  children: ReactNode;
}

/** A table of figures that scrolls within its widget, under a head that stays; its rows are given. */
export function ScrollTable({ label, heads, words, height = "h-full", children }: ScrollTableProps) {
  return (
    <ScrollRegion label={label} height={height}>
      <table className="figure w-full whitespace-nowrap text-right text-xs [&_tbody_tr]:border-t [&_tbody_tr]:border-line [&_td]:py-1.5 [&_td]:pl-2.5 [&_td:first-child]:pl-0 [&_th]:pl-2.5 [&_th:first-child]:pl-0">
        <thead className="sticky top-0 text-muted" style={{ background: "var(--panel-solid)" }}>
          <tr>
            {heads.map((head, i) => (
              <th key={head} scope="col" className={`py-1.5 font-medium ${i < words ? "text-left" : ""}`}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </ScrollRegion>
  );
}
