import { FolderOpen, Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { useFollows } from "@/client/queries";
import type { RunCard } from "@/client/types";
import { Confirm } from "@/features/widgets/Confirm";
import { count, NOTHING, seconds, tasksText, wallDay } from "@/lib/format";
import { countsText } from "@/lib/places";
import { presetLabel } from "@/lib/presets";
import { useFaces } from "@/lib/useStrategy";
import { DescribeDialog } from "./DescribeDialog";
import { MeasuredNote } from "./MeasuredNote";
import { SourceChip } from "./SourceChip";
import { branchWords, leadersOf, namesText, runTitle } from "./words";

export interface RunTableProps {
  runs: readonly RunCard[];
  chosen: readonly number[];
  onToggle: (run: number) => void;
  /** A person has said yes to its removal. */
  onRemove: (run: number) => void;
}

const HEADS = ["Run", "Began", "Workload", "Seed", "GPUs", "Tasks", "Least mean latency"] as const;

const HEAD_LOOKS: Readonly<Record<(typeof HEADS)[number], string>> = {
  Run: "text-left",
  Began: "pl-3 text-left max-sm:hidden",
  Workload: "pl-3 text-left max-sm:hidden",
  Seed: "pl-3 text-right max-sm:hidden",
  GPUs: "pl-3 text-right max-sm:hidden",
  Tasks: "pl-3 text-right max-sm:hidden",
  "Least mean latency": "pl-6 text-left max-sm:hidden",
};

interface RowProps {
  run: RunCard;
  isChosen: boolean;
  follows: boolean;
  onToggle: () => void;
  onDescribe: () => void;
  onRemove: () => void;
}

function Deeds({ run, follows, onDescribe, onRemove }: Omit<RowProps, "isChosen" | "onToggle">) {
  return (
    <span className="flex justify-end gap-1">
      <Link
        className="press px-2 py-0.5 text-xs"
        to={run.is_present ? "/" : `/?run=${run.run_id}`}
        aria-label={`Open ${runTitle(run)}`}
      >
        <FolderOpen size={13} aria-hidden="true" /> Open
      </Link>
      {!follows && (
        <button
          type="button"
          className="icon-press size-7"
          aria-label={`Name and note of ${runTitle(run)}`}
          title="Name and note"
          onClick={onDescribe}
        >
          <Pencil size={13} aria-hidden="true" />
        </button>
      )}
      {!follows && run.is_present && <span className="size-7 max-sm:hidden" />}
      {!follows && !run.is_present && (
        <Confirm
          className="icon-press size-7 text-bad"
          icon={<Trash2 size={13} aria-hidden="true" />}
          label={`Remove ${runTitle(run)}`}
          title={`Remove ${runTitle(run)}?`}
          consequences={`Its ${tasksText(run.tasks)} with all results, labels, retrainings and notices are removed from the database. This cannot be undone.`}
          yes="Remove this run"
          onYes={onRemove}
        />
      )}
    </span>
  );
}

/** Why no strategy has the least: those that let tasks wait. */
function Behind({ run }: { run: RunCard }) {
  const face = useFaces();
  const behind = run.standings.filter((one) => one.is_behind);
  if (behind.length === 0) return null;
  return (
    <>
      <span className="block">Open while tasks wait</span>
      {behind.map((one) => (
        <span key={one.name} className="block text-[0.6875rem] text-warn" data-counts="">
          {`${face(one.name).label}: ${countsText(one)}`}
        </span>
      ))}
    </>
  );
}

/** How many GPUs; the further devices of a real run by their names. */
function gpusText(run: RunCard): string {
  if (!run.measured) return String(run.num_gpus ?? "–");
  const further = Object.entries(run.measured.devices).filter(([name]) => name !== "cpu");
  return further.map(([name, n]) => (name === "cuda" ? String(n) : `${n} ${name}`)).join(", ") || "0";
}

function Row({ run, isChosen, follows, onToggle, onDescribe, onRemove }: RowProps) {
  const face = useFaces();
  const leaders = leadersOf(run, "avg_latency", seconds);
  const isBehind = run.standings.some((one) => one.is_behind);
  const labels = leaders.map((one) => face(one.name).label);
  return (
    <tr className="border-t border-line align-top" data-run={run.run_id}>
      <td className="py-2 pr-2">
        <input
          type="checkbox"
          className="size-4 accent-ml"
          aria-label={`Compare ${runTitle(run)}`}
          checked={isChosen}
          onChange={onToggle}
        />
      </td>
      <th scope="row" className="max-w-72 py-2 text-left font-normal sm:min-w-56">
        <span className="font-semibold">{runTitle(run)}</span>
        {run.is_present && <span className="chip ml-2 text-good">present</span>}
        {run.state === "complete" && (
          <span className="chip ml-2" title="Every task of its trace was placed">
            complete
          </span>
        )}
        <SourceChip source={run.source} running={run.measured?.is_running ?? false} />
        <span className="block text-muted sm:hidden">
          {`${wallDay(run.at)}, ${presetLabel(run.workload)}, seed ${run.seed}, ${tasksText(run.tasks)}`}
        </span>
        <span className="sm:hidden">
          <Behind run={run} />
        </span>
        {run.branch && <span className="block text-muted">{branchWords(run).trim()}</span>}
        {run.note && <span className="block whitespace-pre-line text-muted">{run.note}</span>}
        {run.measured && (
          <span className="max-sm:hidden">
            <MeasuredNote facts={run.measured} standings={run.standings} />
          </span>
        )}
      </th>
      <td className="py-2 pl-3 text-left whitespace-nowrap max-sm:hidden">{wallDay(run.at)}</td>
      <td className="py-2 pl-3 text-left whitespace-nowrap max-sm:hidden">{presetLabel(run.workload)}</td>
      <td className="py-2 pl-3 text-right max-sm:hidden">{run.seed}</td>
      <td className="py-2 pl-3 text-right whitespace-nowrap max-sm:hidden">{gpusText(run)}</td>
      <td className="py-2 pl-3 text-right max-sm:hidden">{count(run.tasks)}</td>
      <td
        className="py-2 pl-6 text-left whitespace-nowrap max-sm:hidden"
        {...(labels.length > 2 ? { title: labels.join(", ") } : {})}
      >
        {leaders[0] ? (
          `${seconds(leaders[0].avg_latency)} by ${namesText(labels)}`
        ) : isBehind ? (
          <Behind run={run} />
        ) : (
          NOTHING
        )}
      </td>
      <td className="py-1.5 pl-3" data-no-picture="true">
        <Deeds run={run} follows={follows} onDescribe={onDescribe} onRemove={onRemove} />
      </td>
    </tr>
  );
}

/** The stored runs in a table; a ticked one takes part in the comparison. */
export function RunTable({ runs, chosen, onToggle, onRemove }: RunTableProps) {
  const follows = useFollows();
  const [described, setDescribed] = useState<RunCard | null>(null);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section aria-label="Stored runs" className="max-h-[32rem] overflow-auto" tabIndex={0}>
      <table className="figure w-full text-xs">
        <thead className="sticky top-0 z-10 text-muted" style={{ background: "var(--panel-solid)" }}>
          <tr>
            <th scope="col" className="py-1.5 pr-2 text-left font-medium">
              <span className="sr-only">Compare</span>
            </th>
            {HEADS.map((head) => (
              <th
                key={head}
                scope="col"
                className={`py-1.5 font-medium whitespace-nowrap ${HEAD_LOOKS[head]}`}
              >
                {head}
              </th>
            ))}
            <th scope="col" className="py-1.5 pl-3 text-right font-medium" data-no-picture="true">
              <span className="sr-only">What can be done</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <Row
              key={run.run_id}
              run={run}
              isChosen={chosen.includes(run.run_id)}
              follows={follows}
              onToggle={() => onToggle(run.run_id)}
              onDescribe={() => setDescribed(run)}
              onRemove={() => onRemove(run.run_id)}
            />
          ))}
        </tbody>
      </table>
      {described && <DescribeDialog run={described} onClose={() => setDescribed(null)} />}
    </section>
  );
}
