import { useMemo } from "react";
import { TimeChart } from "@/charts/TimeChart";
import { useNode } from "@/client/queries";
import { Empty, Loading } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count, spanText } from "@/lib/format";
import { useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { useFaces } from "@/lib/useStrategy";
import { usePair } from "./pair";

const NO_MARKERS = [] as const;

/** How many parts waited, over the last simulated seconds, for both strategies. */
export function QueueWidget() {
  const { names, spanS } = usePair();
  const answer = useNode(names, spanS);
  const theme = useTheme((s) => s.theme);
  const face = useFaces();
  const motion = answer.data;
  const { isMeasured } = useRunWords();
  const columns = useMemo(() => {
    return {
      xs: (motion?.times_s ?? []).map((t) => t - (motion?.now_s ?? 0)),
      ys: (motion?.strategies ?? []).map((one) => one.waiting as number[]),
    };
  }, [motion]);
  const lines = useMemo(
    () =>
      (motion?.strategies ?? []).map(({ scheduler }) => {
        const { label, colour, dash } = face(scheduler);
        return { key: scheduler, label, colour, dash };
      }),
    [motion, face],
  );
  // Parts are whole: an axis of less than four would count halves.
  const longest = Math.max(0, ...columns.ys.flat());
  const table = () => ({
    columns: ["seconds_before_now", ...lines.map((line) => line.key)],
    rows: columns.xs.map((x, i) => [x, ...columns.ys.map((column) => column[i])]),
  });
  return (
    <Widget
      title="Queue length"
      meaning="Parts of tasks that were ready and had not begun, over all devices of a node, in simulated time. A line that keeps rising is a node that cannot keep up."
      table={table}
      foot={`Parts waiting over the last ${spanText(spanS)} of ${isMeasured ? "the run" : "simulated time"}.${motion?.is_complete === false ? " A queue is longer than what is counted here: the tasks of the latest 50,000." : ""}`}
    >
      {names === null ? (
        <Empty title="No race yet" />
      ) : columns.xs.length < 2 ? (
        <Loading title="Waiting for tasks" />
      ) : (
        <TimeChart
          label="Parts that wait on each node over the last simulated seconds"
          names={lines}
          columns={columns}
          markers={NO_MARKERS}
          theme={theme}
          spanS={spanS}
          {...(longest < 4 ? { top: 4 } : {})}
          axisTitle="parts waiting"
          format={count}
        />
      )}
    </Widget>
  );
}
