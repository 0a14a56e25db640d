import { useMemo } from "react";
import { loadColumns, shiftMarkers } from "@/charts/series";
import { TimeChart } from "@/charts/TimeChart";
import { useLoadHistory } from "@/client/queries";
import type { ClusterLoad } from "@/client/types";
import { Answer, Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { percent } from "@/lib/format";
import { deviceColour } from "@/lib/palette";
import { useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { devicesOf } from "@/live/devices";
import { useLive } from "@/live/store";

const SPAN_S = 60;

/** Cluster load over the last minute: each band is one device. */
export function ClusterLoadWidget({ name }: { name: string }) {
  const answer = useLoadHistory(name, SPAN_S);
  const cluster = useLive((s) => s.update?.clusters[name] as ClusterLoad | undefined);
  const theme = useTheme((s) => s.theme);
  const words = useRunWords();
  const joined = devicesOf(cluster)
    .map(([device]) => device)
    .join(" ");
  const devices = useMemo(() => (joined ? joined.split(" ") : []), [joined]);
  const load = answer.data?.scheduler === name ? answer.data : undefined;
  const columns = useMemo(() => (load ? loadColumns(load, devices) : { xs: [], ys: [] }), [load, devices]);
  const markers = useMemo(() => (load ? shiftMarkers(load.shifts, load.edges_s.at(-1) ?? 0) : []), [load]);
  const names = useMemo(
    () =>
      devices.map((device, i) => ({
        key: device,
        label: words.device(device),
        colour: deviceColour(i, theme),
      })),
    [devices, theme, words],
  );
  const table = () => ({
    columns: ["simulated_seconds_before_newest", ...devices],
    rows: columns.xs.map((x, i) => [x, ...columns.ys.map((column) => column[i])]),
  });
  return (
    <Widget
      title="Cluster load, last 60 s"
      table={table}
      meaning="The last 60 simulated seconds before the newest stored arrival, in steps of half a second. Each band is the share of the step in which one device worked, from the times at which parts of tasks ran; stacked, so that 100 % is one device busy all the time. From the database, so that a reload or another browser shows the same."
      foot={
        words.isMeasured
          ? "Stacked busy shares over the seconds before the last finish: 100 % is one device busy all the time."
          : "Stacked busy shares over simulated time: 100 % is one device busy all the time. Amber lines are workload shifts."
      }
    >
      {devices.length === 0 ? (
        <Empty title="No cluster yet">The chart begins with the race.</Empty>
      ) : (
        <Answer
          data={load}
          error={answer.error}
          isEmpty={(found) => Object.keys(found.busy).length === 0}
          empty="Nothing has run yet"
        >
          {() => (
            <TimeChart
              label={`Load of the devices under ${name} over the last simulated minute`}
              names={names}
              columns={columns}
              markers={markers}
              theme={theme}
              spanS={SPAN_S}
              stack
              axisTitle="busy devices, stacked"
              format={(v) => percent(v)}
            />
          )}
        </Answer>
      )}
    </Widget>
  );
}
