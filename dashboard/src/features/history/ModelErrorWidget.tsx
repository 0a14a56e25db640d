import { useMemo } from "react";
import { shiftLabel } from "@/charts/series";
import { TrendLines } from "@/charts/TrendLines";
import { useModels, useTrend } from "@/client/queries";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { digits } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";

/** How the forest's error moved from one retraining to the next. */
export function ModelErrorWidget() {
  const answer = useModels(100);
  const trend = useTrend(160);
  const face = useFaces();
  const { points, names } = useMemo(() => {
    const models = [...(answer.data?.models ?? [])]
      .filter((m) => m.error !== null)
      .sort((a, b) => a.task_id - b.task_id);
    const keys = [...new Set(models.map((m) => m.scheduler))];
    return {
      points: models.map((m) => ({ x: m.task_id, [m.scheduler]: m.error })),
      names: keys.map((key) => ({ key, label: face(key).label, colour: face(key).colour })),
    };
  }, [answer.data, face]);
  const first = points[0]?.x ?? 0;
  const shifts = (trend.data?.shifts ?? [])
    .filter((shift) => shift.task_id >= first)
    .map((shift) => ({ x: shift.task_id, text: shiftLabel(shift) }));
  const table = () => ({
    columns: ["task_id", ...names.map((n) => n.key)],
    rows: points.map((p) => [p.x, ...names.map((n) => (p as Record<string, number | null>)[n.key])]),
  });
  return (
    <Widget
      title="Error after each retraining"
      table={table}
      meaning="Mean absolute error of the predicted GPU share (0 to 1), measured right after each retraining on every eighth of the samples it was fitted to: how well the forest knows its own window, not how well it does on new tasks. Up to 100 retrainings are shown."
      foot="Error of the GPU share on its own samples. A shift shows as a bump while old and new tasks are mixed."
    >
      <Answer
        data={answer.data}
        error={answer.error}
        isEmpty={() => points.length < 2}
        empty="Fewer than two retrainings"
      >
        {() => (
          <TrendLines
            label="Error of the forest over its retrainings"
            names={names}
            points={points}
            shifts={shifts}
            trainings={[]}
            log
            axisTitle="mean absolute error, log"
            connect
            format={(v) => (v == null ? "–" : digits(v))}
          />
        )}
      </Answer>
    </Widget>
  );
}
