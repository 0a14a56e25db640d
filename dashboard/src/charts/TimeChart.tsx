import { useEffect, useMemo, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Theme } from "@/lib/theme";
import { useSize } from "@/lib/useSize";
import { Legend } from "./Legend";
import { type Columns, drawnColumns, type Marker } from "./series";
import { type LineName, plotOptions } from "./timePlot";

export interface TimeChartProps {
  label: string;
  names: readonly LineName[];
  columns: Columns;
  markers: readonly Marker[];
  theme: Theme;
  stack?: boolean;
  log?: boolean;
  /** What the value axis measures. */
  axisTitle: string;
  /** Lines that are not drawn, and how a person chooses them. */
  hidden?: ReadonlySet<string>;
  onPick?: (key: string, one: boolean) => void;
  /** The whole width of the axis in seconds; a young race leaves the left part empty. */
  spanS: number;
  top?: number;
  format: (value: number | null | undefined) => string;
}

const NONE: ReadonlySet<string> = new Set();

/** A dense live chart over the last seconds, drawn by uPlot in about two milliseconds. */
export function TimeChart(props: TimeChartProps) {
  const { names, columns, markers, theme, stack = false, log = false, spanS, top, format, label } = props;
  const { axisTitle, hidden = NONE, onPick } = props;
  const [ref, size] = useSize<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const marks = useRef(markers);
  const [at, setAt] = useState<number | null>(null);
  const data = useMemo(() => drawnColumns(columns, stack, log) as uPlot.AlignedData, [columns, stack, log]);
  const latest = useRef(data);
  latest.current = data;
  marks.current = markers;
  const identity = names.map((name) => `${name.key}${name.colour}${hidden.has(name.key)}`).join();
  const isMeasured = size.width > 0 && size.height > 0;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the identity stands for the names; data and size follow by setData and setSize
  useEffect(() => {
    if (!ref.current || !isMeasured) return;
    const look = { names, theme, stack, log, hidden, axisTitle, spanS, top, format };
    const made = new uPlot(plotOptions(look, size, marks, setAt), latest.current, ref.current);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [identity, theme, stack, log, axisTitle, spanS, top, isMeasured]);

  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => {
    if (isMeasured) plot.current?.setSize(size);
  }, [size, isMeasured]);

  const index = at ?? columns.xs.length - 1;
  const entries = names.map((name, i) => ({ ...name, patch: stack, value: format(columns.ys[i]?.[index]) }));
  return (
    <div className="flex h-full min-h-0 flex-col gap-2">
      <Legend entries={entries} hidden={hidden} {...(onPick ? { onPick } : {})} />
      <div
        ref={ref}
        role="img"
        aria-label={label}
        data-markers={markers.length}
        className="min-h-48 w-full flex-1 overflow-hidden"
      />
    </div>
  );
}
