import { useMemo } from "react";
import { columnsOf, lastSeconds, shiftMarkers } from "@/charts/series";
import { TimeChart } from "@/charts/TimeChart";
import type { ClusterLoad } from "@/client/types";
import { Empty, Watching } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { percent } from "@/lib/format";
import { deviceColour } from "@/lib/palette";
import { useTheme } from "@/lib/theme";
import { deviceLabel, devicesOf } from "@/live/devices";
import { useLive } from "@/live/store";

const SPAN_S = 60;

/** Cluster load over the last minute: each band is one device. */
export function ClusterLoadWidget({ name }: { name: string }) {
  const samples = useLive((s) => s.samples);
  const shifts = useLive((s) => s.shifts);
  const cluster = useLive((s) => s.update?.clusters[name] as ClusterLoad | undefined);
  const theme = useTheme((s) => s.theme);
  const joined = devicesOf(cluster)
    .map(([device]) => device)
    .join(" ");
  const devices = useMemo(() => (joined ? joined.split(" ") : []), [joined]);
  const recent = useMemo(() => lastSeconds(samples, SPAN_S), [samples]);
  const columns = useMemo(
    () => columnsOf(recent, devices, (sample, device) => sample.load[name]?.[device]),
    [recent, devices, name],
  );
  const markers = useMemo(() => shiftMarkers(shifts, recent), [shifts, recent]);
  const names = useMemo(
    () =>
      devices.map((device, i) => ({
        key: device,
        label: deviceLabel(device),
        colour: deviceColour(i, theme),
      })),
    [devices, theme],
  );
  const table = () => ({
    columns: ["seconds_before_now", ...devices],
    rows: columns.xs.map((x, i) => [x, ...columns.ys.map((column) => column[i])]),
  });
  return (
    <Widget
      title="Cluster load, last 60 s"
      table={table}
      meaning="The last 60 seconds of your time. Each band is one device's busy share over the 60 simulated seconds before the point; stacked, so that 100 % is one device busy all the time and 500 % all five. Part of a minute is empty while the tab is young."
      foot="Stacked busy shares: 100 % is one device busy all the time. Amber lines are workload shifts."
    >
      {devices.length === 0 ? (
        <Empty title="No cluster yet">The chart begins with the race.</Empty>
      ) : recent.length < 2 ? (
        <Watching />
      ) : (
        <TimeChart
          label={`Load of the devices under ${name} over the last minute`}
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
    </Widget>
  );
}
