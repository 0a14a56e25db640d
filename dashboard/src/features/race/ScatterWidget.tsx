import { WorkloadScatter } from "@/charts/WorkloadScatter";
import { Empty, Loading } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { useView } from "@/lib/url";
import { KEEP } from "@/live/state";
import { useLive } from "@/live/store";

/** What the stream is made of at the moment. */
export function ScatterWidget() {
  const tasks = useLive((s) => s.tasks);
  const waiting = useLive((s) => s.update === null);
  const theme = useTheme((s) => s.theme);
  const [, change] = useView();
  const { isMeasured } = useRunWords();
  const table = () => ({
    columns: ["task_id", "size", "compute_intensity", "memory_mb"],
    rows: tasks.map((task) => [task.id, task.size, task.intensity, task.memory]),
  });
  return (
    <Widget
      title="Workload: size × intensity"
      meaning={`The latest tasks that this tab got, ${KEEP.tasks} at most; above 40 tasks a second it gets a sample. Size has no unit: the base duration is (size ÷ 1000) to the power 1.5, over intensity + 0.5, in seconds. Intensity says how much a task gains from a GPU, 0 to 1. The area of a dot is the memory that must cross the bus. Click a dot for its decisions.`}
      table={table}
    >
      {waiting ? (
        <Loading title="Waiting for the race" />
      ) : isMeasured ? (
        <Empty title="Real tasks have no intensity">
          How much a task gains from a device is measured here, not described. Their kinds and sizes are in
          the ledger.
        </Empty>
      ) : tasks.length === 0 ? (
        <Empty title="No tasks yet">The stream begins with the race.</Empty>
      ) : (
        <WorkloadScatter tasks={tasks} theme={theme} onPick={(id) => change({ task: id }, true)} />
      )}
    </Widget>
  );
}
