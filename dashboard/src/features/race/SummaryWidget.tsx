import { Link } from "react-router";
import type { Comparison } from "@/client/types";
import { Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count, dollars, gap, joules, percent, seconds } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";
import { useLive } from "@/live/store";

interface Column {
  key: string;
  label: string;
  of: (row: Comparison) => number | null;
  text: (value: number | null) => string;
  /** Whether the least value is marked as the best. */
  race: boolean;
}

const COLUMNS: readonly Column[] = [
  { key: "avg_time", label: "Time", of: (r) => r.avg_time, text: seconds, race: true },
  { key: "avg_latency", label: "Latency", of: (r) => r.avg_latency, text: seconds, race: true },
  { key: "p95_latency", label: "p95, recent", of: (r) => r.p95_latency, text: seconds, race: true },
  { key: "avg_wait", label: "Wait", of: (r) => r.avg_wait, text: seconds, race: true },
  { key: "avg_energy", label: "Energy", of: (r) => r.avg_energy, text: joules, race: true },
  { key: "avg_cost", label: "Cost", of: (r) => r.avg_cost, text: dollars, race: true },
  { key: "makespan_gap", label: "Gap", of: (r) => r.makespan_gap, text: gap, race: true },
  { key: "efficiency", label: "Efficiency", of: (r) => r.efficiency, text: (v) => percent(v), race: false },
  { key: "oom_count", label: "OOM", of: (r) => r.oom_count, text: count, race: false },
];

function bests(rows: readonly Comparison[]): Record<string, number> {
  return Object.fromEntries(
    COLUMNS.filter((c) => c.race).map((column) => [
      column.key,
      Math.min(...rows.map((row) => column.of(row) ?? Number.POSITIVE_INFINITY)),
    ]),
  );
}

/** The averages of every strategy in one table; the best of each column is marked. */
export function SummaryWidget() {
  const rows = useLive((s) => s.update?.comparison) ?? [];
  const face = useFaces();
  const best = bests(rows);
  const table = () => ({
    columns: ["scheduler", "tasks", ...COLUMNS.map((column) => column.key)],
    rows: rows.map((row) => [row.name, row.tasks, ...COLUMNS.map((column) => column.of(row))]),
  });
  return (
    <Widget
      title="Average metrics"
      table={table}
      foot="Means over the whole run, for each task; p95: latency of the latest 1,000 tasks. Gap: makespan above the proven bound. Efficiency: the oracle's execution time over the strategy's. OOM: shares that did not fit a GPU's memory. ● marks the best."
    >
      {rows.length === 0 ? (
        <Empty title="No figures yet" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section aria-label="Average metrics of every strategy" className="h-full overflow-auto" tabIndex={0}>
          <table className="figure h-full w-full text-right text-xs">
            <thead className="sticky top-0 z-10" style={{ background: "var(--panel-solid)" }}>
              <tr className="text-muted">
                <th scope="col" className="py-1.5 text-left font-medium">
                  Strategy
                </th>
                {COLUMNS.map((column) => (
                  <th key={column.key} scope="col" className="px-2 py-1.5 font-medium">
                    {column.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.name} className="border-t border-line" data-strategy={row.name}>
                  <th scope="row" className="py-1.5 text-left font-medium whitespace-nowrap">
                    <span
                      aria-hidden="true"
                      className="mr-2 inline-block size-2 rounded-full"
                      style={{ background: face(row.name).colour }}
                    />
                    <Link className="hover:underline" to={`/strategies/${row.name}`}>
                      {face(row.name).label}
                    </Link>
                  </th>
                  {COLUMNS.map((column) => {
                    const value = column.of(row);
                    const leads = column.race && value !== null && value === best[column.key];
                    return (
                      <td
                        key={column.key}
                        data-column={column.key}
                        className={`px-2 py-1.5 whitespace-nowrap ${leads ? "font-semibold text-good" : ""}`}
                      >
                        {leads && <span title="best">● </span>}
                        {column.text(value)}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Widget>
  );
}
