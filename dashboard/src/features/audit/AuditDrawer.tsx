import { X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useAudit } from "@/client/queries";
import type { TaskAudit } from "@/client/types";
import { Answer } from "@/features/widgets/States";
import { count, digits, seconds } from "@/lib/format";
import { useRunWords } from "@/lib/runWords";
import { useView } from "@/lib/url";
import { useRacers } from "@/lib/useStrategy";
import { useLive } from "@/live/store";
import { LatencyBars } from "./LatencyBars";
import { OracleSentence } from "./OracleSentence";
import { StrategyPanel } from "./StrategyPanel";
import { soonestFirst } from "./soonest";

export interface AuditDrawerProps {
  taskId: number;
  onClose: () => void;
}

function TaskFacts({ audit }: { audit: TaskAudit }) {
  const { task } = audit;
  const facts: [string, string][] = [
    ...(task.label ? ([["Id in the file", task.label]] as [string, string][]) : []),
    ["Size", count(task.size)],
    // Of a real task nothing else is known beforehand.
    ...(audit.oracle
      ? ([
          ["Intensity", digits(task.compute_intensity, 2)],
          ["Memory", `${count(task.memory_required)} MB`],
        ] as [string, string][])
      : []),
    ["Arrived", seconds(task.arrival_time)],
    ["Run", task.run_id === null ? "–" : String(task.run_id)],
    ...(task.kind ? ([["Kind", task.kind]] as [string, string][]) : []),
    ...(task.deadline ? ([["Due after", seconds(task.deadline)]] as [string, string][]) : []),
    ...(task.divisible === false ? ([["May be cut", "no"]] as [string, string][]) : []),
    ...(task.gpus_required > 1 ? ([["GPUs at once", count(task.gpus_required)]] as [string, string][]) : []),
    ...(task.runs_on === "any"
      ? []
      : ([["Runs on", `${task.runs_on.toUpperCase()} only`]] as [string, string][])),
    ["Parents", task.dependencies.length === 0 ? "none" : task.dependencies.join(", ")],
  ];
  return (
    <dl className="grid grid-cols-3 gap-x-4 gap-y-2 sm:grid-cols-6">
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt className="eyebrow">{label}</dt>
          <dd className="figure text-sm font-semibold">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Everyone({ audit, onPick }: { audit: TaskAudit; onPick: (id: number) => void }) {
  const racers = useRacers();
  const [zoom, setZoom] = useState(2);
  const names = useMemo(() => soonestFirst(audit, racers), [audit, racers]);
  return (
    <>
      <TaskFacts audit={audit} />
      {audit.oracle && <OracleSentence oracle={audit.oracle} />}
      <LatencyBars audit={audit} names={names} />
      <div className="mt-5 flex flex-wrap items-center justify-between gap-2">
        <h3 className="text-sm font-semibold">Every strategy's choice</h3>
        <label className="flex items-center gap-2 text-xs whitespace-nowrap text-muted">
          Zoom on time
          <input
            type="range"
            min={0}
            max={5}
            step={0.5}
            className="w-28 accent-ml"
            value={Math.log2(zoom)}
            onChange={(event) => setZoom(2 ** Number(event.target.value))}
          />
        </label>
      </div>
      <ul className="mt-2 space-y-3">
        {names.map((name) => {
          const strategy = audit.strategies[name];
          return strategy ? (
            <StrategyPanel
              key={name}
              strategy={strategy}
              oracle={audit.oracle}
              taskId={audit.task.task_id}
              run={audit.task.run_id}
              zoom={zoom}
              onPick={onPick}
            />
          ) : null;
        })}
      </ul>
    </>
  );
}

interface NeighbourProps {
  taskId: number;
  told: string;
  isThere: boolean;
  text: string;
  onPick: (id: number) => void;
}

function Neighbour({ taskId, told, isThere, text, onPick }: NeighbourProps) {
  return (
    <button
      type="button"
      className="press px-2 py-0.5 text-xs"
      disabled={!isThere}
      aria-label={`${text} task, ${told}`}
      onClick={() => onPick(taskId)}
    >
      {text}
    </button>
  );
}

/** One task from every side: what each strategy chose and why, what it cost, and what the oracle would have done. */
export function AuditDrawer({ taskId, onClose }: AuditDrawerProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const answer = useAudit(taskId);
  const [, change] = useView();
  const words = useRunWords(answer.data?.task.run_id ?? null);
  const newest = useLive((s) => s.update?.status.last_task_id ?? null);
  const pick = (id: number): void => change({ task: id });
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={`Decisions for task ${words.task(taskId)}`}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
      onKeyDown={(event) => event.key === "Escape" && onClose()}
      className="fixed inset-y-0 right-0 left-auto m-0 h-dvh max-h-none w-full max-w-3xl overflow-hidden border-l border-line p-0 text-ink backdrop:bg-black/55"
      style={{ background: "var(--panel-solid)" }}
    >
      <div className="flex h-full flex-col">
        <div className="flex items-center gap-3 border-b border-line px-5 py-3">
          <h2 className="text-lg font-semibold tracking-tight">
            Task <span className="figure">{words.task(taskId)}</span>
          </h2>
          <span className="text-sm text-muted max-sm:hidden">why it went where it went</span>
          <span className="ml-auto flex gap-1.5">
            <Neighbour
              taskId={taskId - 1}
              told={words.task(taskId - 1)}
              isThere={taskId > 0 || (words.isMeasured && words.task(taskId) !== "0")}
              text="Previous"
              onPick={pick}
            />
            <Neighbour
              taskId={taskId + 1}
              told={words.task(taskId + 1)}
              isThere={taskId < 0 ? taskId < -1 && words.isMeasured : newest === null || taskId < newest}
              text="Next"
              onPick={pick}
            />
          </span>
          <button type="button" className="icon-press" aria-label="Close" onClick={onClose}>
            <X size={18} aria-hidden="true" />
          </button>
        </div>
        <div className="min-h-0 flex-1 overflow-auto px-5 py-4">
          <Answer data={answer.data} error={answer.error} empty="">
            {(audit) => <Everyone audit={audit} onPick={(id) => change({ task: id }, true)} />}
          </Answer>
        </div>
      </div>
    </dialog>
  );
}
