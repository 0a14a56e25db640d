import { Widget } from "@/features/widgets/Widget";
import { percent } from "@/lib/format";
import { termsOf } from "@/lib/glossary";
import { METRICS } from "@/lib/metrics";
import { countsText } from "@/lib/places";
import { useFaces } from "@/lib/useStrategy";
import { useWindow } from "@/lib/window";
import { rankOf, rivalsOf } from "./standing";
import { useRow } from "./useRow";

/** Efficiency in execution time, with the oracle at 100 %, and the place in every metric. */
export function EfficiencyWidget({ name }: { name: string }) {
  const row = useRow(name);
  const { rows, words } = useWindow();
  const { colour } = useFaces()(name);
  const share = row?.efficiency ?? null;
  const places = METRICS.map((metric) => ({
    metric,
    value: row ? metric.of(row) : null,
    rank: rankOf(rows ?? [], name, metric),
  }));
  const table = () => ({
    columns: [
      "scheduler",
      "finished",
      "waiting",
      "efficiency",
      ...places.flatMap(({ metric }) => [metric.key, `${metric.key}_rank`]),
    ],
    rows: [[name, row?.finished, row?.waiting, share, ...places.flatMap(({ value, rank }) => [value, rank])]],
  });
  return (
    <Widget
      title="Efficiency"
      meaning="How close this strategy comes to the oracle in execution time, and its place among all strategies of this race by each mean, over the tasks of the chosen window; values that read alike share a place. Where waiting tasks could still change it, there is none. A place is no proof of a difference."
      terms={termsOf("efficiency", "time", "latency", "energy", "cost", "makespan")}
      table={table}
    >
      <div className="flex h-full flex-col justify-between gap-2.5 overflow-auto">
        <div>
          <p className="flex items-baseline gap-2">
            <span
              className="figure text-3xl font-semibold tracking-tight whitespace-nowrap"
              data-figure="efficiency"
              style={{ color: colour }}
            >
              {percent(share, 1)}
            </span>
            <span className="text-xs text-muted" title={`Figures ${words}`}>
              of the oracle's speed
            </span>
          </p>
          {row && (
            <p className="text-xs text-muted" data-counts="">
              {countsText(row)}
              {row.is_behind && ". It has no place while tasks of the comparison wait."}
            </p>
          )}
          <div className="mt-2 h-1.5 overflow-hidden rounded-full bg-raised" aria-hidden="true">
            <div
              className="h-full rounded-full transition-[width] duration-500"
              style={{ width: `${Math.min(1, share ?? 0) * 100}%`, background: colour }}
            />
          </div>
        </div>
        <table className="figure w-full text-right text-xs">
          <caption className="sr-only">Value and place in every metric</caption>
          <tbody>
            {places.map(({ metric, value, rank }) => (
              <tr key={metric.key} title={metric.meaning}>
                <th scope="row" className="py-[3px] text-left font-normal text-muted">
                  {metric.label}
                </th>
                <td className="font-medium">{metric.format(value)}</td>
                <td className="w-16 pl-2 whitespace-nowrap text-muted">
                  {rank === null ? "–" : `#${rank} of ${rivalsOf(rows ?? [], name).length}`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Widget>
  );
}
