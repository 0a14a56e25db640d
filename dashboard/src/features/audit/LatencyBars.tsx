import type { TaskAudit } from "@/client/types";
import { seconds } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";
import { deviceLabel } from "@/live/devices";

export interface LatencyBarsProps {
  audit: TaskAudit;
  names: readonly string[];
}

/** A bar more than this many times the next one is cut, and says so: one queue must not flatten all others. */
const CUT = 4;

/** The longest latency that is not an outlier at the far end. */
export function scaleEnd(latencies: readonly number[]): number {
  const sorted = [...latencies].sort((a, b) => b - a);
  const first = sorted.findIndex((value, i) => value <= CUT * (sorted[i + 1] ?? value));
  return sorted[Math.max(0, first)] || 1;
}

/** Everybody's latency for this task at one glance: what it ran, and what it waited. */
export function LatencyBars({ audit, names }: LatencyBarsProps) {
  const face = useFaces();
  const end = scaleEnd(names.flatMap((name) => audit.strategies[name]?.latency ?? []));
  return (
    <figure className="mt-5">
      <figcaption className="mb-2 flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="text-sm font-semibold">Latency, soonest first</span>
        <span className="text-xs text-muted">full: running, faint: waiting</span>
      </figcaption>
      <ul className="space-y-1.5">
        {names.map((name) => {
          const strategy = audit.strategies[name];
          if (!strategy) return null;
          const { colour, label } = face(name);
          const latency = strategy.latency ?? 0;
          const ran = Math.min(strategy.time ?? 0, latency);
          const width = (value: number): string => `${Math.min(100, (value / end) * 100)}%`;
          const isCut = latency > end * 1.001;
          return (
            <li
              key={name}
              className="grid grid-cols-[6.6rem_1fr_4.6rem] items-center gap-2 text-xs sm:grid-cols-[7rem_5.6rem_1fr_4.6rem]"
            >
              <span className="truncate">{label}</span>
              <span className="truncate text-muted max-sm:hidden">{deviceLabel(strategy.device)}</span>
              <span aria-hidden="true" className="relative h-2.5 overflow-hidden rounded bg-raised">
                <span
                  className="absolute inset-y-0 left-0 opacity-35"
                  style={{ width: width(latency), background: colour }}
                />
                <span
                  className="absolute inset-y-0 left-0"
                  style={{ width: width(ran), background: colour }}
                />
              </span>
              <span className="figure text-right font-medium" title={isCut ? "The bar is cut" : undefined}>
                {isCut && <span className="text-warn">» </span>}
                {seconds(strategy.latency)}
              </span>
            </li>
          );
        })}
      </ul>
    </figure>
  );
}
