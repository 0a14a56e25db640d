import type { Scale } from "@/charts/race";
import type { Bound } from "@/client/types";
import { count, seconds } from "@/lib/format";
import type { MetricCard } from "@/lib/metrics";

export interface BoundNoteProps {
  metric: MetricCard;
  bound: Bound | undefined;
  scale: Scale;
}

/** One sentence that explains the bound and the gap where they stand. */
function sentence(metric: MetricCard, bound: Bound): string {
  const covered = `${count(bound.tasks)} tasks`;
  if (metric.key === "time" && bound.execution_s !== null)
    return `No split of any task runs faster than the dashed bound, the continuous optimum over ${covered}; the oracle stays a little above it on its grid and, since it ignores queues, need not lead in latency or makespan.`;
  if (bound.makespan_s !== null)
    return `It is proven that no strategy, however clever, could have finished these ${covered} before ${seconds(bound.makespan_s)} of simulated time; the makespan gap is how far above that each one ended.`;
  return "The bound that nobody can beat is proven once tasks have finished.";
}

/** What the bars mean, what the bound is, and how the scale is to be read. */
export function BoundNote({ metric, bound, scale }: BoundNoteProps) {
  return (
    <p>
      <span className="text-ink">Shorter is better.</span> {metric.meaning}{" "}
      {scale === "log" && (
        <span className="text-warn">Log scale: each step to the right is a multiple, not an amount. </span>
      )}
      {bound && (
        <span title={bound.scope} data-bound={bound.makespan_s ?? ""}>
          {sentence(metric, bound)}
        </span>
      )}
    </p>
  );
}
