import { tidy } from "@/lib/format";
import { useSize } from "@/lib/useSize";
import { linearScale, logScale } from "./axes";

export interface PricedPoint {
  name: string;
  detail: string;
  price: number;
  value: number;
  low: number | null;
  high: number | null;
  tone: string;
  isChosen: boolean;
}

export interface PriceChartProps {
  points: readonly PricedPoint[];
  /** None where the least value was asked for. */
  limit: number | null;
  limitText: string;
  valueLabel: string;
  format: (value: number) => string;
}

const EDGE = { left: 72, right: 14, top: 14, bottom: 36 };

/** What each node costs an hour, and what it gives; below the dashed line the target is kept. */
export function PriceChart({ points, limit, limitText, valueLabel, format }: PriceChartProps) {
  const [ref, size] = useSize<HTMLDivElement>();
  const ends = points.flatMap((one) => [one.value, one.low ?? one.value, one.high ?? one.value]);
  const values = limit === null ? ends : [...ends, limit];
  const above = values.filter((value) => value > 0);
  const [least, most] = [Math.min(...above), Math.max(...above)];
  const [floor, right] = [size.height - EDGE.bottom, size.width - EDGE.right];
  const up = (most / least > 20 ? logScale : linearScale)(
    most / least > 20 ? least * 0.8 : 0,
    most * 1.1,
    floor,
    EDGE.top,
  );
  const across = linearScale(0, Math.max(...points.map((one) => one.price)) * 1.08, EDGE.left, right);
  return (
    <div ref={ref} className="h-full min-h-0 w-full overflow-hidden">
      {size.width > 0 && points.length > 0 && (
        <svg
          width={size.width}
          height={size.height}
          role="img"
          aria-label={`Price and ${valueLabel} of ${points.length} nodes; the target is ${limitText}`}
        >
          {up.ticks.map((tick) => (
            <g key={tick}>
              <line x1={EDGE.left} x2={right} y1={up(tick)} y2={up(tick)} stroke="var(--grid)" />
              <text x={EDGE.left - 6} y={up(tick) + 4} textAnchor="end" fontSize="11" fill="var(--muted)">
                {tidy(format(tick))}
              </text>
            </g>
          ))}
          {across.ticks.map((tick) => (
            <text
              key={tick}
              x={across(tick)}
              y={floor + 15}
              textAnchor="middle"
              fontSize="11"
              fill="var(--muted)"
            >
              {`$${Number(tick.toPrecision(4))}`}
            </text>
          ))}
          <text
            x={(EDGE.left + right) / 2}
            y={size.height - 4}
            textAnchor="middle"
            fontSize="11"
            fill="var(--muted)"
          >
            price of the node an hour
          </text>
          <text
            transform={`translate(11 ${(floor + EDGE.top) / 2}) rotate(-90)`}
            textAnchor="middle"
            fontSize="11"
            fill="var(--muted)"
          >
            {valueLabel}
          </text>
          {limit !== null && (
            <>
              <line
                x1={EDGE.left}
                x2={right}
                y1={up(limit)}
                y2={up(limit)}
                stroke="var(--gold)"
                strokeDasharray="5 4"
              />
              <text x={right} y={up(limit) - 5} textAnchor="end" fontSize="11" fill="var(--gold)">
                {limitText}
              </text>
            </>
          )}
          {points.map((one) => (
            <g key={one.name} data-node={one.name}>
              <title>{`${one.name}: ${one.detail}`}</title>
              {one.low !== null && one.high !== null && (
                <line
                  x1={across(one.price)}
                  x2={across(one.price)}
                  y1={up(Math.max(one.low, least * 0.8))}
                  y2={up(one.high)}
                  stroke={one.tone}
                  strokeWidth="2"
                  opacity="0.6"
                />
              )}
              <circle
                cx={across(one.price)}
                cy={up(one.value)}
                r={one.isChosen ? 7 : 4.5}
                fill={one.tone}
                stroke={one.isChosen ? "var(--ink)" : "none"}
                strokeWidth="2"
              />
            </g>
          ))}
        </svg>
      )}
    </div>
  );
}
