import { percent } from "@/lib/format";
import { TERMS } from "@/lib/glossary";

export interface GpuShareProps {
  share: number;
  reason: Readonly<Record<string, unknown>>;
}

/** The share sent to a GPU; where the strategy says how unsure it is, with that spread. */
export function GpuShare({ share, reason }: GpuShareProps) {
  const spread = typeof reason.spread === "number" ? reason.spread : null;
  return (
    <span className="figure text-xs text-muted">
      GPU share {percent(share)}
      {spread !== null && <span title={TERMS.spread.meaning}>{` ± ${percent(spread, 1)}`}</span>}
    </span>
  );
}
