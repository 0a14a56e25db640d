import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { nearestIndex, pointAt, type Stretch, usePointed, useZoom } from "@/lib/along";
import type { Theme } from "@/lib/theme";
import { useSize } from "@/lib/useSize";
import { Legend } from "./Legend";
import { type Columns, drawnColumns, type Marker } from "./series";
import { type LineName, plotOptions } from "./timePlot";
import { ZoomBar } from "./ZoomBar";

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
  const zoom = useZoom("around");
  const at = usePointed("around");
  const [ref, size] = useSize<HTMLDivElement>();
  const plot = useRef<uPlot | null>(null);
  const marks = useRef(markers);
  const isOver = useRef(false);
  const shown = useRef<Stretch>([-spanS, 0]);
  // A zoom of another chart may reach beyond the newest; here there is nothing to see.
  shown.current =
    zoom.stretch && zoom.stretch[0] < 0 ? [zoom.stretch[0], Math.min(0, zoom.stretch[1])] : [-spanS, 0];
  const data = useMemo(() => drawnColumns(columns, stack, log) as uPlot.AlignedData, [columns, stack, log]);
  const latest = useRef(data);
  latest.current = data;
  marks.current = markers;
  const identity = names.map((name) => `${name.key}${name.colour}${hidden.has(name.key)}`).join();
  const isMeasured = size.width > 0 && size.height > 0;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the identity stands for the names; data and size follow by setData and setSize
  useEffect(() => {
    if (!ref.current || !isMeasured) return;
    const look = { names, theme, stack, log, hidden, axisTitle, top, format, shown: () => shown.current };
    const hands = {
      onPoint: (place: number | null) => {
        if (isOver.current) pointAt("around", place, ref.current);
      },
      onBrush: zoom.show,
    };
    const made = new uPlot(plotOptions(look, size, marks, hands), latest.current, ref.current);
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [identity, theme, stack, log, axisTitle, top, isMeasured, zoom.show]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another stretch is drawn from the same data
  useEffect(() => plot.current?.setData(data), [data, zoom.stretch, spanS]);
  useEffect(() => {
    const made = plot.current;
    if (!made || isOver.current) return;
    const left = at === null ? -10 : made.valToPos(at, "x");
    made.setCursor({ left, top: left < 0 ? -10 : 1 }, false);
  }, [at]);
  useEffect(() => {
    if (isMeasured) plot.current?.setSize(size);
  }, [size, isMeasured]);

  const index = at === null ? columns.xs.length - 1 : nearestIndex(columns.xs, at);
  const entries = names.map((name, i) => ({ ...name, patch: stack, value: format(columns.ys[i]?.[index]) }));
  return (
    <div className="flex h-full min-h-0 flex-col gap-2">
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <Legend entries={entries} hidden={hidden} {...(onPick ? { onPick } : {})} />
        </div>
        <ZoomBar zoom={zoom} whole={[-spanS, 0]} label={label} />
      </div>
      <div
        onMouseEnter={() => {
          isOver.current = true;
        }}
        onMouseLeave={() => {
          isOver.current = false;
          pointAt("around", null);
        }}
        onDoubleClick={() => zoom.show(null)}
        ref={ref}
        role="img"
        aria-label={label}
        data-markers={markers.length}
        className="min-h-48 w-full flex-1 overflow-hidden"
      />
    </div>
  );
}
