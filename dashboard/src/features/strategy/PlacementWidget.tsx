import { SplitBar } from "@/charts/SplitBar";
import { Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { percent } from "@/lib/format";
import { GPUS } from "@/lib/lead";
import { useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { useWindow } from "@/lib/window";
import { useRow } from "./useRow";

/** CPU/GPU split: where this strategy's tasks went. */
export function PlacementWidget({ name }: { name: string }) {
  const row = useRow(name);
  const { words } = useWindow();
  const theme = useTheme((s) => s.theme);
  const { far } = useRunWords();
  const table = () => ({
    columns: ["scheduler", "cpu", "gpu", "split", "avg_gpu_fraction"],
    rows: [[name, row?.decisions.cpu, row?.decisions.gpu, row?.decisions.split, row?.avg_gpu_fraction]],
  });
  return (
    <Widget
      title="CPU/GPU split"
      meaning="Counted decisions of the chosen window: the whole task on the CPU, the whole task on one GPU, or a share on each. The mean share counts a task on the CPU as 0 % and one on a GPU as 100 %."
      table={table}
      foot={`Mean share sent to ${far.one} ${words}: ${percent(row?.avg_gpu_fraction, 1)}.`}
    >
      {row && row.tasks > 0 ? (
        <SplitBar decisions={row.decisions} theme={theme} {...(far === GPUS ? {} : { far: far.all })} />
      ) : (
        <Empty title="No decisions yet" />
      )}
    </Widget>
  );
}
