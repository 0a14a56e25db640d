import { useMemo } from "react";
import { GanttStrip } from "@/charts/GanttStrip";
import { shiftLabel } from "@/charts/series";
import type { Gantt, StrategyAudit, StrategyCard, TaskAudit } from "@/client/types";
import { dollars, joules, seconds } from "@/lib/format";
import { type RunWords, useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { useFaces } from "@/lib/useStrategy";
import { useLive } from "@/live/store";
import { GpuShare } from "./GpuShare";
import { Reasons } from "./Reasons";
import { shapesOf } from "./shapes";
import { WhatIf } from "./WhatIf";

export interface StrategyPanelProps {
  strategy: StrategyAudit;
  oracle: TaskAudit["oracle"];
  taskId: number;
  run: number | null;
  zoom: number;
  onPick: (taskId: number) => void;
}

const ORIGINS: Record<StrategyAudit["reason_origin"], string> = {
  at_decision: "Recorded at the decision.",
  now: "What the strategy says about this task today; its model may have changed since.",
  none: "Its reasons for this task are not known here.",
};

/** Where the reasons come from; of one that races and never explains itself, that it does not. */
function originOf(strategy: StrategyAudit, card: StrategyCard | undefined): string {
  if (strategy.reason_origin === "none" && card?.in_race && !card.explains)
    return "This strategy gives no reasons.";
  return ORIGINS[strategy.reason_origin];
}

function Outcome({ strategy, oracle }: Pick<StrategyPanelProps, "strategy" | "oracle">) {
  const slower = strategy.time === null || oracle === null ? null : strategy.time / oracle.time;
  const facts: [string, string, string][] = [
    ["Time", seconds(strategy.time), "Execution time, as if the devices were free"],
    ["Latency", seconds(strategy.latency), "Finish minus arrival, queues included"],
    ["Wait", seconds(strategy.wait), "Finish minus ready minus execution time"],
    ["Energy", joules(strategy.energy), "Busy seconds times power, over its devices"],
    ["Cost", dollars(strategy.cost), "Busy device time at the plan's rates; 1 µ$ is a millionth of a dollar"],
    [
      "Time ÷ oracle",
      slower === null ? "–" : `${slower.toFixed(2)}×`,
      "This strategy's execution time over the oracle's for the same task",
    ],
  ];
  return (
    <dl className="mt-2 grid grid-cols-3 gap-x-4 gap-y-1 sm:grid-cols-6">
      {facts.map(([label, value, meaning]) => (
        <div key={label} title={meaning}>
          <dt className="text-[0.6875rem] text-muted">{label}</dt>
          <dd className="figure text-sm font-medium">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The devices under the names that the run has for them. */
function labelled(gantt: Gantt, words: RunWords): Gantt {
  const intervals = gantt.intervals.map((part) => ({ ...part, device: words.device(part.device) }));
  return { ...gantt, devices: gantt.devices.map(words.device), intervals };
}

/** What one strategy did with the task, with its devices around that moment. */
export function StrategyPanel({ strategy, oracle, taskId, run, zoom, onPick }: StrategyPanelProps) {
  const face = useFaces()(strategy.scheduler);
  const theme = useTheme((s) => s.theme);
  const shifts = useLive((s) => s.shifts);
  const markers = useMemo(
    () => shifts.map((shift) => ({ x: shift.simulated_time_s, text: shiftLabel(shift) })),
    [shifts],
  );
  const words = useRunWords(run);
  const gantt = useMemo(() => labelled(strategy.gantt, words), [strategy.gantt, words]);
  const centre = strategy.start ?? (gantt.begin + gantt.end) / 2;
  return (
    <li className="rounded-xl border border-line bg-raised px-4 py-3" data-strategy={strategy.scheduler}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span aria-hidden="true" className="size-2.5 rounded-full" style={{ background: face.colour }} />
        <h4 className="text-sm font-semibold">{face.label}</h4>
        <span className="chip">{words.device(strategy.device)}</span>
        <GpuShare share={strategy.gpu_fraction} reason={strategy.reason} />
        {strategy.time === null && <span className="chip text-warn">not finished or failed</span>}
      </div>
      <Outcome strategy={strategy} oracle={oracle} />
      {gantt.intervals.length > 0 ? (
        <div className="mt-3">
          <GanttStrip
            gantt={gantt}
            taskId={taskId}
            nameOf={words.task}
            centre={centre}
            zoom={zoom}
            markers={markers}
            theme={theme}
            onPick={onPick}
          />
        </div>
      ) : (
        <p className="mt-2 text-xs text-muted">What the devices did at that moment is no longer known.</p>
      )}
      <details className="mt-1" open={shapesOf(strategy.reason).length > 4}>
        <summary className="text-xs text-ml">Why: {strategy.reason_text || "no reason given"}</summary>
        <p className="mt-1 text-[0.6875rem] text-muted">{originOf(strategy, face.card)}</p>
        <Reasons
          reason={strategy.reason}
          colour={face.colour}
          {...(strategy.reason_origin === "none" ? { none: null } : {})}
        />
      </details>
      {!words.isMeasured && <WhatIf key={taskId} run={run} scheduler={strategy.scheduler} taskId={taskId} />}
    </li>
  );
}
