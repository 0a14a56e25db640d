import { useMemo } from "react";
import { RaceBars } from "@/charts/RaceBars";
import { fittingScale, type Racer, type Scale } from "@/charts/race";
import type { Bound, Comparison } from "@/client/types";
import { Choice } from "@/features/widgets/Choice";
import { Empty, Loading } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { termsOf } from "@/lib/glossary";
import { METRICS, type MetricCard, metricCard, type RaceMetric } from "@/lib/metrics";
import { useView } from "@/lib/url";
import { type FaceOf, useFaces } from "@/lib/useStrategy";
import { useLive } from "@/live/store";
import { BoundNote } from "./BoundNote";

/** The bound in the metric's own unit, where one is proven: it is renewed every few seconds and holds for later tasks too. */
export function boundFor(metric: RaceMetric, bound: Bound): number | null {
  if (metric === "makespan") return bound.makespan_s;
  // A task cannot be there sooner after its arrival than it can run: the bound on time is one on latency too.
  if ((metric === "time" || metric === "latency") && bound.execution_s !== null && bound.tasks > 0)
    return bound.execution_s / bound.tasks;
  return null;
}

/** How far above the bound that is proven for this metric; there is none for the others. */
function gapOf(row: Comparison, metric: RaceMetric): number | null {
  return metric === "time" ? row.time_gap : metric === "makespan" ? row.makespan_gap : null;
}

function racersOf(rows: readonly Comparison[], metric: MetricCard, face: FaceOf): Racer[] {
  return rows.map((row) => {
    const { label, colour } = face(row.name);
    const value = row.tasks > 0 ? metric.of(row) : null;
    const gap = gapOf(row, metric.key);
    return { name: row.name, label, colour, value, text: metric.format(value), gap };
  });
}

/** Whether all values read alike, so that there is nothing to rank. */
const isLevel = (racers: readonly Racer[]): boolean =>
  racers.length > 1 && racers.every((racer) => racer.value !== null && racer.text === racers[0]?.text);

function scaleOf(wish: string | null, racers: readonly Racer[]): Scale {
  return wish === "linear" || wish === "log" ? wish : fittingScale(racers.map((racer) => racer.value));
}

const SCALES = [
  { key: "linear", label: "Linear" },
  { key: "log", label: "Log" },
] as const;

/** The performance race with its proven bound. */
export function RaceWidget() {
  const [params, changeView] = useView();
  const rows = useLive((s) => s.update?.comparison);
  const bound = useLive((s) => s.update?.bound);
  const face = useFaces();
  const metric = metricCard(params.get("metric"));
  const racers = useMemo(() => racersOf(rows ?? [], metric, face), [rows, metric, face]);
  const scale = scaleOf(params.get("scale"), racers);
  const floor = bound ? boundFor(metric.key, bound) : null;
  const table = () => ({
    columns: ["scheduler", "label", metric.key, "gap", "bound"],
    rows: racers.map((racer) => [racer.name, racer.label, racer.value, racer.gap, floor]),
  });
  const controls = (
    <>
      <Choice
        label="Metric"
        value={metric.key}
        options={METRICS.map((m) => ({ key: m.key, label: m.label, short: m.short }))}
        onChange={(key) => changeView({ metric: key })}
      />
      <Choice label="Scale" value={scale} options={SCALES} onChange={(key) => changeView({ scale: key })} />
    </>
  );
  return (
    <Widget
      title="Performance race"
      meaning="Every strategy decides the same tasks at the same moments, each on a cluster of its own. A bar is the mean over all finished tasks of this run (makespan: the last finish), without an interval: the tasks of one run follow each other and are no independent repeats. For a judgement with confidence intervals, run hms race --seeds."
      terms={termsOf("time", "latency", "energy", "cost", "makespan", "bound", "timeGap", "makespanGap")}
      controls={controls}
      table={table}
      foot={<BoundNote metric={metric} bound={bound} scale={scale} isLevel={isLevel(racers)} />}
    >
      {rows === undefined ? (
        <Loading title="Waiting for the race" />
      ) : racers.length === 0 ? (
        <Empty title="Nobody is racing yet">Start the race to see every strategy on the same stream.</Empty>
      ) : (
        <RaceBars
          racers={racers}
          scale={scale}
          bound={floor}
          boundText={metric.format(floor)}
          valueLabel={metric.short}
          format={metric.format}
          hasGap={metric.key === "time" || metric.key === "makespan"}
          hrefOf={(name) => `/strategies/${name}`}
        />
      )}
    </Widget>
  );
}
