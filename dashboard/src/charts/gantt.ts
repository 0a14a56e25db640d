/** Geometry of the Gantt strip: what lies where, and which part was pointed at. */
import type { Gantt } from "@/client/types";
import { linearScale } from "./axes";

export type Interval = Gantt["intervals"][number];

export interface Strip {
  x: (seconds: number) => number;
  ticks: number[];
  yOf: (device: string) => number;
  rowHeight: number;
}

export const GUTTER = 52;
export const FOOT = 18;

/** Zoom on the time axis only: `zoom` 1 shows the whole strip, 4 the quarter around the centre. */
export function windowOf(gantt: Gantt, centre: number, zoom: number): [number, number] {
  const span = (gantt.end - gantt.begin) / zoom;
  const begin = Math.min(Math.max(centre - span / 2, gantt.begin), gantt.end - span);
  return [begin, begin + span];
}

export function stripOf(gantt: Gantt, view: [number, number], width: number, height: number): Strip {
  const x = linearScale(view[0], view[1], GUTTER, width - 4, Math.max(3, Math.floor(width / 110)));
  const rowHeight = (height - FOOT) / Math.max(1, gantt.devices.length);
  return { x, ticks: x.ticks, rowHeight, yOf: (device) => gantt.devices.indexOf(device) * rowHeight };
}

/** The part under a point, if any. */
export function partAt(gantt: Gantt, strip: Strip, point: { x: number; y: number }): Interval | null {
  const device = gantt.devices[Math.floor(point.y / strip.rowHeight)];
  const hit = gantt.intervals.find(
    (part) =>
      part.device === device && strip.x(part.begin) - 1 <= point.x && point.x <= strip.x(part.end) + 1,
  );
  return hit ?? null;
}
