import { CartesianGrid, Line, LineChart, ReferenceLine, Tooltip, XAxis, YAxis } from "recharts";
import { count } from "@/lib/format";
import { useSize } from "@/lib/useSize";
import { linearTicks } from "./axes";
import type { Marker } from "./series";

export interface TrendLinesProps {
  label: string;
  names: readonly { key: string; label: string; colour: string; dash?: string | undefined }[];
  /** One row a point: `x` and one value for each name. */
  points: readonly Record<string, number | null>[];
  shifts: readonly Marker[];
  trainings: readonly number[];
  log: boolean;
  /** Draw across missing values: only where each row belongs to one line. */
  connect?: boolean;
  format: (value: number | null | undefined) => string;
}

/** Training lines closer together than this would hide the curves; then none is drawn. */
const LEAST_GAP_PX = 11;

/** The long-term trend, each point the mean of a stretch of tasks; no smoothing hides the raw means. */
export function TrendLines({
  label,
  names,
  points,
  shifts,
  trainings,
  log,
  connect = false,
  format,
}: TrendLinesProps) {
  const [ref, size] = useSize<HTMLDivElement>();
  const low = points[0]?.x ?? 0;
  const high = points.at(-1)?.x ?? 1;
  return (
    <div
      ref={ref}
      role="img"
      aria-label={label}
      data-markers={shifts.length}
      className="h-full min-h-0 w-full overflow-hidden"
    >
      {size.width > 0 && (
        <LineChart
          width={size.width}
          height={size.height}
          data={points as Record<string, number>[]}
          margin={{ top: shifts.length > 1 ? 30 : 18, right: 12, bottom: 4, left: 4 }}
          accessibilityLayer={false}
        >
          <CartesianGrid stroke="var(--grid)" vertical={false} />
          <XAxis
            dataKey="x"
            type="number"
            domain={[low, high]}
            ticks={linearTicks(low, high, Math.max(2, Math.floor(size.width / 130)))}
            tickFormatter={(value: number) => count(value)}
            stroke="var(--line)"
            tick={{ fill: "var(--muted)", fontSize: 11 }}
            height={24}
          />
          <YAxis
            width={62}
            scale={log ? "log" : "linear"}
            domain={log ? ["auto", "auto"] : [0, "auto"]}
            allowDataOverflow={log}
            tickFormatter={(value: number) => format(value)}
            stroke="var(--line)"
            tick={{ fill: "var(--muted)", fontSize: 11 }}
          />
          <Tooltip
            isAnimationActive={false}
            formatter={(value, name) => [
              format(value as number),
              names.find((n) => n.key === name)?.label ?? String(name),
            ]}
            labelFormatter={(value) => `up to task ${count(value as number)}`}
            contentStyle={{
              background: "var(--panel-solid)",
              border: "1px solid var(--line)",
              borderRadius: 10,
              fontSize: 12,
            }}
            labelStyle={{ color: "var(--muted)" }}
            itemSorter={(item) => Number(item.value)}
          />
          {(trainings.length < size.width / LEAST_GAP_PX ? trainings : []).map((x) => (
            <ReferenceLine key={`t${x}`} x={x} stroke="var(--ml)" strokeOpacity={0.28} />
          ))}
          {shifts.map((marker, i) => (
            <ReferenceLine
              key={`s${marker.x}`}
              x={marker.x}
              stroke="var(--warn)"
              strokeDasharray="5 4"
              strokeWidth={1.5}
              label={{
                value: marker.text,
                fill: "var(--warn)",
                fontSize: 11,
                position: "top",
                dy: i % 2 === 0 ? 0 : -13,
              }}
            />
          ))}
          {names.map((name) => (
            <Line
              key={name.key}
              dataKey={name.key}
              stroke={name.colour}
              strokeWidth={2}
              {...(name.dash ? { strokeDasharray: name.dash } : {})}
              dot={false}
              isAnimationActive={false}
              connectNulls={connect}
            />
          ))}
        </LineChart>
      )}
    </div>
  );
}
