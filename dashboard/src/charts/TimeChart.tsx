import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { faded } from "@/lib/colour";
import { inks, type Theme } from "@/lib/theme";
import { useSize } from "@/lib/useSize";
import { Legend } from "./Legend";
import { type Columns, type Marker, stacked } from "./series";

export interface TimeChartProps {
  label: string;
  names: readonly { key: string; label: string; colour: string }[];
  columns: Columns;
  markers: readonly Marker[];
  theme: Theme;
  stack?: boolean;
  /** The whole width of the axis in seconds; a young race leaves the left part empty. */
  spanS: number;
  top?: number;
  format: (value: number | null | undefined) => string;
}

/** A dashed line with its words, for every marker inside the axis. */
function markerPlugin(markers: { current: readonly Marker[] }, colour: string, ground: string): uPlot.Plugin {
  return {
    hooks: {
      draw: (plot) => {
        const { ctx, bbox } = plot;
        const ratio = uPlot.pxRatio;
        ctx.save();
        ctx.font = `${11 * ratio}px 'Inter Variable', sans-serif`;
        for (const marker of markers.current) {
          const x = plot.valToPos(marker.x, "x", true);
          if (x < bbox.left || x > bbox.left + bbox.width) continue;
          ctx.strokeStyle = colour;
          ctx.lineWidth = 1.5 * ratio;
          ctx.setLineDash([5 * ratio, 4 * ratio]);
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          const width = ctx.measureText(marker.text).width;
          const left = Math.min(x + 5 * ratio, bbox.left + bbox.width - width);
          ctx.fillStyle = ground;
          ctx.fillRect(left - 3 * ratio, bbox.top + 2 * ratio, width + 6 * ratio, 15 * ratio);
          ctx.fillStyle = colour;
          ctx.fillText(marker.text, left, bbox.top + 13 * ratio);
        }
        ctx.restore();
      },
    },
  };
}

function axis(theme: Theme, values: (value: number) => string, size: number): uPlot.Axis {
  const ink = inks(theme);
  return {
    stroke: ink.muted,
    font: "11px 'Inter Variable', sans-serif",
    grid: { stroke: ink.grid, width: 1 },
    ticks: { show: false },
    size,
    gap: 4,
    values: (_, splits) => splits.map(values),
  };
}

function bandsOf(names: TimeChartProps["names"], stack: boolean): uPlot.Band[] {
  if (!stack) return [];
  return names
    .slice(1)
    .map((name, i) => ({ series: [i + 2, i + 1], fill: faded(name.colour, 0.42) }) as uPlot.Band);
}

/** A dense live chart over the last seconds, drawn by uPlot in about two milliseconds. */
export function TimeChart(props: TimeChartProps) {
  const { names, columns, markers, theme, stack = false, spanS, top, format, label } = props;
  const [ref, size] = useSize<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const marks = useRef(markers);
  marks.current = markers;
  const [at, setAt] = useState<number | null>(null);
  const identity = names.map((name) => `${name.key}${name.colour}`).join();

  const data = useMemo(
    () => [columns.xs, ...(stack ? stacked(columns.ys) : columns.ys)] as uPlot.AlignedData,
    [columns, stack],
  );
  const latest = useRef(data);
  latest.current = data;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the identity stands for the names; data and size follow by setData and setSize
  useEffect(() => {
    if (!ref.current || size.width === 0) return;
    const ink = inks(theme);
    const ago = (value: number): string => (value === 0 ? "now" : `${Math.round(value)} s`.replace("-", "−"));
    const made = new uPlot(
      {
        width: size.width,
        height: size.height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: !stack } },
        scales: {
          x: { time: false, range: [-spanS, 0] },
          y: { range: (_, _low, high) => [0, top ?? (high > 0 ? high * 1.12 : 1)] },
        },
        axes: [axis(theme, ago, 26), axis(theme, (value) => format(value), 58)],
        series: [
          {},
          ...names.map((name, i) => ({
            stroke: name.colour,
            width: stack ? 1 : 2,
            points: { show: false },
            ...(stack && i === 0 ? { fill: faded(name.colour, 0.42) } : {}),
          })),
        ],
        bands: bandsOf(names, stack),
        plugins: [markerPlugin(marks, ink.warn, ink.panel)],
        hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
      },
      latest.current,
      ref.current,
    );
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [identity, theme, stack, spanS, top, size.width > 0]);

  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => {
    if (size.width > 0 && size.height > 0) plot.current?.setSize(size);
  }, [size]);

  const index = at ?? columns.xs.length - 1;
  const entries = names.map((name, i) => ({ ...name, value: format(columns.ys[i]?.[index]) }));
  return (
    <div className="flex h-full min-h-0 flex-col gap-2">
      <Legend entries={entries} />
      <div
        ref={ref}
        role="img"
        aria-label={label}
        data-markers={markers.length}
        className="min-h-0 w-full flex-1 overflow-hidden"
      />
    </div>
  );
}
