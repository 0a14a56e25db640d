import { CartesianGrid, Line, LineChart, ReferenceLine, Tooltip, XAxis, YAxis } from "recharts";
import { type Stretch, type Unit, useZoom, within } from "@/lib/along";
import { taskNumber, tidy } from "@/lib/format";
import { useSize } from "@/lib/useSize";
import { decimalsOf, linearTicks } from "./axes";
import { Brush } from "./Brush";
import { type Marker, wordsBeside } from "./series";
import { logBounds, valueTicks } from "./trendAxis";

export interface TrendLinesProps {
  label: string;
  names: readonly { key: string; label: string; colour: string; dash?: string | undefined }[];
  /** One row a point: `x` and one value for each name. */
  points: readonly Record<string, number | null>[];
  shifts: readonly Marker[];
  trainings: readonly number[];
  log: boolean;
  /** What the value axis measures. */
  axisTitle: string;
  /** The other axis: its name, how its values are written, and what stands before one under the pointer. */
  axis?: AxisWords;
  /** Draw across missing values: only where each row belongs to one line. */
  connect?: boolean;
  format: (value: number | null | undefined) => string;
}

interface AxisWords {
  title: string;
  format: (x: number, decimals?: number) => string;
  words: string;
  unit?: Unit;
  ticks?: typeof linearTicks;
}

const TASKS: AxisWords = {
  title: "task number",
  format: (x: number): string => taskNumber(x),
  words: "from task",
  unit: "task",
};
const AXIS = { width: 70, left: 4, right: 14, foot: 38, bottom: 2 } as const;
const LINE_PX = 14;
const MOST_LINES = 3;
const LETTER_PX = 5.9;

interface MarksProps {
  words: ReturnType<typeof wordsBeside>;
  trainings: readonly number[];
  at: (x: number) => number;
  width: number;
  floor: number;
  axisTitle: string;
  xTitle: string;
}

/** Words beside the shifts, small ticks where a model was retrained, and what the axes measure. */
function Marks({ words, trainings, at, width, floor, axisTitle, xTitle }: MarksProps) {
  return (
    <svg
      className="pointer-events-none absolute inset-0"
      width={width}
      height={floor + AXIS.foot}
      aria-hidden="true"
    >
      {trainings.map((x) => (
        <line key={x} x1={at(x)} x2={at(x)} y1={floor - 6} y2={floor} stroke="var(--ml)" strokeWidth="1.5" />
      ))}
      {words.map((word) =>
        word.line === null ? null : (
          <text
            key={`${word.left}${word.text}`}
            x={word.left}
            y={11 + word.line * LINE_PX}
            fontSize="11"
            fill="var(--warn)"
          >
            {word.text}
          </text>
        ),
      )}
      <text
        transform={`translate(10 ${floor / 2 + 8}) rotate(-90)`}
        textAnchor="middle"
        fontSize="11"
        fill="var(--muted)"
      >
        {axisTitle}
      </text>
      <text x={width - AXIS.right} y={floor + 33} textAnchor="end" fontSize="11" fill="var(--muted)">
        {xTitle}
      </text>
    </svg>
  );
}

/** The long-term trend, each point the mean of a stretch of tasks; no smoothing hides the raw means. */
export function TrendLines(props: TrendLinesProps) {
  const {
    label,
    names,
    points,
    shifts,
    trainings,
    log,
    axisTitle,
    connect = false,
    format,
    axis = TASKS,
  } = props;
  const [ref, size] = useSize<HTMLDivElement>();
  const zoom = useZoom(axis.unit ?? "simulated");
  const whole: Stretch = [points[0]?.x ?? 0, points.at(-1)?.x ?? 1];
  const [low, high] = within(zoom.stretch, whole);
  const left = AXIS.left + 14 + AXIS.width;
  const span = Math.max(1, size.width - left - AXIS.right);
  const at = (x: number): number => left + (span * (x - low)) / (high - low || 1);
  const inside = shifts.filter((shift) => shift.x >= low && shift.x <= high);
  const words = wordsBeside(
    inside.map((shift) => ({ at: at(shift.x), text: shift.text })),
    (text) => text.length * LETTER_PX,
    { left, right: size.width - AXIS.right, lines: MOST_LINES, gap: 6 },
  );
  const lines = Math.max(0, ...words.map((word) => (word.line ?? -1) + 1));
  const top = 8 + lines * LINE_PX;
  const seen = points.filter(({ x }) => x !== null && x !== undefined && x >= low && x <= high);
  const values = seen.flatMap((point) => names.map((name) => point[name.key] ?? null));
  const moments = (axis.ticks ?? linearTicks)(low, high, Math.max(2, Math.floor(size.width / 110)));
  const decimals = decimalsOf(moments);
  const ticks = valueTicks(values, log, Math.max(2, Math.floor((size.height - top - AXIS.foot) / 34)));
  return (
    <div ref={ref} className="relative h-full min-h-64 w-full overflow-hidden select-none">
      {size.width > 0 && (
        <>
          <div role="img" aria-label={label} data-markers={shifts.length} className="absolute inset-0">
            <LineChart
              width={size.width}
              height={size.height}
              data={points as Record<string, number>[]}
              margin={{ top, right: AXIS.right, bottom: AXIS.bottom, left: AXIS.left + 14 }}
              accessibilityLayer={false}
            >
              <CartesianGrid stroke="var(--grid)" vertical={false} />
              <XAxis
                dataKey="x"
                type="number"
                domain={[low, high]}
                allowDataOverflow
                ticks={moments}
                tickFormatter={(x: number) => axis.format(x, decimals)}
                stroke="var(--line)"
                tick={{ fill: "var(--muted)", fontSize: 11 }}
                height={AXIS.foot - AXIS.bottom}
              />
              <YAxis
                width={AXIS.width}
                scale={log ? "log" : "linear"}
                domain={log ? logBounds(values) : [0, ticks.at(-1) ?? "auto"]}
                ticks={ticks}
                interval={0}
                allowDataOverflow={log}
                tickFormatter={(value: number) => tidy(format(value))}
                stroke="var(--line)"
                tick={{ fill: "var(--muted)", fontSize: 11 }}
              />
              <Tooltip
                isAnimationActive={false}
                formatter={(value, name) => [
                  format(value as number),
                  names.find((n) => n.key === name)?.label ?? String(name),
                ]}
                labelFormatter={(value) =>
                  `${axis.words} ${axis.format(value as number, decimals && decimals + 1)}`
                }
                contentStyle={{
                  background: "var(--panel-solid)",
                  border: "1px solid var(--line)",
                  borderRadius: 10,
                  fontSize: 11,
                  lineHeight: 1.2,
                  padding: "6px 10px",
                }}
                itemStyle={{ padding: 0 }}
                labelStyle={{ color: "var(--muted)" }}
                itemSorter={(item) => Number(item.value)}
              />
              {inside.map((marker) => (
                <ReferenceLine
                  key={`s${marker.x}`}
                  x={marker.x}
                  stroke="var(--warn)"
                  strokeDasharray="5 4"
                  strokeWidth={1.5}
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
            <Marks
              words={words}
              trainings={trainings.filter((x) => x >= low && x <= high)}
              at={at}
              width={size.width}
              floor={size.height - AXIS.foot}
              axisTitle={axisTitle}
              xTitle={axis.title}
            />
          </div>
          <Brush
            zoom={zoom}
            whole={whole}
            label={label}
            left={left}
            right={AXIS.right}
            ends={[low, high]}
            top={top}
            foot={AXIS.foot}
          />
        </>
      )}
    </div>
  );
}
