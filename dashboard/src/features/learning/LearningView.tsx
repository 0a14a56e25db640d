import { ModelErrorWidget } from "@/features/history/ModelErrorWidget";
import { ModelsWidget } from "@/features/history/ModelsWidget";
import { WidgetGrid, type WidgetSpec } from "@/features/widgets/WidgetGrid";
import { AdaptWidget } from "./AdaptWidget";
import { BeliefsWidget } from "./BeliefsWidget";
import { PriceWidget } from "./PriceWidget";
import { RecoveryWidget } from "./RecoveryWidget";

const WIDGETS: readonly WidgetSpec[] = [
  {
    place: { i: "adapted", x: 0, y: 0, w: 7, h: 10, minW: 5, minH: 6 },
    title: "Who adapted",
    body: <AdaptWidget />,
    grows: true,
  },
  {
    place: { i: "recovery", x: 7, y: 0, w: 5, h: 10, minW: 4, minH: 5 },
    title: "Recovery after the change",
    body: <RecoveryWidget />,
    grows: true,
  },
  {
    place: { i: "beliefs", x: 0, y: 10, w: 7, h: 11, minW: 4, minH: 6 },
    title: "Believed against happened",
    body: <BeliefsWidget />,
    grows: true,
  },
  {
    place: { i: "price", x: 7, y: 10, w: 5, h: 11, minW: 4, minH: 5 },
    title: "The price of not knowing",
    body: <PriceWidget />,
    grows: true,
  },
  {
    place: { i: "errors", x: 0, y: 21, w: 5, h: 8, minW: 3, minH: 5 },
    title: "Error after each retraining",
    body: <ModelErrorWidget />,
    grows: true,
  },
  {
    place: { i: "models", x: 5, y: 21, w: 7, h: 8, minW: 4, minH: 5 },
    title: "Retraining history",
    body: <ModelsWidget />,
  },
];

/** Learning made visible: who adapts to a change, what is believed and what happens, and what the guard refuses. */
export function LearningView() {
  return (
    <>
      <title>Learning · Hybrid ML Scheduler</title>
      <WidgetGrid view="learning" widgets={WIDGETS} />
    </>
  );
}
