import { WidgetGrid, type WidgetSpec } from "@/features/widgets/WidgetGrid";
import { LogWidget } from "./LogWidget";
import { RaceWidget } from "./RaceWidget";
import { RecentFormWidget } from "./RecentFormWidget";
import { ScatterWidget } from "./ScatterWidget";
import { SummaryWidget } from "./SummaryWidget";
import { WinWidget } from "./WinWidget";

const WIDGETS: readonly WidgetSpec[] = [
  {
    place: { i: "race", x: 0, y: 0, w: 8, h: 11, minW: 4, minH: 7 },
    title: "Performance race",
    body: <RaceWidget />,
    grows: true,
  },
  {
    place: { i: "scatter", x: 8, y: 0, w: 4, h: 7, minW: 3, minH: 5 },
    title: "Workload",
    body: <ScatterWidget />,
  },
  { place: { i: "log", x: 8, y: 7, w: 4, h: 4, minW: 3, minH: 3 }, title: "Live log", body: <LogWidget /> },
  {
    place: { i: "summary", x: 0, y: 11, w: 12, h: 10, minW: 4, minH: 5 },
    title: "Average metrics",
    body: <SummaryWidget />,
    grows: true,
  },
  {
    place: { i: "wins", x: 0, y: 21, w: 5, h: 10, minW: 4, minH: 6 },
    title: "Win/loss matrix",
    body: <WinWidget />,
    grows: true,
  },
  {
    place: { i: "form", x: 5, y: 21, w: 7, h: 10, minW: 4, minH: 5 },
    title: "Recent form",
    body: <RecentFormWidget />,
    grows: true,
  },
];

/** Global comparison: who leads, by how much, and what nobody can beat. */
export function RaceView() {
  return (
    <>
      <title>Race · Hybrid ML Scheduler</title>
      <WidgetGrid view="race" widgets={WIDGETS} />
    </>
  );
}
