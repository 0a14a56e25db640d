import { WidgetGrid, type WidgetSpec } from "@/features/widgets/WidgetGrid";
import { CollectionWidget } from "./CollectionWidget";
import { ModelErrorWidget } from "./ModelErrorWidget";
import { ModelsWidget } from "./ModelsWidget";
import { TrendWidget } from "./TrendWidget";

const WIDGETS: readonly WidgetSpec[] = [
  {
    place: { i: "trend", x: 0, y: 0, w: 12, h: 10, minW: 5, minH: 6 },
    title: "Long-term trend",
    body: <TrendWidget />,
    grows: true,
  },
  {
    place: { i: "models", x: 0, y: 10, w: 7, h: 8, minW: 4, minH: 5 },
    title: "Retraining history",
    body: <ModelsWidget />,
  },
  {
    place: { i: "errors", x: 7, y: 10, w: 5, h: 8, minW: 3, minH: 5 },
    title: "Error after each retraining",
    body: <ModelErrorWidget />,
    grows: true,
  },
  {
    place: { i: "collection", x: 0, y: 18, w: 12, h: 5, minW: 3, minH: 4 },
    title: "Data collection",
    body: <CollectionWidget />,
    grows: true,
  },
];

/** Historical analysis: the long run, the retrainings, and what has been collected. */
export function HistoryView() {
  return (
    <>
      <title>History · Hybrid ML Scheduler</title>
      <WidgetGrid view="history" widgets={WIDGETS} />
    </>
  );
}
