import { useMemo } from "react";
import { Legend } from "@/charts/Legend";
import { isAtOnce, shiftLabel } from "@/charts/series";
import { TrendLines } from "@/charts/TrendLines";
import { useTrend } from "@/client/queries";
import type { Trend } from "@/client/types";
import { Choice } from "@/features/widgets/Choice";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count, tasksText } from "@/lib/format";
import { TERMS } from "@/lib/glossary";
import { isTaskMetric, metricCard, TASK_METRICS } from "@/lib/metrics";
import { useView } from "@/lib/url";
import { useHidden } from "@/lib/useHidden";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { strategiesOf, TIME_AXIS, timeOfTask, trendRows } from "./trend";

const OPTIONS = TASK_METRICS.map((key) => ({
  key,
  label: metricCard(key).label,
  short: metricCard(key).short,
}));
const SCALES = [
  { key: "linear", label: "Linear" },
  { key: "log", label: "Log" },
] as const;

/** Where the forest was retrained. */
function trainingsOf(trend: Trend): number[] {
  return trend.models.flatMap((model) => timeOfTask(trend, model.task_id) ?? []);
}

/** The long-term trend of the whole run. */
export function TrendWidget() {
  const [params, change] = useView();
  const answer = useTrend(160);
  const racers = useRacers();
  const face = useFaces();
  const wish = params.get("trend");
  const metric = isTaskMetric(wish) ? wish : "latency";
  const scale = params.get("tscale") === "linear" ? "linear" : "log";
  const trend = answer.data;
  const names = useMemo(() => {
    const found = trend ? strategiesOf(trend) : [];
    return [...racers.filter((n) => found.includes(n)), ...found.filter((n) => !racers.includes(n))].map(
      (key) => ({ key, label: face(key).label, colour: face(key).colour, dash: face(key).dash }),
    );
  }, [trend, racers, face]);
  const keys = useMemo(() => names.map((name) => name.key), [names]);
  const [hidden, pick] = useHidden(keys);
  const drawn = useMemo(() => names.filter((name) => !hidden.has(name.key)), [names, hidden]);
  const points = useMemo(
    () => (trend ? trendRows(trend, metric, keys, scale === "log") : []),
    [trend, metric, keys, scale],
  );
  const shifts = useMemo(
    () => (trend?.shifts ?? []).map((shift) => ({ x: shift.simulated_time_s, text: shiftLabel(shift) })),
    [trend],
  );
  const trainings = useMemo(() => (trend ? trainingsOf(trend) : []), [trend]);
  const table = () => ({
    columns: ["simulated_time_s", "last_task_id", ...keys],
    rows: points.map((row) => [row.x, row.task, ...keys.map((key) => row[key])]),
  });
  const controls = (
    <>
      <Choice
        label="Metric of the trend"
        value={metric}
        options={OPTIONS}
        onChange={(key) => change({ trend: key })}
      />
      <Choice
        label="Scale of the trend"
        value={scale}
        options={SCALES}
        onChange={(key) => change({ tscale: key })}
      />
    </>
  );
  const marks =
    trainings.length === 0
      ? ""
      : `, small cyan ticks on the axis ${trainings.length === 1 ? "the newest retraining" : `the newest ${count(trainings.length)} retrainings`}`;
  const along =
    trend && isAtOnce(trend)
      ? "All tasks came at the same moment, so they stand in their order."
      : `Amber lines are workload shifts${marks}.`;
  const note = `Each point is the mean over ${tasksText(trend?.tasks_per_point)}, without smoothing. ${along}`;
  return (
    <Widget
      title="Long-term trend"
      meaning="The stored results of the whole run, cut into stretches of equally many tasks; each point is the mean of its stretch on the simulated clock, and nothing is smoothed. Where nothing arrived for long, there is a gap. The newest stretch joins when it is half full. Click a name to see its line alone."
      terms={[TERMS[metric]]}
      table={table}
      controls={controls}
      foot={points.length > 1 ? note : undefined}
    >
      <Answer
        data={trend}
        error={answer.error}
        isEmpty={(t) => t.points.length < 2}
        empty="Too little history for a trend"
      >
        {() => (
          <div className="flex h-full flex-col gap-2">
            <Legend entries={names} hidden={hidden} onPick={pick} />
            <div className="min-h-0 flex-1">
              <TrendLines
                label={`Long-term trend of ${metricCard(metric).label.toLowerCase()}`}
                names={drawn}
                points={points}
                shifts={shifts}
                trainings={trainings}
                log={scale === "log"}
                {...(trend && isAtOnce(trend) ? {} : { axis: TIME_AXIS })}
                axisTitle={`mean ${metricCard(metric).label.toLowerCase()}${scale === "log" ? ", log" : ""}`}
                format={metricCard(metric).format}
              />
            </div>
          </div>
        )}
      </Answer>
    </Widget>
  );
}
