import { useCallback, useState } from "react";
import type { Gantt } from "@/client/types";
import { faded } from "@/lib/colour";
import { digits, seconds } from "@/lib/format";
import { deviceColour } from "@/lib/palette";
import { inks, type Theme } from "@/lib/theme";
import type { Size } from "@/lib/useSize";
import { deviceLabel } from "@/live/devices";
import { Canvas } from "./Canvas";
import { FOOT, GUTTER, type Interval, partAt, type Strip, stripOf, windowOf } from "./gantt";
import type { Marker } from "./series";

export interface GanttStripProps {
  gantt: Gantt;
  taskId: number;
  /** The moment to zoom around. */
  centre: number;
  zoom: number;
  markers: readonly Marker[];
  theme: Theme;
  /** A task as a person is told it. */
  nameOf?: (taskId: number) => string;
  onPick: (taskId: number) => void;
}

function drawParts(
  pen: CanvasRenderingContext2D,
  gantt: Gantt,
  strip: Strip,
  taskId: number,
  theme: Theme,
  width: number,
): void {
  const ink = inks(theme);
  const height = Math.max(3, strip.rowHeight - 5);
  pen.fillStyle = ink.grid;
  for (const device of gantt.devices) pen.fillRect(GUTTER, strip.yOf(device) + 2.5, width, height);
  for (const part of gantt.intervals) {
    const left = strip.x(part.begin);
    const long = Math.max(1.5, strip.x(part.end) - left - 0.5);
    const mine = part.task_id === taskId;
    const colour = deviceColour(gantt.devices.indexOf(part.device), theme);
    pen.fillStyle = mine ? colour : faded(colour, 0.45);
    pen.fillRect(left, strip.yOf(part.device) + 2.5, long, height);
    if (mine) {
      pen.strokeStyle = ink.ink;
      pen.lineWidth = 1.5;
      pen.strokeRect(left, strip.yOf(part.device) + 2.5, long, height);
    }
  }
}

function drawFrame(
  pen: CanvasRenderingContext2D,
  gantt: Gantt,
  strip: Strip,
  size: Size,
  theme: Theme,
): void {
  const ink = inks(theme);
  pen.clearRect(0, 0, GUTTER, size.height);
  pen.font = "11px 'Inter Variable', sans-serif";
  pen.fillStyle = ink.muted;
  pen.textAlign = "left";
  for (const device of gantt.devices)
    pen.fillText(deviceLabel(device), 0, strip.yOf(device) + strip.rowHeight / 2 + 4);
  pen.strokeStyle = ink.grid;
  pen.lineWidth = 1;
  pen.textAlign = "center";
  const step = (strip.ticks[1] ?? 1) - (strip.ticks[0] ?? 0);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  for (const tick of strip.ticks) {
    pen.beginPath();
    pen.moveTo(strip.x(tick), 0);
    pen.lineTo(strip.x(tick), size.height - FOOT);
    pen.stroke();
    pen.fillText(`${tick.toFixed(decimals)} s`, Math.min(strip.x(tick), size.width - 22), size.height - 4);
  }
}

function drawMarkers(
  pen: CanvasRenderingContext2D,
  strip: Strip,
  markers: readonly Marker[],
  size: Size,
  theme: Theme,
): void {
  pen.strokeStyle = inks(theme).warn;
  pen.setLineDash([5, 4]);
  for (const marker of markers) {
    const x = strip.x(marker.x);
    if (x < GUTTER || x > size.width) continue;
    pen.beginPath();
    pen.moveTo(x, 0);
    pen.lineTo(x, size.height - FOOT);
    pen.stroke();
  }
  pen.setLineDash([]);
}

/** What the devices did around a task; the task itself is outlined. Click a part to look at that task. */
export function GanttStrip(props: GanttStripProps) {
  const { gantt, taskId, centre, zoom, markers, theme, nameOf = String, onPick } = props;
  const [near, setNear] = useState<Interval | null>(null);
  const view = windowOf(gantt, centre, zoom);
  const [begin, end] = view;
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, size: Size) => {
      const strip = stripOf(gantt, [begin, end], size.width, size.height);
      drawParts(pen, gantt, strip, taskId, theme, size.width - GUTTER);
      drawFrame(pen, gantt, strip, size, theme);
      drawMarkers(pen, strip, markers, size, theme);
    },
    [gantt, begin, end, taskId, markers, theme],
  );
  const hit = (point: { x: number; y: number }, size: Size): Interval | null =>
    partAt(gantt, stripOf(gantt, view, size.width, size.height), point);
  const label = `Gantt strip of ${gantt.devices.length} devices with ${gantt.intervals.length} parts from second ${digits(begin)} to ${digits(end)}`;
  return (
    <div>
      <div style={{ height: gantt.devices.length * 20 + FOOT }}>
        <Canvas
          label={label}
          draw={draw}
          onMove={(point, size) => setNear(point ? hit(point, size) : null)}
          onPick={(point, size) => {
            const part = hit(point, size);
            if (part) onPick(part.task_id);
          }}
        />
      </div>
      <p className="figure min-h-8 text-[0.6875rem] text-muted sm:min-h-4">
        {near
          ? `Task ${nameOf(near.task_id)} on ${deviceLabel(near.device)}: ${seconds(near.end - near.begin)} from second ${digits(near.begin, 4)}`
          : gantt.is_complete
            ? "Outlined: this task. Press a part to look at that task."
            : "Outlined: this task. Parts of tasks long before or after are not shown."}
      </p>
    </div>
  );
}
