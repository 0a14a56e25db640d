import { brief, count, tasksText } from "@/lib/format";
import { useSize } from "@/lib/useSize";
import { linearTicks } from "./axes";

export interface SizeHistogramProps {
  bounds: readonly number[];
  counts: readonly number[];
}

const EDGE = { left: 48, bottom: 32, top: 8, right: 4 };

/** Round whole ticks from zero to the first one that no bar passes. */
function upTo(highest: number): { ticks: number[]; most: number } {
  const ticks = linearTicks(0, highest, 4).filter(Number.isInteger);
  const step = (ticks[1] ?? 1) - (ticks[0] ?? 0);
  const last = ticks.at(-1) ?? 0;
  return last >= highest ? { ticks, most: last } : { ticks: [...ticks, last + step], most: last + step };
}

/** How many tasks have which size; every bar says its range and its number. */
export function SizeHistogram({ bounds, counts }: SizeHistogramProps) {
  const [ref, size] = useSize<HTMLDivElement>();
  const { ticks, most } = upTo(Math.max(1, ...counts));
  const total = counts.reduce((sum, n) => sum + n, 0);
  const step = (size.width - EDGE.left - EDGE.right) / Math.max(1, counts.length);
  const floor = size.height - EDGE.bottom;
  const heightOf = (n: number): number => ((floor - EDGE.top) * n) / most;
  const every = Math.max(1, Math.ceil(46 / Math.max(1, step)));
  return (
    <div ref={ref} className="h-full min-h-0 w-full overflow-hidden">
      {size.width > 0 && (
        <svg
          width={size.width}
          height={size.height}
          role="img"
          aria-label={`Histogram of ${count(total)} task sizes`}
        >
          <defs>
            <linearGradient id="size-bar" x1="0" x2="0" y1="0" y2="1">
              <stop offset="0" stopColor="var(--ml)" />
              <stop offset="1" stopColor="var(--rl)" stopOpacity="0.55" />
            </linearGradient>
          </defs>
          <text
            transform={`translate(10 ${(floor + EDGE.top) / 2}) rotate(-90)`}
            textAnchor="middle"
            fontSize="11"
            fill="var(--muted)"
          >
            tasks
          </text>
          {ticks.map((tick) => (
            <g key={tick}>
              <line
                x1={EDGE.left}
                x2={size.width}
                y1={floor - heightOf(tick)}
                y2={floor - heightOf(tick)}
                stroke="var(--grid)"
              />
              <text
                x={EDGE.left - 6}
                y={floor - heightOf(tick) + 4}
                textAnchor="end"
                fontSize="11"
                fill="var(--muted)"
              >
                {count(tick)}
              </text>
            </g>
          ))}
          {counts.map((n, i) => (
            <rect
              key={bounds[i]}
              x={EDGE.left + i * step + 1}
              y={floor - heightOf(n)}
              width={Math.max(1, step - 2)}
              height={heightOf(n)}
              rx={2}
              fill="url(#size-bar)"
            >
              <title>{`size ${count(bounds[i])} to ${count(bounds[i + 1])}: ${tasksText(n)}`}</title>
            </rect>
          ))}
          {counts.map((_, i) =>
            i % every === 0 ? (
              <text
                key={bounds[i]}
                x={EDGE.left + i * step}
                y={floor + 15}
                fontSize="11"
                fill="var(--muted)"
                textAnchor={i === 0 ? "start" : "middle"}
              >
                {brief(bounds[i] ?? 0)}
              </text>
            ) : null,
          )}
          <text
            x={(EDGE.left + size.width) / 2}
            y={size.height - 3}
            fontSize="11"
            fill="var(--muted)"
            textAnchor="middle"
          >
            task size (ranges equal on a log scale)
          </text>
        </svg>
      )}
    </div>
  );
}
