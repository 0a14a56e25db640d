import { useMemo } from "react";
import { columnsOf, lastSeconds, recentMeans, shiftMarkers, spanOf } from "@/charts/series";
import { TimeChart } from "@/charts/TimeChart";
import { Choice } from "@/features/widgets/Choice";
import { Empty, Watching } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { seconds } from "@/lib/format";
import { TERMS } from "@/lib/glossary";
import { useTheme } from "@/lib/theme";
import { useView } from "@/lib/url";
import { useHidden } from "@/lib/useHidden";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { useLive } from "@/live/store";

const SPAN_S = 120;
const STRETCH_S = 10;

const KINDS = [
  { key: "latency", label: "Latency" },
  { key: "time", label: "Execution time", short: "Time" },
] as const;

const SCALES = [
  { key: "linear", label: "Linear" },
  { key: "log", label: "Log" },
] as const;

/** Who adapts: recent means as this tab saw them, with a marker for every shift. */
export function RecentFormWidget() {
  const samples = useLive((s) => s.samples);
  const shifts = useLive((s) => s.shifts);
  const theme = useTheme((s) => s.theme);
  const racers = useRacers();
  const face = useFaces();
  const [params, change] = useView();
  const kind = params.get("live") === "time" ? "time" : "latency";
  const scale = params.get("lscale") === "linear" ? "linear" : "log";
  const recent = useMemo(() => lastSeconds(samples, SPAN_S), [samples]);
  const columns = useMemo(() => {
    const { xs } = columnsOf(recent, [], () => null);
    return {
      xs,
      ys: racers.map((name) => recentMeans(samples, name, kind, STRETCH_S).slice(-recent.length)),
    };
  }, [samples, recent, racers, kind]);
  const markers = useMemo(() => shiftMarkers(shifts, recent), [shifts, recent]);
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
  const spanS = spanOf(-(columns.xs[0] ?? 0), SPAN_S);
  const title = kind === "time" ? "mean execution time" : "mean latency";
  const table = () => ({
    columns: ["seconds_before_now", ...racers],
    rows: columns.xs.map((x, i) => [x, ...columns.ys.map((column) => column[i])]),
  });
  return (
    <Widget
      title="Recent form"
      meaning={`For each strategy the mean of the tasks decided in the ${STRETCH_S} wall seconds before each point, as this tab watched; it begins when the tab is opened. A mean of few tasks moves by chance. Click a name to see its line alone.`}
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
      foot={`Each point: the mean of the ${STRETCH_S} s before it, as this tab watched. Amber lines are workload shifts. The whole run is under History.`}
    >
      {racers.length === 0 ? (
        <Empty title="Nothing to draw yet">The chart begins with the second update.</Empty>
      ) : recent.length < 2 ? (
        <Watching />
      ) : (
        <TimeChart
          label="Recent mean of every strategy over the last two minutes"
          names={names}
          columns={columns}
          markers={markers}
          theme={theme}
          spanS={spanS}
          log={scale === "log"}
          axisTitle={scale === "log" ? `${title}, log` : title}
          hidden={hidden}
          onPick={pick}
          format={seconds}
        />
      )}
    </Widget>
  );
}
