import { ArrowUp } from "lucide-react";
import { Link } from "react-router";
import type { Comparison } from "@/client/types";
import { NameCell } from "@/features/widgets/NameCell";
import { ScrollRegion } from "@/features/widgets/ScrollRegion";
import { Empty, Loading } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { figureOf, formatOf, listed } from "@/lib/catalogue";
import { hasPlace } from "@/lib/places";
import { useView } from "@/lib/url";
import { isModelled, useFaces } from "@/lib/useStrategy";
import { useWindow } from "@/lib/window";

interface Column {
  key: string;
  label: string;
  meaning: string;
  of: (row: Comparison) => number | null;
  text: (value: number | null) => string;
  /** Whether the least value is marked as the best. */
  race: boolean;
  /** Whether the most is the best, so that it stands on top. */
  descends: boolean;
}

const DEADLINE = "within_deadline";

const COLUMNS: readonly Column[] = listed("live_table").map((metric) => ({
  key: metric.wire ?? metric.key,
  label: metric.short,
  meaning: metric.meaning,
  of: (row) => figureOf(metric, row),
  text: formatOf(metric),
  race: (metric.better === "lower" && metric.unit !== "tasks") || metric.key === DEADLINE,
  descends: metric.better === "higher",
}));

/** All columns, but the share that kept a deadline only where tasks have one. */
function columnsOf(rows: readonly Comparison[]): readonly Column[] {
  return COLUMNS.filter(({ key, of }) => key !== DEADLINE || rows.some((row) => of(row) !== null));
}

/** The best value of each column as it reads: all that read like it share the mark. */
export function bests(rows: readonly Comparison[]): Record<string, string | null> {
  return Object.fromEntries(
    COLUMNS.filter((c) => c.race).map((column) => {
      const sign = column.descends ? -1 : 1;
      const values = rows.filter((row) => !isModelled(row.name) && hasPlace(row, column.key)).map(column.of);
      const known = values.filter((value) => value !== null).map((value) => sign * value);
      // Who is alone is the best of nobody.
      return [
        column.key,
        rows.length > 1 && known.length > 0 ? column.text(sign * Math.min(...known)) : null,
      ];
    }),
  );
}

/** The rows by one column, what is modelled below what was measured, best first: the least value, or the most for the efficiency; unknown values come last. */
export function ordered(rows: readonly Comparison[], key: string): readonly Comparison[] {
  const column = COLUMNS.find((entry) => entry.key === key);
  if (!column) return rows;
  const sign = column.descends ? -1 : 1;
  const weight = (row: Comparison): number => {
    const value = column.of(row);
    return value === null ? Number.POSITIVE_INFINITY : sign * value;
  };
  return [...rows].sort(
    (a, b) =>
      Number(isModelled(a.name)) - Number(isModelled(b.name)) ||
      weight(a) - weight(b) ||
      (a.name < b.name ? -1 : 1),
  );
}

interface HeadProps {
  columns: readonly Column[];
  by: string;
  onSort: (key: string) => void;
}

function Head({ columns, by, onSort }: HeadProps) {
  const ground = { background: "var(--panel-solid)" };
  return (
    <thead className="sticky top-0 z-20" style={ground}>
      <tr className="text-muted">
        <th scope="col" className="sticky left-0 z-10 py-1.5 text-left font-medium" style={ground}>
          Strategy
        </th>
        {columns.map((column) => (
          <th
            key={column.key}
            scope="col"
            aria-sort={by !== column.key ? "none" : column.descends ? "descending" : "ascending"}
            className="py-1 pl-1.5 font-medium"
          >
            <button
              type="button"
              title={column.meaning}
              className={`inline-flex min-h-6 items-center gap-0.5 rounded px-1 whitespace-nowrap hover:bg-raised ${by === column.key ? "text-ml" : ""}`}
              onClick={() => onSort(column.key)}
            >
              {by === column.key && <ArrowUp size={11} aria-hidden="true" />}
              {column.label}
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface RowProps {
  columns: readonly Column[];
  row: Comparison;
  best: Record<string, string | null>;
  face: { label: string; colour: string };
}

function Row({ columns, row, best, face }: RowProps) {
  return (
    <tr className="border-t border-line" data-strategy={row.name}>
      <th
        scope="row"
        className="sticky left-0 z-10 py-1.5 pr-1 text-left font-medium"
        // Its ground would cover the line between the rows.
        style={{ background: "var(--panel-solid)", boxShadow: "inset 0 1px var(--line)" }}
      >
        <NameCell colour={face.colour}>
          <Link className="hover:underline" to={`/strategies/${row.name}`}>
            {face.label}
          </Link>
        </NameCell>
      </th>
      {columns.map((column) => {
        const value = column.of(row);
        const text = column.text(value);
        const leads =
          column.race &&
          value !== null &&
          text === best[column.key] &&
          !isModelled(row.name) &&
          hasPlace(row, column.key);
        return (
          <td
            key={column.key}
            data-column={column.key}
            className={`py-1.5 pr-1 pl-2 whitespace-nowrap ${leads ? "font-semibold text-good" : ""}`}
          >
            {leads && <span title="best">● </span>}
            {value === null && row.at_least?.[column.key] !== undefined
              ? `≥ ${column.text(row.at_least[column.key] ?? null)}`
              : text}
          </td>
        );
      })}
    </tr>
  );
}

/** The averages of every strategy in one table; the best of each column is marked. */
export function SummaryWidget() {
  const { rows, key, words } = useWindow();
  const [params, change] = useView();
  const by = params.get("by_mean") ?? "avg_latency";
  const face = useFaces();
  const best = bests(rows ?? []);
  const columns = columnsOf(rows ?? []);
  const table = () => ({
    columns: ["scheduler", "window", "tasks", ...COLUMNS.map((column) => column.key)],
    rows: (rows ?? []).map((row) => [row.name, key, row.tasks, ...COLUMNS.map((column) => column.of(row))]),
  });
  return (
    <Widget
      title="Average metrics"
      meaning="Means for one task over the same tasks for all: those of the chosen window up to the last one that every strategy has finished that is not behind. One that is behind has no means, but lower ends (≥): its waiting tasks count with their waiting so far. Every figure of a row, p95 too, is of these tasks; Finished and Waiting count the whole window. The gap to the proven bound exists for the whole run only. One run is one observation: a small difference here is no proof, see hms race --seeds for intervals."
      terms={COLUMNS.map(({ label, meaning }) => ({ term: label, meaning }))}
      table={table}
      controls={<WindowChoice />}
      foot={`All figures ${words}. Gap: makespan above the proven bound, of the whole run; Eff.: the oracle's time ÷ the strategy's. ● marks the best, where no waiting task could change that. Click a column head to sort.`}
    >
      {rows === undefined ? (
        <Loading title="Waiting for the race" />
      ) : rows.length === 0 ? (
        <Empty title="No figures yet" />
      ) : (
        <ScrollRegion label="Average metrics of every strategy">
          <div style={{ height: `min(100%, ${rows.length * 46 + 40}px)` }}>
            <table className="figure h-full w-full text-right text-xs">
              <Head
                columns={columns}
                by={by}
                onSort={(key) => change({ by_mean: key === "avg_latency" ? null : key })}
              />
              <tbody>
                {ordered(rows, by).map((row) => (
                  <Row key={row.name} columns={columns} row={row} best={best} face={face(row.name)} />
                ))}
              </tbody>
            </table>
          </div>
        </ScrollRegion>
      )}
    </Widget>
  );
}
