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
  if (metric.key === "makespan" && bound.makespan_s !== null)
    return `No strategy, however clever, can finish these ${covered} before second ${seconds(bound.makespan_s)}: that is proven, and the percentage is how far above it each strategy ended.`;
  if (metric.key === "time" && bound.execution_s !== null)
    return `No split of any task can run faster than the bound, the continuous optimum over ${covered}; the oracle comes close on its grid, but it ignores queues, so it need not lead in latency or makespan.`;
  return "For this metric no bound is proven: choose makespan or execution time to see what nobody can beat.";
}

export function BoundNote({ metric, bound, scale }: BoundNoteProps) {
  return (
    <p>
      <span className="text-ink">Shorter is better.</span> {metric.meaning} {bound && sentence(metric, bound)}
      {bound?.scope && (metric.key === "makespan" || metric.key === "time") && (
        <span title="Scope of the bound"> {bound.scope}</span>
      )}
      {scale === "log" && (
        <span className="text-warn"> Logarithmic: each step to the right is a multiple, not an amount.</span>
      )}
    </p>
  );
}
