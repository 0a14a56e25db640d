import { OracleRadar } from "@/charts/OracleRadar";
import { spokes } from "@/charts/radar";
import { Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { termsOf } from "@/lib/glossary";
import { METRICS } from "@/lib/metrics";
import { countsText } from "@/lib/places";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { useWindow } from "@/lib/window";
import { useRow } from "./useRow";

/** The strategy against the oracle on every measure. */
export function RadarWidget({ name }: { name: string }) {
  const mine = useRow(name);
  const oracle = useRow("oracle");
  const { words } = useWindow();
  const racing = useRacers().length > 0;
  const face = useFaces();
  const measures = METRICS.map((metric) => ({
    axis: metric.short,
    mine: mine && mine.tasks > 0 ? metric.of(mine) : null,
    oracle: oracle && oracle.tasks > 0 ? metric.of(oracle) : null,
  }));
  const found = spokes(measures);
  const table = () => ({
    columns: ["measure", "ratio_to_oracle"],
    rows: found.map((spoke) => [spoke.axis, spoke.ratio]),
  });
  return (
    <Widget
      title="Against the oracle"
      meaning="Each spoke is this strategy's value ÷ the oracle's, over the tasks of the chosen window. The radius is ratio ÷ (1 + ratio), so that the oracle is always the dashed ring, twice as much is two thirds out, and nothing collapses or runs away."
      terms={termsOf("time", "latency", "energy", "cost", "makespan")}
      table={table}
      foot={`${words.charAt(0).toUpperCase()}${words.slice(1)}. Inside the dashed ring is better than the oracle. It ignores queues, so it can be beaten in latency and makespan.`}
    >
      {found.every((spoke) => spoke.ratio === null) ? (
        <Empty
          title={
            mine?.is_behind
              ? `Behind: ${countsText(mine)}`
              : oracle || !racing
                ? "No finished tasks yet"
                : "The oracle does not race"
          }
        >
          {racing && !oracle && "Without it there is nothing to compare with."}
        </Empty>
      ) : (
        <OracleRadar
          spokes={found}
          colour={face(name).colour}
          oracleColour={face("oracle").colour}
          label={face(name).label}
        />
      )}
    </Widget>
  );
}
