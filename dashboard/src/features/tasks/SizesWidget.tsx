import { SizeHistogram } from "@/charts/SizeHistogram";
import { useStats } from "@/client/queries";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { scopeWords, useStatsScope } from "./scope";

/** Task-size histogram. */
export function SizesWidget() {
  const { window, scheduler } = useStatsScope();
  const answer = useStats(window, scheduler);
  const sizes = answer.data?.sizes;
  const table = () => ({
    columns: ["size_low", "size_high", "tasks"],
    rows: (sizes?.counts ?? []).map((n, i) => [sizes?.bounds[i], sizes?.bounds[i + 1], n]),
  });
  return (
    <Widget
      title="Task sizes"
      meaning="How many of the window's tasks had which size. The ranges are equally wide on a log scale, so the bars to the right cover more sizes; point at a bar for its range. Size has no unit."
      table={table}
      controls={<WindowChoice brief />}
      foot={`How often each size came up among ${scopeWords(answer.data)}.`}
    >
      <Answer
        data={answer.data}
        error={answer.error}
        isEmpty={(stats) => stats.tasks === 0}
        empty="No finished tasks yet"
      >
        {(stats) => <SizeHistogram bounds={stats.sizes.bounds} counts={stats.sizes.counts} />}
      </Answer>
    </Widget>
  );
}
