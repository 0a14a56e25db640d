import { WidgetGrid, type WidgetSpec } from "@/features/widgets/WidgetGrid";
import { AskWidget } from "./AskWidget";
import { CorrelationWidget } from "./CorrelationWidget";
import { HeatWidget } from "./HeatWidget";
import { LedgerWidget } from "./LedgerWidget";
import { SizesWidget } from "./SizesWidget";

const WIDGETS: readonly WidgetSpec[] = [
  {
    place: { i: "ledger", x: 0, y: 0, w: 12, h: 11, minW: 6, minH: 6 },
    title: "Ledger",
    body: <LedgerWidget />,
  },
  {
    place: { i: "heat", x: 0, y: 11, w: 4, h: 8, minW: 3, minH: 6 },
    title: "Best device",
    body: <HeatWidget />,
    grows: true,
  },
  {
    place: { i: "sizes", x: 4, y: 11, w: 4, h: 8, minW: 3, minH: 5 },
    title: "Task sizes",
    body: <SizesWidget />,
  },
  {
    place: { i: "correlation", x: 8, y: 11, w: 4, h: 8, minW: 3, minH: 6 },
    title: "Correlations",
    body: <CorrelationWidget />,
    grows: true,
  },
  { place: { i: "ask", x: 0, y: 19, w: 12, h: 8, minW: 5, minH: 6 }, body: <AskWidget />, grows: true },
];

/** The tasks themselves: the ledger and what their numbers say. */
export function TasksView() {
  return (
    <>
      <title>Tasks · Hybrid ML Scheduler</title>
      <WidgetGrid view="tasks" widgets={WIDGETS} />
    </>
  );
}
