import { WorkloadScatter } from "@/charts/WorkloadScatter";
import { Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { useTheme } from "@/lib/theme";
import { useView } from "@/lib/url";
import { KEEP } from "@/live/state";
import { useLive } from "@/live/store";

/** What the stream is made of at the moment. */
export function ScatterWidget() {
  const tasks = useLive((s) => s.tasks);
  const theme = useTheme((s) => s.theme);
  const [, change] = useView();
  const table = () => ({
    columns: ["task_id", "size", "compute_intensity", "memory_mb"],
    rows: tasks.map((task) => [task.id, task.size, task.intensity, task.memory]),
  });
  const note = `Keeps ${KEEP.tasks} tasks; above 40 tasks a second this tab gets a sample.`;
  return (
    <Widget title="Workload: size × intensity" table={table} foot={note}>
      {tasks.length === 0 ? (
        <Empty title="No tasks yet" />
      ) : (
        <WorkloadScatter tasks={tasks} theme={theme} onPick={(id) => change({ task: id }, true)} />
      )}
    </Widget>
  );
}
