import type { Scale } from "@/charts/race";
import type { Bound } from "@/client/types";
import { seconds, tasksText } from "@/lib/format";
import type { MetricCard } from "@/lib/metrics";

export interface BoundNoteProps {
  metric: MetricCard;
  bound: Bound | undefined;
  scale: Scale;
}

/** One sentence that explains the bounds and the gaps where they stand. */
function sentence(bound: Bound): string {
  if (bound.makespan_s === null || bound.execution_s === null || bound.tasks === 0)
    return "The bounds that nobody can beat are proven once tasks have finished.";
  const mean = seconds(bound.execution_s / bound.tasks);
  return `It is proven that no strategy, however clever, could run these ${tasksText(bound.tasks)} in less than ${mean} each or finish them before ${seconds(bound.makespan_s)} of simulated time; the two gaps say how far above that each one is.`;
}

const LIMITS: Partial<Record<MetricCard["key"], string>> = {
  time: "The oracle ignores queues, so leading here says nothing about latency or makespan. ",
  latency: "The dashed line is the least possible running time: latency cannot be shorter. ",
};

/** What the bars mean, what the bound is, and how the scale is to be read. */
export function BoundNote({ metric, bound, scale }: BoundNoteProps) {
  return (
    <p>
      <span className="text-ink">Shorter is better.</span> {metric.meaning}{" "}
      {scale === "log" && (
        <span className="text-warn">Log scale: each step to the right is a multiple, not an amount. </span>
      )}
      {LIMITS[metric.key]}
      {bound && (
        <span title={bound.scope} data-bound={bound.makespan_s ?? ""}>
          {sentence(bound)}
        </span>
      )}
    </p>
  );
}
