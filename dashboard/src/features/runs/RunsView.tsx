import { removeRun, useRuns } from "@/client/runs";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count } from "@/lib/format";
import { useView } from "@/lib/url";
import { ComparePanel } from "./ComparePanel";
import { RunTable } from "./RunTable";
import { chosenRuns } from "./words";

const SHOWN = 200;
const MOST = 6;

/** Stored runs: named, opened again, compared, removed. */
export function RunsView() {
  const answer = useRuns(SHOWN);
  const [params, change] = useView();
  const chosen = chosenRuns(params.get("compare"));
  const runs = answer.data?.runs ?? [];
  const toggle = (run: number): void => {
    const next = chosen.includes(run) ? chosen.filter((one) => one !== run) : [...chosen, run].slice(-MOST);
    change({ compare: next.join(",") || null });
  };
  const remove = (run: number): void => {
    if (chosen.includes(run)) toggle(run);
    void removeRun(run);
  };
  const table = () => ({
    columns: [
      "run_id",
      "name",
      "at",
      "workload",
      "seed",
      "num_gpus",
      "tasks",
      "scheduler",
      "avg_latency",
      "avg_time",
    ],
    rows: runs.flatMap((run) =>
      run.standings.map((one) => [
        run.run_id,
        run.name,
        run.at,
        run.workload,
        run.seed,
        run.num_gpus,
        run.tasks,
        one.name,
        one.avg_latency,
        one.avg_time,
      ]),
    ),
  });
  const hidden = (answer.data?.total ?? 0) - runs.length;
  return (
    <div className="flex flex-col gap-3.5">
      <title>Runs · Hybrid ML Scheduler</title>
      <Widget
        title="Runs"
        meaning="Every run whose rows are stored, newest first. Open one to see every view as it was last shown; choose two or more to compare them. Means are over all stored tasks that finished."
        table={table}
        foot={
          hidden > 0
            ? `The newest ${count(runs.length)} of ${count(answer.data?.total)} runs; older ones are not shown here.`
            : chosen.length > 1
              ? `${count(chosen.length)} runs are compared below; at most ${MOST} can be.`
              : "Choose two or more runs to compare them."
        }
      >
        <Answer
          data={answer.data}
          error={answer.error}
          isEmpty={(all) => all.runs.length === 0}
          empty="No run yet"
        >
          {(all) => <RunTable runs={all.runs} chosen={chosen} onToggle={toggle} onRemove={remove} />}
        </Answer>
      </Widget>
      {chosen.length > 1 && <ComparePanel runs={chosen} />}
    </div>
  );
}
