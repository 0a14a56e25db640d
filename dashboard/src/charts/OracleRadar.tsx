import { PolarAngleAxis, PolarGrid, PolarRadiusAxis, Radar, RadarChart } from "recharts";
import { useSize } from "@/lib/useSize";
import { RINGS, radiusOf, type Spoke } from "./radar";

export interface OracleRadarProps {
  spokes: readonly Spoke[];
  colour: string;
  oracleColour: string;
  label: string;
}

const ringText = (ratio: number): string => (ratio < 0.75 ? "½×" : `${ratio}×`);

/** A strategy against the oracle: inside the gold ring is better, outside worse. */
export function OracleRadar({ spokes, colour, oracleColour, label }: OracleRadarProps) {
  const [ref, size] = useSize<HTMLDivElement>();
  // The circle ends a little outside the largest value. Radii are shares of it, so that rings and lines have one scale:
  // the chart's own axis would stretch its end to a round number.
  const edge = Math.max(radiusOf(2.4), ...spokes.map((spoke) => spoke.radius));
  const data = spokes.map((spoke) => ({
    mine: spoke.radius / edge,
    oracle: spoke.oracle / edge,
    name: `${spoke.axis} ${spoke.ratio === null ? "–" : `${spoke.ratio.toFixed(spoke.ratio < 10 ? 2 : spoke.ratio < 100 ? 1 : 0)}×`}`,
  }));
  // The labels keep their room beside the circle.
  const outer = Math.max(30, Math.min(size.width / 2 - 100, size.height / 2 - 20));
  const rings = RINGS.filter((ratio) => radiusOf(ratio) <= edge);
  const description = `${label}: ${data.map((spoke) => spoke.name).join(", ")} of the oracle's value`;
  return (
    <div ref={ref} role="img" aria-label={description} className="h-full min-h-0 w-full overflow-hidden">
      {size.width > 0 && (
        <RadarChart
          width={size.width}
          height={size.height}
          data={data}
          outerRadius={outer}
          accessibilityLayer={false}
        >
          <PolarGrid
            stroke="var(--line)"
            polarRadius={rings.map((ratio) => (outer * radiusOf(ratio)) / edge)}
          />
          <PolarAngleAxis dataKey="name" tick={{ fill: "var(--ink)", fontSize: 11.5 }} />
          <PolarRadiusAxis domain={[0, 1]} ticks={[0, 1]} tick={false} axisLine={false} />
          <Radar
            dataKey="oracle"
            stroke={oracleColour}
            fill={oracleColour}
            fillOpacity={0.1}
            strokeDasharray="5 4"
            strokeWidth={1.5}
            isAnimationActive={false}
          />
          <Radar
            dataKey="mine"
            stroke={colour}
            fill={colour}
            fillOpacity={0.28}
            strokeWidth={2}
            isAnimationActive={false}
          />
          {rings.map((ratio) => (
            <text
              key={ratio}
              x={size.width / 2}
              y={size.height / 2 + ((outer * radiusOf(ratio)) / edge) * Math.cos(Math.PI / spokes.length) - 3}
              textAnchor="middle"
              fontSize="10"
              fill="var(--muted)"
              stroke="var(--panel-solid)"
              strokeWidth="3"
              paintOrder="stroke"
            >
              {ringText(ratio)}
            </text>
          ))}
        </RadarChart>
      )}
    </div>
  );
}
