import type { TaskAudit } from "@/client/types";
import { seconds } from "@/lib/format";
import { useRunWords } from "@/lib/runWords";
import { useFaces } from "@/lib/useStrategy";
import { latencyScale } from "./latencyScale";

export interface LatencyBarsProps {
  audit: TaskAudit;
  names: readonly string[];
}

/** Everybody's latency for this task at one glance: what it ran, and what it waited. */
export function LatencyBars({ audit, names }: LatencyBarsProps) {
  const face = useFaces();
  const words = useRunWords(audit.task.run_id);
  const scale = latencyScale(
    names.flatMap((name) => audit.strategies[name]?.latency ?? []),
    names.flatMap((name) => audit.strategies[name]?.time ?? []),
  );
  return (
    <figure className="mt-5">
      <figcaption className="mb-2 flex flex-wrap items-baseline justify-between gap-x-3">
        <span className="text-sm font-semibold">Latency, soonest first</span>
        <span className="text-xs text-muted">
          full: running, faint: waiting{scale.isLog && "; log scale"}
        </span>
      </figcaption>
      <ul className="space-y-1.5">
        {names.map((name) => {
          const strategy = audit.strategies[name];
          if (!strategy) return null;
          const { colour, label } = face(name);
          const latency = strategy.latency ?? 0;
          const ran = Math.min(strategy.time ?? 0, latency);
          const width = (value: number): string => `${scale.at(value) * 100}%`;
          const isCut = latency > scale.end * 1.001;
          return (
            <li
              key={name}
              className="grid grid-cols-[6.6rem_1fr_4.6rem] items-center gap-2 text-xs sm:grid-cols-[9.4rem_5.6rem_1fr_4.6rem]"
            >
              <span className="leading-tight">{label}</span>
              <span className="truncate text-muted max-sm:hidden">{words.device(strategy.device)}</span>
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
