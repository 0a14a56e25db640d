import { winColour } from "@/charts/diverging";
import { Matrix } from "@/charts/Matrix";
import { useStats } from "@/client/queries";
import { scopeWords, useStatsScope } from "@/features/tasks/scope";
import { Choice } from "@/features/widgets/Choice";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { percent } from "@/lib/format";
import { isTaskMetric, metricCard, TASK_METRICS } from "@/lib/metrics";
import { useView } from "@/lib/url";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { bestFirst } from "./wins";

const OPTIONS = TASK_METRICS.map((key) => ({ key, label: metricCard(key).short }));

/** Win/loss: in how many tasks the row was better than the column. */
export function WinWidget() {
  const [params, change] = useView();
  const { window, scheduler } = useStatsScope();
  const answer = useStats(window, scheduler);
  const face = useFaces();
  const isAlone = useRacers().length === 1;
  const wish = params.get("wins");
  const metric = isTaskMetric(wish) ? wish : "latency";
  const matrix = answer.data?.win_loss[metric];
  const table = () => ({
    columns: ["row", ...(matrix?.schedulers ?? [])],
    rows: (matrix?.schedulers ?? []).map((name, i) => [name, ...(matrix?.share[i] ?? [])]),
  });
  return (
    <Widget
      title="Win/loss matrix"
      table={table}
      controls={
        <>
          <Choice
            label="Metric of the matrix"
            value={metric}
            options={OPTIONS}
            onChange={(key) => change({ wins: key })}
          />
          <WindowChoice brief />
        </>
      }
      meaning={`In per cent of ${scopeWords(answer.data, matrix?.tasks)}: how often the row's value was lower than the column's. Equal values count for nobody, so two cells facing each other need not sum to 100. The order is by how much more a strategy wins than it loses. One that lets more than a tenth of the tasks wait stands last, without shares.`}
      foot={`Per cent of ${scopeWords(answer.data, matrix?.tasks)} where the row beats the column. Green: the row wins; equal values count for nobody. One that lets tasks wait has no shares.`}
    >
      <Answer
        data={matrix}
        error={answer.error}
        isEmpty={(m) => m.tasks === 0}
        empty={isAlone ? "One strategy alone has nobody to beat" : "No finished tasks yet"}
      >
        {(found) => {
          const m = bestFirst(found);
          return (
            <Matrix
              caption={`Win/loss by ${metricCard(metric).label.toLowerCase()}`}
              names={m.schedulers}
              labels={m.schedulers.map((name) => face(name).label)}
              values={m.share}
              colourOf={(value, i, j) => winColour(value, m.share[j]?.[i] ?? 0)}
              textOf={(value) => String(Math.round(value * 100))}
              sentenceOf={(row, column, value) =>
                `${row} beats ${column} in ${percent(value, 1)} of the tasks`
              }
            />
          );
        }}
      </Answer>
    </Widget>
  );
}
