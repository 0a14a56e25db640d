import { useState } from "react";
import { useStoredRun } from "@/client/queries";
import { useCostliest } from "@/client/whatIf";
import { placeText } from "@/features/audit/effects";
import { ScrollTable } from "@/features/widgets/ScrollTable";
import { Answer, Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { seconds, taskNumber, tasksText } from "@/lib/format";
import { useRunWords } from "@/lib/runWords";
import { useView } from "@/lib/url";
import { useLive } from "@/live/store";

const HEADS = ["Task", "Decided", "Better", "Latency", "Would have saved"];

/** The decisions that cost most: each one changed, and the run simulated again. */
export function CostliestWidget({ name }: { name: string }) {
  const stored = useStoredRun();
  const present = useLive((s) => s.update?.status.run_id ?? null);
  const run = stored ?? present;
  const [, change] = useView();
  const { isMeasured } = useRunWords();
  const [asked, ask] = useState<string | null>(null);
  const isAsked = asked === `${run} ${name}`;
  const answer = useCostliest(run, name, isAsked);
  const found = answer.data;
  const table = () => ({
    columns: [
      "task_id",
      "device",
      "gpu_fraction",
      "better_device",
      "better_gpu_fraction",
      "latency_s",
      "regret_s",
    ],
    rows: (found?.tasks ?? []).map((one) => [
      one.task_id,
      one.device,
      one.gpu_fraction,
      one.alternatives[0]?.device,
      one.alternatives[0]?.gpu_fraction,
      one.latency_s,
      one.regret_s,
    ]),
  });
  return (
    <Widget
      title="Decisions that cost most"
      meaning="Among the tasks with the longest latency in the latest part of the run: each decision is changed to every alternative, the run is simulated again, and the sum of all latencies is compared. What the best alternative would have saved is the regret of the decision. Click a task to see every alternative."
      table={table}
      controls={
        <button
          type="button"
          className="press px-2 py-0.5 text-xs"
          disabled={run === null || isMeasured || answer.isFetching}
          onClick={() => (isAsked ? void answer.refetch() : ask(`${run} ${name}`))}
        >
          {answer.isFetching ? "Looking…" : isAsked ? "Look again" : "Look for them"}
        </button>
      }
      foot={
        found
          ? `${tasksText(found.looked_at)} looked at, of tasks ${taskNumber(found.first_task)} to ${taskNumber(found.last_task)}. ${found.explanation}`
          : undefined
      }
    >
      {isMeasured ? (
        <Empty title="Not of a real run">
          What really ran cannot be run again with one decision changed; ask that of a simulated run.
        </Empty>
      ) : !isAsked ? (
        <Empty title="Which decisions cost most?">
          The run is simulated again for every alternative, which takes some seconds.
        </Empty>
      ) : (
        <Answer
          data={found}
          error={answer.error}
          isEmpty={(all) => all.tasks.length === 0}
          empty="No decision could have been better"
        >
          {(all) => (
            <ScrollTable label="Costliest decisions" heads={HEADS} words={3}>
              {all.tasks.map((one) => (
                <tr key={one.task_id} data-task={one.task_id}>
                  <td className="text-left">
                    <button
                      type="button"
                      className="min-h-6 text-ml hover:underline"
                      onClick={() => change({ task: one.task_id })}
                    >
                      {taskNumber(one.task_id)}
                    </button>
                  </td>
                  <td className="text-left">{placeText(one)}</td>
                  <td className="text-left">{one.alternatives[0] ? placeText(one.alternatives[0]) : "–"}</td>
                  <td>{seconds(one.latency_s)}</td>
                  <td className="font-semibold">{seconds(one.regret_s)}</td>
                </tr>
              ))}
            </ScrollTable>
          )}
        </Answer>
      )}
    </Widget>
  );
}
