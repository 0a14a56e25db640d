import { Download } from "lucide-react";
import { useStoredRun } from "@/client/queries";
import { Choice } from "@/features/widgets/Choice";
import { WidgetGrid, type WidgetSpec } from "@/features/widgets/WidgetGrid";
import { spanText } from "@/lib/format";
import { useRunWords } from "@/lib/runWords";
import { useView } from "@/lib/url";
import { LoadWidget } from "./LoadWidget";
import { MotionWidget } from "./MotionWidget";
import { usePair } from "./pair";
import { QueueWidget } from "./QueueWidget";

const WIDGETS: readonly WidgetSpec[] = [
  {
    place: { i: "left", x: 0, y: 0, w: 6, h: 8, minW: 4, minH: 6 },
    title: "Node on the left",
    body: <MotionWidget side="left" />,
  },
  {
    place: { i: "right", x: 6, y: 0, w: 6, h: 8, minW: 4, minH: 6 },
    title: "Node on the right",
    body: <MotionWidget side="right" />,
  },
  {
    place: { i: "queue", x: 0, y: 8, w: 5, h: 9, minW: 4, minH: 5 },
    title: "Queue length",
    body: <QueueWidget />,
  },
  {
    place: { i: "load", x: 5, y: 8, w: 7, h: 9, minW: 4, minH: 5 },
    title: "Load ÷ capacity",
    body: <LoadWidget />,
    grows: true,
  },
];

function introOf(isMeasured: boolean, isAlone: boolean): string {
  if (isAlone) return "The devices of the one strategy of this run, and its queues.";
  return isMeasured
    ? "The same tasks on the same machine, once with each of two strategies."
    : "The same tasks at the same moments, on two nodes of the same devices.";
}

/** The node in motion: two strategies' devices and queues side by side. */
export function NodeView() {
  const [, change] = useView();
  const { names, spanS, spans } = usePair();
  const run = useStoredRun();
  const { isMeasured } = useRunWords();
  const options = spans.map((span) => ({
    key: String(span),
    label: isMeasured ? spanText(span) : `± ${spanText(span)}`,
  }));
  const chosen = (names ?? []).map((name) => `scheduler=${encodeURIComponent(name)}`).join("&");
  return (
    <>
      <title>Node · Hybrid ML Scheduler</title>
      <div className="mb-3 flex flex-wrap items-center gap-2 px-1">
        <p className="mr-auto max-w-3xl text-sm text-muted">
          {introOf(isMeasured, names !== null && names[0] === names[1])}
        </p>
        <Choice
          label="Simulated time around now"
          value={String(spanS)}
          options={options}
          onChange={(key) => change({ span: key === String(spans[1]) ? null : key })}
        />
        {names && (
          <a
            className="press"
            href={`/api/history/trace?${chosen}${run === null ? "" : `&run_id=${run}`}`}
            download
            title="What the devices did with the latest 10,000 tasks; open it at ui.perfetto.dev"
          >
            <Download size={14} aria-hidden="true" /> Perfetto trace
          </a>
        )}
      </div>
      <WidgetGrid view="node" widgets={WIDGETS} />
    </>
  );
}
