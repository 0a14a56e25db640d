import type { TaskAudit } from "@/client/types";
import { dollars, joules, percent, seconds } from "@/lib/format";
import { deviceLabel } from "@/live/devices";

/** What the oracle would have done, and what it does not know. */
export function OracleSentence({ oracle }: { oracle: NonNullable<TaskAudit["oracle"]> }) {
  return (
    <p
      className="mt-4 rounded-xl border border-gold/30 bg-gold/5 px-4 py-3 text-sm leading-relaxed"
      data-oracle={oracle.device}
    >
      <span className="font-semibold text-gold">The oracle</span> would use {deviceLabel(oracle.device)} with
      a GPU share of <span className="figure font-semibold">{percent(oracle.gpu_fraction)}</span>:{" "}
      {seconds(oracle.time)}, {joules(oracle.energy)}, {dollars(oracle.cost)}.{" "}
      <span className="text-muted">{oracle.explanation}</span>
    </p>
  );
}
