import { Trash2 } from "lucide-react";
import { clearHistory } from "@/client/commands";
import { useTrend } from "@/client/queries";
import { Confirm } from "@/features/widgets/Confirm";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count } from "@/lib/format";
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
  const backlog = useLive((s) => s.update?.status.backlog_rows ?? 0);
  const found = answer.data?.collection;
  const figures: [string, number | undefined][] = [
    ["Tasks", found?.tasks],
    ["Results", found?.results],
    ["Oracle labels", found?.training_records],
    ["Runs", found?.runs],
    ["Retrainings", found?.model_versions],
    ["Not yet stored", backlog],
  ];
  const table = () => ({ columns: ["what", "rows"], rows: figures });
  return (
    <Widget
      title="Data collection"
      table={table}
      foot={`Stored in ${found?.database === "postgresql" ? "PostgreSQL" : "SQLite"}, task ids ${count(found?.first_task_id)} to ${count(found?.last_task_id)} over all runs.`}
    >
      <Answer data={found} error={answer.error} empty="">
        {() => (
          <div className="flex h-full flex-col">
            <dl className="grid grid-cols-2 gap-x-4 gap-y-2">
              {figures.map(([label, value]) => (
                <div key={label}>
                  <dt className="eyebrow">{label}</dt>
                  <dd className="figure text-lg font-semibold" data-collected={label}>
                    {count(value)}
                  </dd>
                </div>
              ))}
            </dl>
            <div className="mt-auto flex flex-wrap gap-1.5 pt-2" data-no-picture="true">
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
              <Clear />
            </div>
          </div>
        )}
      </Answer>
    </Widget>
  );
}
