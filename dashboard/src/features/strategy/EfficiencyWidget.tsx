import { Widget } from "@/features/widgets/Widget";
import { gap, percent, seconds } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";
import { useRow } from "./useRow";

/** Efficiency in execution time: the oracle is 100 %. */
export function EfficiencyWidget({ name }: { name: string }) {
  const row = useRow(name);
  const face = useFaces();
  const share = row?.efficiency ?? null;
  const table = () => ({
    columns: ["scheduler", "efficiency", "makespan_s", "makespan_gap"],
    rows: [[name, share, row?.makespan, row?.makespan_gap]],
  });
  return (
    <Widget
      title="Efficiency"
      table={table}
      foot="The oracle's execution time over this strategy's: 100 % is the oracle."
    >
      <div className="flex h-full flex-col justify-center gap-3">
        <p
          className="figure text-4xl font-semibold tracking-tight"
          data-figure="efficiency"
          style={{ color: face(name).colour }}
        >
          {percent(share, 1)}
        </p>
        <div className="h-2 overflow-hidden rounded-full bg-raised" aria-hidden="true">
          <div
            className="h-full rounded-full transition-[width] duration-500"
            style={{ width: `${Math.min(1, share ?? 0) * 100}%`, background: face(name).colour }}
          />
        </div>
        <p className="figure text-xs text-muted">
          Makespan {seconds(row?.makespan)}, <span className="text-ink">{gap(row?.makespan_gap)}</span> above
          the proven bound.
        </p>
      </div>
    </Widget>
  );
}
