/** What the latest retraining changed: the error on tasks that neither model was trained on. */
import type { ModelVersion } from "@/client/types";
import { count, digits } from "@/lib/format";

/** `Error on new tasks: hybrid ml 0.420 before its retraining at task 1,200, 0.0500 after.`; empty where none was judged. */
export function errorWords(models: readonly ModelVersion[], label: (name: string) => string): string {
  const latest = new Map<string, ModelVersion>();
  for (const model of models) {
    const known = latest.get(model.scheduler);
    if (model.held_out_error !== null && (known === undefined || model.task_id > known.task_id))
      latest.set(model.scheduler, model);
  }
  const parts = [...latest.values()].map((model) => {
    const after = digits(model.held_out_error as number);
    const at = `its retraining at task ${count(model.task_id)}`;
    return model.present_error === null
      ? `${label(model.scheduler)} ${after} after ${at}`
      : `${label(model.scheduler)} ${digits(model.present_error)} before ${at}, ${after} after`;
  });
  return parts.length === 0 ? "" : `Error on new tasks: ${parts.join("; ")}.`;
}
