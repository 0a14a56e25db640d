import type { Scale } from "@/charts/race";
import type { Bound } from "@/client/types";
import { seconds, tasksText } from "@/lib/format";
import type { MetricCard } from "@/lib/metrics";

export interface BoundNoteProps {
  metric: MetricCard;
  bound: Bound | undefined;
  /** Whether a stored run is looked at. */
  isPast: boolean;
  scale: Scale;
  /** Whether all values read alike. */
  isLevel: boolean;
}

/** One sentence that explains the bound of this metric; none is proven for energy and cost. */
export function boundSentence(metric: MetricCard, bound: Bound, isPast: boolean): string | null {
  if (metric.key === "energy" || metric.key === "cost") return null;
  if (bound.makespan_s !== null && bound.execution_s === null)
    return `${bound.scope} That is ${seconds(bound.makespan_s)}.`;
  // Of what is past nothing more will be proven: the service says why.
  if (isPast && bound.makespan_s === null) return bound.scope;
  if (bound.makespan_s === null || bound.execution_s === null || bound.tasks === 0)
    return "The bounds that nobody can beat are proven once tasks have finished.";
  if (metric.key === "makespan")
    return `It is proven that no strategy, however clever, could finish these ${tasksText(bound.tasks)} before ${seconds(bound.makespan_s)} of simulated time; the gap says how far above that each one is.`;
  const mean = seconds(bound.execution_s / bound.tasks);
  const least = `It is proven that no strategy, however clever, could run these ${tasksText(bound.tasks)} in less than ${mean} each`;
  return metric.key === "time"
    ? `${least}; the gap says how far above that each one is.`
    : `${least}, and latency cannot be shorter than that: the dashed line.`;
}

const LIMITS: Partial<Record<MetricCard["key"], string>> = {
  latency: "Full colour is running, hatched is waiting. ",
  time: "The oracle ignores queues, so leading here says nothing about latency or makespan. ",
};

/** What the bars mean, what the bound is, and how the scale is to be read. */
export function BoundNote({ metric, bound, isPast, scale, isLevel }: BoundNoteProps) {
  return (
    <p>
      <span className="text-ink">Shorter is better.</span> {metric.meaning}{" "}
      {scale === "log" && (
        <span className="text-warn">
          Log scale: each step to the right is a multiple, not an amount
          {metric.key === "latency" && "; the two tones show shares of a bar"}.{" "}
        </span>
      )}
      {LIMITS[metric.key]}
      {isLevel && (
        <span className="text-warn">
          All values read alike, so nobody is ahead
          {metric.key === "makespan" && ": everybody ends soon after the last arrival"}.{" "}
        </span>
      )}
      {bound && (
        <span title={bound.scope} data-bound={bound.makespan_s ?? ""}>
          {boundSentence(metric, bound, isPast)}
        </span>
      )}
    </p>
  );
}
