import { BestDeviceMap } from "@/charts/BestDeviceMap";
import { useStats } from "@/client/queries";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { scopeWords, useStatsScope } from "./scope";

/** Heat map: size × intensity to the best device. */
export function HeatWidget() {
  const { window, scheduler } = useStatsScope();
  const answer = useStats(window, scheduler);
  const theme = useTheme((s) => s.theme);
  const { isMeasured } = useRunWords();
  const cells = answer.data?.heat_map.cells ?? [];
  const table = () => ({
    columns: [
      "size_low",
      "size_high",
      "intensity_low",
      "intensity_high",
      "tasks",
      "optimal_gpu_fraction",
      "best_device",
    ],
    rows: cells.map((c) => [
      c.size_low,
      c.size_high,
      c.intensity_low,
      c.intensity_high,
      c.tasks,
      c.optimal_gpu_fraction,
      c.best_device,
    ]),
  });
  return (
    <Widget
      title="Best device"
      meaning="For each range of size and intensity: where the oracle sent most of the tasks (least execution time, queues ignored), and the mean share it gave to a GPU. Empty cells had no task."
      table={table}
      controls={<WindowChoice brief />}
      foot={
        isMeasured
          ? undefined
          : `The oracle's choice for most tasks; the number is the mean GPU share in %, over ${scopeWords(answer.data)}; stronger colour, more tasks.`
      }
    >
      <Answer
        data={answer.data}
        error={answer.error}
        isEmpty={(stats) => stats.tasks === 0 || isMeasured}
        empty={isMeasured ? "The oracle of the model knows nothing of real tasks" : "No finished tasks yet"}
      >
        {(stats) => <BestDeviceMap map={stats.heat_map} theme={theme} />}
      </Answer>
    </Widget>
  );
}
