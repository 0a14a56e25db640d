import { useModels } from "@/client/queries";
import type { ModelVersion } from "@/client/types";
import { ScrollTable } from "@/features/widgets/ScrollTable";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count, counted, digits, seconds, taskNumber, wallTime } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";

const SHOWN = 100;
const HEADS = ["No.", "Strategy", "At", "From task", "Samples", "Before", "After", "Outcome", "Took"];

const OUTCOMES: Readonly<Record<ModelVersion["outcome"], string>> = {
  activated: "took over",
  refused: "refused",
  recalled: "called back",
};

const errorText = (error: number | null): string => (error === null ? "–" : digits(error));

/** Retraining history. */
export function ModelsWidget() {
  const answer = useModels(SHOWN);
  const face = useFaces();
  const models = answer.data?.models ?? [];
  const table = () => ({
    columns: [
      "version",
      "scheduler",
      "at",
      "task_id",
      "samples",
      "present_error",
      "held_out_error",
      "own_samples_error",
      "outcome",
      "duration_s",
    ],
    rows: models.map((m) => [
      m.version,
      m.scheduler,
      m.at,
      m.task_id,
      m.samples,
      m.present_error,
      m.held_out_error,
      m.error,
      m.outcome,
      m.duration_s,
    ]),
  });
  return (
    <Widget
      title="Retraining history"
      meaning="Every time a learner of this run was fitted again, newest first. From task: the first task decided with it. Samples: labelled tasks it was fitted to (at most the last 1,000). Took: wall time of the fit, in the background."
      terms={[
        {
          term: "Before, after",
          meaning:
            "Mean absolute error of the model in force and of the new one on the same latest tasks, which neither was trained on. A new model that is worse is refused. A dash: it was not judged.",
        },
      ]}
      table={table}
      foot={
        models.length > 0
          ? `The newest ${count(models.length)} of ${counted(answer.data?.total, "retraining")} of this run. Errors are on tasks that neither model was trained on.`
          : undefined
      }
    >
      <Answer
        data={answer.data}
        error={answer.error}
        isEmpty={(found) => found.total === 0}
        empty="No retraining yet"
      >
        {(found) => (
          <ScrollTable label="Retrainings" heads={HEADS} words={2}>
            {found.models.map((model) => (
              <tr key={`${model.scheduler}${model.version}${model.at}`} data-version={model.version}>
                <td className="text-left">{model.version}</td>
                <td className="text-left">{face(model.scheduler).label}</td>
                <td>{wallTime(model.at)}</td>
                <td>{taskNumber(model.task_id)}</td>
                <td>{count(model.samples)}</td>
                <td>{errorText(model.present_error)}</td>
                <td>{errorText(model.held_out_error)}</td>
                <td className={model.outcome === "refused" ? "text-warn" : ""}>{OUTCOMES[model.outcome]}</td>
                <td>{seconds(model.duration_s)}</td>
              </tr>
            ))}
          </ScrollTable>
        )}
      </Answer>
    </Widget>
  );
}
