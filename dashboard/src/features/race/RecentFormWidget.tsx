import { lazy, useMemo } from "react";
import { isAtOnce, shiftMarkers, trendColumns } from "@/charts/series";
import { useModels, useTrend } from "@/client/queries";
import { Choice } from "@/features/widgets/Choice";
import { Answer } from "@/features/widgets/States";
import { WhenSeen } from "@/features/widgets/WhenSeen";
import { Widget } from "@/features/widgets/Widget";
import { count, seconds, tasksText } from "@/lib/format";
import { TERMS } from "@/lib/glossary";
import { useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { useView } from "@/lib/url";
import { useHidden } from "@/lib/useHidden";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { errorWords } from "./formError";

const TimeChart = lazy(async () => ({ default: (await import("@/charts/TimeChart")).TimeChart }));

const TASKS = 1000;
const POINTS = 60;

const KINDS = [
  { key: "latency", label: "Latency" },
  { key: "time", label: "Execution time", short: "Time" },
] as const;

const FIELDS = { latency: "avg_latency", time: "avg_time" } as const;

const SCALES = [
  { key: "linear", label: "Linear" },
  { key: "log", label: "Log" },
] as const;

/** Who adapts: the means of the latest stored tasks over simulated time, with a marker for every shift. */
export function RecentFormWidget() {
  const answer = useTrend(POINTS, TASKS);
  const models = useModels(100);
  const theme = useTheme((s) => s.theme);
  const racers = useRacers();
  const face = useFaces();
  const { isMeasured } = useRunWords();
  const [params, change] = useView();
  const kind = params.get("live") === "time" ? "time" : "latency";
  const scale = params.get("lscale") === "linear" ? "linear" : "log";
  const trend = answer.data;
  const columns = useMemo(
    () => (trend ? trendColumns(trend, racers, FIELDS[kind]) : { xs: [], ys: [] }),
    [trend, racers, kind],
  );
  const markers = useMemo(
    () => (trend ? shiftMarkers(trend.shifts, trend.points.at(-1)?.simulated_time_s ?? 0) : []),
    [trend],
  );
  const names = useMemo(
    () =>
      racers.map((name) => ({
        key: name,
        label: face(name).label,
        colour: face(name).colour,
        dash: face(name).dash,
      })),
    [racers, face],
  );
  const [hidden, pick] = useHidden(racers);
  const errors = errorWords(models.data?.models ?? [], (name) => face(name).label);
  const title = kind === "time" ? "mean execution time" : "mean latency";
  const table = () => ({
    columns: ["simulated_seconds_before_newest", ...racers],
    rows: columns.xs.map((x, i) => [x, ...columns.ys.map((column) => column[i])]),
  });
  return (
    <Widget
      title="Recent form"
      meaning={`The latest ${count(TASKS)} stored tasks of the run, cut into ${POINTS} stretches; each point is the mean of its stretch, on the simulated clock. From the database, so that a reload or another browser shows the same. A strategy that lets tasks of a stretch wait has a gap there. A mean of few tasks moves by chance. Click a name to see its line alone.`}
      terms={[TERMS[kind]]}
      table={table}
      controls={
        <>
          <Choice
            label="What is drawn"
            value={kind}
            options={KINDS}
            onChange={(key) => change({ live: key === "latency" ? null : key })}
          />
          <Choice
            label="Scale of the chart"
            value={scale}
            options={SCALES}
            onChange={(key) => change({ lscale: key })}
          />
        </>
      }
      foot={
        trend && isAtOnce(trend)
          ? undefined
          : `Each point: the mean of ${tasksText(trend?.tasks_per_point)}. The axis is ${isMeasured ? "" : "simulated "}time; where nothing arrived, or tasks still wait, there is a gap.${isMeasured ? "" : " Amber lines are workload shifts."}${errors && ` ${errors}`}`
      }
    >
      <Answer
        data={trend}
        error={answer.error}
        isEmpty={(t) => t.points.length < 2 || isAtOnce(t)}
        empty={
          trend && isAtOnce(trend) && trend.points.length > 1
            ? "All tasks came at the same moment: History shows them one after the other"
            : "Too few stored tasks for a line"
        }
      >
        {() => (
          <WhenSeen>
            <TimeChart
              label={`Recent mean of every strategy over the latest ${count(TASKS)} tasks`}
              names={names}
              columns={columns}
              markers={markers}
              theme={theme}
              spanS={Math.max(1, -(columns.xs[0] ?? 0))}
              log={scale === "log"}
              axisTitle={scale === "log" ? `${title}, log` : title}
              hidden={hidden}
              onPick={pick}
              format={seconds}
            />
          </WhenSeen>
        )}
      </Answer>
    </Widget>
  );
}
