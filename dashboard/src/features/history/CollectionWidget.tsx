import { Trash2 } from "lucide-react";
import { clearHistory } from "@/client/commands";
import { useFollows, useTrend } from "@/client/queries";
import { Confirm } from "@/features/widgets/Confirm";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count, taskNumber } from "@/lib/format";
import { useLive } from "@/live/store";

const TABLES = [
  ["tasks", "Tasks"],
  ["scheduler_results", "Results"],
  ["training_data", "Oracle labels"],
  ["model_versions", "Retrainings"],
] as const;

function Clear() {
  return (
    <Confirm
      className="press px-2 py-0.5 text-xs text-bad"
      icon={<Trash2 size={13} aria-hidden="true" />}
      text="Clear history"
      title="Clear the whole history?"
      consequences="Every stored task, result and label is removed, and a new run begins. This cannot be undone; export first what you want to keep."
      yes="Remove everything"
      onYes={() => void clearHistory()}
    />
  );
}

/** Data collection: how much is stored, and how to take it along. */
export function CollectionWidget() {
  const answer = useTrend(160);
  const follows = useFollows();
  const backlog = useLive((s) => s.update?.status.backlog_rows ?? 0);
  const found = answer.data?.collection;
  const figures: [string, number | undefined, string][] = [
    ["Tasks", found?.tasks, "of all runs"],
    ["Results", found?.results, "one for each task and strategy"],
    ["Oracle labels", found?.training_records, "best share of a task"],
    ["Runs", found?.runs, "since the last clearing"],
    ["Retrainings", found?.model_versions, "versions of the forest"],
    ["Not yet stored", backlog, "rows on their way"],
  ];
  const table = () => ({ columns: ["what", "rows"], rows: figures.map(([what, rows]) => [what, rows]) });
  return (
    <Widget
      title="Data collection"
      meaning="Rows in the database as it counts them now, over all runs. The buttons give whole tables, whatever is on the screen."
      table={table}
      foot={`In ${found?.database === "postgresql" ? "PostgreSQL" : "SQLite"}; the newest task has number ${taskNumber(found?.last_task_id)}.`}
    >
      <Answer data={found} error={answer.error} empty="">
        {() => (
          <div className="flex h-full flex-col overflow-auto">
            <dl className="grid grid-cols-[repeat(auto-fit,minmax(7.5rem,1fr))] gap-x-4 gap-y-2.5">
              {figures.map(([label, value, words]) => (
                <div key={label}>
                  <dt className="eyebrow">{label}</dt>
                  <dd className="figure text-lg font-semibold" data-collected={label}>
                    {count(value)}
                  </dd>
                  <dd className="text-[0.6875rem] leading-tight text-muted">{words}</dd>
                </div>
              ))}
            </dl>
            <div className="mt-auto flex flex-wrap gap-1.5 pt-3" data-no-picture="true">
              {TABLES.map(([name, label]) => (
                <a
                  key={name}
                  className="press px-2 py-0.5 text-xs"
                  href={`/api/history/export?format=csv&table=${name}`}
                  download
                >
                  {label} CSV
                </a>
              ))}
              <a
                className="press px-2 py-0.5 text-xs"
                href="/api/history/export?format=parquet&table=scheduler_results"
                download
              >
                Results Parquet
              </a>
              {!follows && <Clear />}
            </div>
          </div>
        )}
      </Answer>
    </Widget>
  );
}
