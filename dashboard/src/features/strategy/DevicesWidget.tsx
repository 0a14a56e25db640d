import type { ClusterLoad } from "@/client/types";
import { Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count, percent, seconds } from "@/lib/format";
import { TERMS, termsOf } from "@/lib/glossary";
import { deviceColour } from "@/lib/palette";
import { useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { devicesOf } from "@/live/devices";
import { useLive } from "@/live/store";

const HEADS = [
  { key: "busy60", brief: "60 s" },
  { key: "busyRun", brief: "Run" },
  { key: "queue", brief: "Queue" },
  { key: "backlog", brief: "Free in" },
] as const;

/** Each device of this strategy's cluster: how busy, how long its queue. */
export function DevicesWidget({ name }: { name: string }) {
  const cluster = useLive((s) => s.update?.clusters[name] as ClusterLoad | undefined);
  const theme = useTheme((s) => s.theme);
  const devices = devicesOf(cluster);
  const words = useRunWords();
  const table = () => ({
    columns: ["device", "utilization_60s", "utilization_run", "queue_length", "backlog_s"],
    rows: devices.map(([device, load]) => [
      device,
      load.utilization,
      load.run_utilization,
      load.queue_length,
      load.backlog_s,
    ]),
  });
  return (
    <Widget
      title="Devices and queues"
      meaning={
        words.isMeasured
          ? "The devices of the machine while this strategy placed the tasks; the last 60 seconds are those before the last finish."
          : "The devices of this strategy's own cluster, in simulated time."
      }
      terms={termsOf("busy60", "busyRun", "queue", "backlog")}
      table={table}
    >
      {devices.length === 0 ? (
        <Empty title="No cluster yet" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section aria-label="Load of every device" className="h-full overflow-auto" tabIndex={0}>
          <table className="figure w-full text-right text-xs whitespace-nowrap">
            <thead className="text-muted">
              <tr>
                <th scope="col" className="py-1 text-left font-medium">
                  Device
                </th>
                {HEADS.map(({ key, brief }) => (
                  <th key={key} scope="col" title={TERMS[key].meaning} className="py-1 pl-3 font-medium">
                    <span className="sm:hidden">{brief}</span>
                    <span className="max-sm:hidden">{TERMS[key].term}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {devices.map(([device, load], i) => (
                <tr key={device} className="border-t border-line" data-device={device}>
                  <th scope="row" className="py-1.5 text-left font-medium">
                    <span
                      aria-hidden="true"
                      className="mr-2 inline-block size-2 rounded-full"
                      style={{ background: deviceColour(i, theme) }}
                    />
                    {words.device(device)}
                  </th>
                  <td>
                    <span className="inline-flex items-center gap-2">
                      <span
                        aria-hidden="true"
                        className="inline-block h-1.5 w-16 overflow-hidden rounded-full bg-raised max-sm:hidden"
                      >
                        <span
                          className="block h-full rounded-full"
                          style={{ width: `${load.utilization * 100}%`, background: deviceColour(i, theme) }}
                        />
                      </span>
                      <span className="w-10">{percent(load.utilization)}</span>
                    </span>
                  </td>
                  <td>{percent(load.run_utilization)}</td>
                  <td>{count(load.queue_length)}</td>
                  <td>{seconds(load.backlog_s)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Widget>
  );
}
