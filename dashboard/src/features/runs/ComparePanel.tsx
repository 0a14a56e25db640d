import { useComparison } from "@/client/runs";
import type { PairedRuns, RunComparison } from "@/client/types";
import { Choice } from "@/features/widgets/Choice";
import { NameCell } from "@/features/widgets/NameCell";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { dollars, gap, joules, seconds, tasksText } from "@/lib/format";
import { countsText } from "@/lib/places";
import { presetLabel } from "@/lib/presets";
import { useView } from "@/lib/url";
import { useFaces } from "@/lib/useStrategy";
import { SourceChip } from "./SourceChip";
import {
  leadersOf,
  modelledOf,
  PAIRED,
  pairedOf,
  type RunField,
  runTitle,
  standingOf,
  strategiesOf,
} from "./words";

const FIELDS: readonly { key: RunField; label: string; format: (value: number | null) => string }[] = [
  { key: "avg_latency", label: "Latency", format: seconds },
  { key: "longest_latency", label: "Longest", format: seconds },
  { key: "avg_time", label: "Time", format: seconds },
  { key: "avg_wait", label: "Wait", format: seconds },
  { key: "avg_energy", label: "Energy", format: joules },
  { key: "avg_cost", label: "Cost", format: dollars },
  { key: "makespan", label: "Makespan", format: seconds },
];

interface DifferenceProps {
  paired: PairedRuns | undefined;
  name: string;
  field: RunField;
  format: (value: number | null) => string;
}

/** How a run differs from the first one on the same tasks, with its interval; without such tasks nothing is said. */
function Difference({ paired, name, field, format }: DifferenceProps) {
  const value = paired && pairedOf(paired, name, field);
  if (!value) return null;
  const tone =
    value.verdict === "second" ? "text-good" : value.verdict === "first" ? "text-bad" : "text-muted";
  const share = value.first === 0 ? null : value.difference / value.first;
  const ends = [value.low, value.high].map((end) => (end === null ? null : format(end)));
  return (
    <span className={`block text-[0.6875rem] ${tone}`} data-difference={value.difference}>
      {value.verdict === "none" ? "no difference shown" : gap(share)}
      {ends[0] !== null && ends[0] !== ends[1] && (
        <span className="text-muted max-sm:block">{` [${ends[0]}, ${ends[1]}]`}</span>
      )}
    </span>
  );
}

function CompareTable({ found, field }: { found: RunComparison; field: (typeof FIELDS)[number] }) {
  const face = useFaces();
  const [first] = found.runs;
  const names = strategiesOf(found.runs);
  const leads = new Set(
    found.runs.flatMap((run) =>
      leadersOf(run, field.key, field.format).map((one) => `${run.run_id} ${one.name}`),
    ),
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section aria-label="Runs side by side" className="overflow-x-auto" tabIndex={0}>
      <table className="figure min-w-full text-xs sm:min-w-[36rem]">
        <thead className="text-muted">
          <tr>
            <th scope="col" className="py-1.5 text-left font-medium">
              Strategy
            </th>
            {found.runs.map((run) => (
              <th key={run.run_id} scope="col" className="py-1.5 pl-4 text-right font-medium sm:pl-10">
                <span className="block text-ink">
                  {runTitle(run)}
                  <SourceChip source={run.source} />
                </span>
                <span className="block font-normal whitespace-nowrap max-sm:hidden">{`${presetLabel(run.workload)}, seed ${run.seed}, ${tasksText(run.tasks)}`}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {names.map((name) => (
            <tr key={name} className="border-t border-line" data-strategy={name}>
              <th scope="row" className="py-2 text-left font-medium">
                <NameCell colour={face(name).colour}>{face(name).label}</NameCell>
              </th>
              {found.runs.map((run) => {
                const standing = standingOf(run, name);
                const value = standing?.[field.key] ?? null;
                const isLeast = leads.has(`${run.run_id} ${name}`);
                return (
                  <td key={run.run_id} className="py-2 pl-4 text-right whitespace-nowrap">
                    <span className={isLeast ? "font-semibold text-good" : ""}>
                      {isLeast && <span title="least of this run">● </span>}
                      {field.format(value)}
                    </span>
                    <SourceChip source={modelledOf(run, name)} />
                    {standing && (
                      <span
                        className={`block text-[0.6875rem] ${standing.is_behind ? "text-warn" : "text-muted"}`}
                        data-counts=""
                      >
                        {countsText(standing)
                          .split(", ")
                          .map((part, i) => (
                            <span key={part} className="max-sm:block">
                              {i === 0 ? part : `, ${part}`}
                            </span>
                          ))}
                      </span>
                    )}
                    {run !== first && (
                      <Difference
                        paired={found.paired.find((one) => one.run_id === run.run_id)}
                        name={name}
                        field={field.key}
                        format={field.format}
                      />
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Runs side by side; on the same tasks with the difference to the first and its interval. */
export function ComparePanel({ runs }: { runs: readonly number[] }) {
  const answer = useComparison(runs);
  const [params, change] = useView();
  const field = FIELDS.find((one) => one.key === params.get("by")) ?? (FIELDS[0] as (typeof FIELDS)[number]);
  const found = answer.data;
  const table = () => ({
    columns: [
      "scheduler",
      ...(found?.runs ?? []).flatMap((run) =>
        [field.key, "finished", "waiting"].map((key) => `run_${run.run_id}_${key}`),
      ),
    ],
    rows: strategiesOf(found?.runs ?? []).map((name) => [
      name,
      ...(found?.runs ?? []).flatMap((run) => {
        const one = standingOf(run, name);
        return [one?.[field.key], one?.finished, one?.waiting];
      }),
    ]),
  });
  const unpaired = PAIRED[field.key] ? "" : " This metric is not compared task for task.";
  return (
    <Widget
      title="Comparison"
      meaning="Means of each run over its tasks up to the last one that every strategy has finished that is not behind: one that lets more than a tenth of them wait. Such a strategy has no means, and nobody is marked as the least where its waiting tasks could undo that. Where two runs met the same tasks from their beginning on, or one is a branch of the other, from where it left, the second line is the difference to the first run with its 95 % interval over stretches of 500 tasks; colour only where the interval leaves out zero. Tasks of one run follow each other, so that an interval over stretches is honest where one over single tasks would not be."
      table={table}
      controls={
        <Choice
          label="What is compared"
          value={field.key}
          options={FIELDS}
          onChange={(by) => change({ by })}
        />
      }
      foot={(found?.paired ?? []).map((one) => (
        <p key={one.run_id}>
          {one.sentence}
          {unpaired}
        </p>
      ))}
    >
      <Answer data={found} error={answer.error} empty="">
        {(all) => <CompareTable found={all} field={field} />}
      </Answer>
    </Widget>
  );
}
