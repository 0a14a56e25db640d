import { correlationColour } from "@/charts/diverging";
import { Matrix } from "@/charts/Matrix";
import { useStats } from "@/client/queries";
import { Pick } from "@/features/widgets/Choice";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { useView } from "@/lib/url";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { scopeWords, useStatsScope } from "./scope";

const SHORT: Readonly<Record<string, string>> = {
  compute_intensity: "intensity",
  memory_required: "memory",
  gpu_fraction: "GPU share",
};

/** Correlation of features and outcomes for one strategy. */
export function CorrelationWidget() {
  const { window, scheduler } = useStatsScope();
  const answer = useStats(window, scheduler);
  const [, change] = useView();
  const racers = useRacers();
  const face = useFaces();
  const found = answer.data?.correlations;
  const options = (racers.includes(scheduler) ? racers : [...racers, scheduler]).map((name) => ({
    key: name,
    label: face(name).label,
  }));
  const table = () => ({
    columns: ["name", ...(found?.names ?? [])],
    rows: (found?.names ?? []).map((name, i) => [name, ...(found?.values[i] ?? [])]),
  });
  return (
    <Widget
      title="Correlations"
      table={table}
      controls={
        <>
          <WindowChoice brief />
          <Pick
            label="Whose outcomes"
            value={scheduler}
            options={options}
            onChange={(of) => change({ of })}
          />
        </>
      }
      meaning={`Pearson's correlation coefficient of each pair over ${scopeWords(answer.data, found?.tasks)}, with the outcomes of the chosen strategy: −1 (one falls as the other rises) to +1. It sees straight lines only, and is no cause. A dot stands where a column does not vary.`}
      foot={`Pearson over ${scopeWords(answer.data, found?.tasks)}, for ${face(scheduler).label}: −1 blue, 0 grey, +1 red; · where a column does not vary.`}
    >
      <Answer data={found} error={answer.error} isEmpty={(c) => c.tasks === 0} empty="No finished tasks yet">
        {(c) => (
          <Matrix
            caption={`Correlations of ${face(c.scheduler).label}`}
            names={c.names}
            labels={c.names.map((name) => SHORT[name] ?? name.replaceAll("_", " "))}
            values={c.values}
            colourOf={correlationColour}
            textOf={(value) => value.toFixed(1).replace("-", "−").replace("−0.0", "0.0")}
            sentenceOf={(row, column, value) => `${row} and ${column}: ${value.toFixed(3).replace("-", "−")}`}
          />
        )}
      </Answer>
    </Widget>
  );
}
