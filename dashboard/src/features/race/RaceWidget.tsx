import { useMemo } from "react";
import { RaceBars } from "@/charts/RaceBars";
import { type Extra, fittingScale, placed, type Racer, type Scale } from "@/charts/race";
import { useStoredRun } from "@/client/queries";
import type { Bound, Comparison } from "@/client/types";
import { Choice } from "@/features/widgets/Choice";
import { Empty, Loading } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { gap, NOTHING, seconds } from "@/lib/format";
import { termsOf } from "@/lib/glossary";
import { type Lead, leadOf } from "@/lib/lead";
import { METRICS, type MetricCard, metricCard, type RaceMetric } from "@/lib/metrics";
import { atLeast, countsText, hasPlace } from "@/lib/places";
import { useRunWords } from "@/lib/runWords";
import { useView } from "@/lib/url";
import { type FaceOf, isModelled, useFaces } from "@/lib/useStrategy";
import { useWindow, useWindowSearch } from "@/lib/window";
import { useLive } from "@/live/store";
import { BoundNote } from "./BoundNote";

/** The bound in the metric's own unit, where one is proven for the compared tasks. */
export function boundFor(
  metric: RaceMetric,
  bound: Bound,
  rows: readonly Pick<Comparison, "failed">[],
): number | null {
  if (metric === "makespan") return bound.makespan_s;
  // A task cannot be there sooner after its arrival than it can run: the bound on time is one on latency too.
  // Both are means over all compared tasks, so that they bound no mean of fewer, where some have failed.
  if (rows.some((row) => row.failed > 0)) return null;
  if ((metric === "time" || metric === "latency") && bound.execution_s !== null && bound.tasks > 0)
    return bound.execution_s / bound.tasks;
  return null;
}

const nothing = (key: string, label: string): Extra => ({ key, label, text: NOTHING, value: null });

/** What stands beside a lower end: the heads of the others, and nothing. */
const EMPTY: Partial<Record<RaceMetric, readonly Extra[]>> = {
  latency: [nothing("running", "Running"), nothing("waiting", "Waiting")],
  time: [nothing("gap", "Above bound")],
  makespan: [nothing("gap", "Above bound")],
};

/** What stands beside a value: its parts, or how far it is above its own bound. */
export function extrasOf(row: Comparison, metric: RaceMetric, isWhole: boolean): readonly Extra[] {
  if (row.is_behind) return EMPTY[metric] ?? [];
  if (metric === "latency") {
    const waiting = waitingOf(row);
    return [
      { key: "running", label: "Running", text: seconds(row.avg_time), value: row.avg_time },
      { key: "waiting", label: "Waiting", text: seconds(waiting), value: waiting },
    ];
  }
  if (!isWhole || (metric !== "time" && metric !== "makespan")) return [];
  const value = metric === "time" ? row.time_gap : row.makespan_gap;
  return [{ key: "gap", label: "Above bound", text: gap(value), value }];
}

/** From arrival to finish, what is not running: queues, and parents that are not ready. */
export function waitingOf(row: Comparison): number | null {
  return row.avg_latency === null || row.avg_time === null ? null : row.avg_latency - row.avg_time;
}

function racersOf(rows: readonly Comparison[], metric: MetricCard, face: FaceOf, isWhole: boolean): Racer[] {
  return rows.map((row) => {
    const { colour } = face(row.name);
    const label = face(row.name.replace(".modelled", "")).label;
    const value = row.is_behind ? atLeast(row, metric) : row.tasks > 0 ? metric.of(row) : null;
    return {
      name: row.name,
      label,
      colour,
      value,
      text: row.is_behind && value !== null ? `≥ ${metric.format(value)}` : metric.format(value),
      running: metric.key === "latency" ? row.avg_time : null,
      extras: extrasOf(row, metric.key, isWhole),
      counts: countsText(row).split(", "),
      hasPlace: hasPlace(row, metric.wire),
      isLeast: row.is_behind,
      isModelled: isModelled(row.name),
    };
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

/** Who leads and why, above the bars: what a phone and a screen reader say is what the chart shows. */
function LeadLine({ lead }: { lead: Lead }) {
  return (
    <p className="text-[0.8125rem] leading-snug" data-lead="">
      <span className="font-semibold">{lead.who}</span> {lead.why}
    </p>
  );
}

/** The performance race: bars, the sentence about them, and in the whole run the proven bound. */
export function RaceWidget() {
  const [params, changeView] = useView();
  const { rows, key, words } = useWindow();
  const search = useWindowSearch();
  const bound = useLive((s) => s.update?.bound);
  const isPast = useStoredRun() !== null;
  const face = useFaces();
  const metric = metricCard(params.get("metric"));
  const isWhole = key === "run";
  const racers = useMemo(() => racersOf(rows ?? [], metric, face, isWhole), [rows, metric, face, isWhole]);
  const scale = scaleOf(params.get("scale"), racers);
  // The bound is proven for the tasks of the whole run, so it stands beside no other window.
  const floor = bound && isWhole ? boundFor(metric.key, bound, rows ?? []) : null;
  const ranked = (rows ?? []).filter((row) => !isModelled(row.name));
  const lead = leadOf(ranked, metric, words, (name) => face(name).label, useRunWords().far);
  const rowOf = (name: string) => rows?.find((row) => row.name === name);
  const table = () => ({
    columns: [
      "scheduler",
      "label",
      "window",
      "finished",
      "waiting",
      metric.key,
      "is_lower_end",
      "rank",
      ...(racers[0]?.extras ?? []).map((e) => e.key),
      "bound",
    ],
    rows: placed(racers, scale, floor).map((racer) => [
      racer.name,
      racer.label,
      key,
      rowOf(racer.name)?.finished,
      rowOf(racer.name)?.waiting,
      racer.value,
      racer.isLeast,
      racer.rank,
      ...racer.extras.map((extra) => extra.value),
      floor,
    ]),
  });
  const controls = (
    <>
      <Choice
        label="Metric"
        value={metric.key}
        options={METRICS.map((m) => ({ key: m.key, label: m.label, short: m.short }))}
        onChange={(key) => changeView({ metric: key })}
      />
      <WindowChoice />
      <Choice label="Scale" value={scale} options={SCALES} onChange={(key) => changeView({ scale: key })} />
    </>
  );
  return (
    <Widget
      title="Performance race"
      meaning="Every strategy decides the same tasks at the same moments, each on a cluster of its own. A bar is the mean over the same tasks for all: those of the chosen window up to the last one that every strategy has finished that is not behind (makespan: the last finish of these, counted from the beginning of the window). A strategy that lets more than a tenth of them wait is behind: its open bar is what its figure will be at least, and no place is given that its waiting tasks could undo. There is no interval: the tasks of one run follow each other and are no independent repeats. The sentence above the bars is made from the same numbers. For a judgement with confidence intervals, run hms race --seeds."
      terms={termsOf(
        "time",
        "latency",
        "energy",
        "cost",
        "makespan",
        "waiting",
        "work",
        "bound",
        "timeGap",
        "makespanGap",
      )}
      controls={controls}
      table={table}
      foot={
        <BoundNote
          metric={metric}
          bound={isWhole ? bound : undefined}
          isPast={isPast}
          scale={scale}
          isLevel={isLevel(racers)}
        />
      }
    >
      {rows === undefined ? (
        <Loading title="Waiting for the race" />
      ) : racers.length === 0 ? (
        <Empty title="Nobody is racing yet">Start the race to see every strategy on the same stream.</Empty>
      ) : (
        <div className="flex h-full flex-col gap-2">
          <LeadLine lead={lead} />
          <div className="min-h-0 flex-1">
            <RaceBars
              racers={racers}
              scale={scale}
              bound={floor}
              boundText={metric.format(floor)}
              valueLabel={metric.short}
              format={metric.format}
              hrefOf={(name) => `/strategies/${name}${search}`}
            />
          </div>
        </div>
      )}
    </Widget>
  );
}
