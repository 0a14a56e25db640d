import { useMemo } from "react";
import { shiftLabel } from "@/charts/series";
import { TrendLines } from "@/charts/TrendLines";
import { useModels, useTrend } from "@/client/queries";
import type { ModelVersion } from "@/client/types";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { digits } from "@/lib/format";
import { type FaceOf, useFaces } from "@/lib/useStrategy";
import { TIME_AXIS, timeOfTask } from "./trend";

/** For each learner the error of the new model and, dashed, of the one before it, on the same tasks. */
export function errorLines(models: readonly ModelVersion[], face: FaceOf) {
  const judged = models
    .filter((model) => model.held_out_error !== null)
    .sort((a, b) => a.task_id - b.task_id);
  const keys = [...new Set(judged.map((model) => model.scheduler))];
  return {
    points: judged.map((model) => ({
      x: model.task_id,
      [model.scheduler]: model.held_out_error,
      [`${model.scheduler} before`]: model.present_error,
    })),
    names: keys.flatMap((key) => {
      const { label, colour } = face(key);
      return [
        { key, label: `${label}, new model`, colour },
        { key: `${key} before`, label: `${label}, model before`, colour, dash: "2 4" },
      ];
    }),
  };
}

/** How the error on new tasks moved from one retraining to the next. */
export function ModelErrorWidget() {
  const answer = useModels(100);
  const trend = useTrend(160);
  const face = useFaces();
  const { points, names } = useMemo(() => {
    const lines = errorLines(answer.data?.models ?? [], face);
    const onTime = lines.points.flatMap((point) => {
      const x = trend.data ? timeOfTask(trend.data, point.x) : null;
      return x === null ? [] : [{ ...point, task: point.x, x }];
    });
    return { points: onTime, names: lines.names };
  }, [answer.data, trend.data, face]);
  const first = points[0]?.x ?? 0;
  const shifts = (trend.data?.shifts ?? [])
    .filter((shift) => shift.simulated_time_s >= first)
    .map((shift) => ({ x: shift.simulated_time_s, text: shiftLabel(shift) }));
  const table = () => ({
    columns: ["task_id", ...names.map((n) => n.key)],
    rows: points.map((p) => [p.task, ...names.map((n) => (p as Record<string, number | null>)[n.key])]),
  });
  return (
    <Widget
      title="Error after each retraining"
      table={table}
      meaning="Mean absolute error on the latest tasks, which neither model was trained on: of the model that was fitted anew, and dotted of the one that was in force. Where the full line is above the dotted one, the new model is refused. Up to 100 retrainings are shown."
      foot="Full: the new model; dotted: the one before it, on the same tasks, which neither was trained on."
    >
      <Answer
        data={answer.data}
        error={answer.error}
        isEmpty={() => points.length < 2}
        empty="Fewer than two judged retrainings"
      >
        {() => (
          <TrendLines
            label="Error on new tasks over the retrainings"
            names={names}
            points={points}
            shifts={shifts}
            trainings={[]}
            log
            axis={{ ...TIME_AXIS, words: "at" }}
            axisTitle="mean absolute error, log"
            connect
            format={(v) => (v == null ? "–" : digits(v))}
          />
        )}
      </Answer>
    </Widget>
  );
}
