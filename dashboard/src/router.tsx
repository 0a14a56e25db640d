/** The views. Only the race is loaded at first; the rest comes when it is asked for. */
import { createBrowserRouter } from "react-router";
import { Crash } from "@/features/shell/Crash";
import { Lost } from "@/features/shell/Lost";
import { Shell } from "@/features/shell/Shell";

export const router = createBrowserRouter([
  {
    path: "/",
    Component: Shell,
    ErrorBoundary: Crash,
    HydrateFallback: () => null,
    children: [
      { index: true, lazy: async () => ({ Component: (await import("@/features/race/RaceView")).RaceView }) },
      {
        path: "strategies/:name?",
        lazy: async () => ({ Component: (await import("@/features/strategy/StrategyView")).StrategyView }),
      },
      {
        path: "node",
        lazy: async () => ({ Component: (await import("@/features/node/NodeView")).NodeView }),
      },
      {
        path: "tasks",
        lazy: async () => ({ Component: (await import("@/features/tasks/TasksView")).TasksView }),
      },
      {
        path: "learning",
        lazy: async () => ({ Component: (await import("@/features/learning/LearningView")).LearningView }),
      },
      {
        path: "history",
        lazy: async () => ({ Component: (await import("@/features/history/HistoryView")).HistoryView }),
      },
      {
        path: "runs",
        lazy: async () => ({ Component: (await import("@/features/runs/RunsView")).RunsView }),
      },
      {
        path: "recommend",
        lazy: async () => ({ Component: (await import("@/features/recommend/RecommendView")).RecommendView }),
      },
      { path: "*", Component: Lost },
    ],
  },
]);
