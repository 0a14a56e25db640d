/** The whole node over time: geometry and drawing of one strategy's devices with what runs and what waits. */
import type { NodeMotion, StrategyMotion } from "@/client/types";
import type { Stretch } from "@/lib/along";
import { faded } from "@/lib/colour";
import { clock, count, seconds, tidy } from "@/lib/format";
import { deviceColour } from "@/lib/palette";
import { inks, type Theme } from "@/lib/theme";
import type { Size } from "@/lib/useSize";
import { deviceLabel } from "@/live/devices";
import { linearScale } from "./axes";
import { type Gang, gangsOf, runsOf } from "./gangs";

export const GUTTER = 50;
const FOOT = 18;
const HEAD = 16;

export interface Scene {
  x: (second: number) => number;
  /** The second under a place. */
  secondAt: (x: number) => number;
  end_s: number;
  ticks: readonly number[];
  rowHeight: number;
  yOf: (device: number) => number;
}

/** The stretch of simulated time that is seen: all, or the zoom, which is counted from now. */
export function viewOf(motion: NodeMotion, zoom: Stretch | null): Stretch {
  return zoom ? [motion.now_s + zoom[0], motion.now_s + zoom[1]] : [motion.begin_s, motion.end_s];
}

export function sceneOf(view: Stretch, devices: number, size: Size): Scene {
  const x = linearScale(view[0], view[1], GUTTER, size.width - 2, Math.max(2, Math.floor(size.width / 120)));
  const rowHeight = (size.height - FOOT - HEAD) / Math.max(1, devices);
  const secondAt = (at: number): number =>
    view[0] + ((view[1] - view[0]) * (at - GUTTER)) / Math.max(1, size.width - 2 - GUTTER);
  const yOf = (device: number): number => HEAD + device * rowHeight;
  return { x, secondAt, end_s: view[1], ticks: x.ticks, rowHeight, yOf };
}

/** Which lane of its device each part lies in, and how many lanes each device has. */
export interface Lanes {
  lane: readonly number[];
  lanes: readonly number[];
}

/** Two clocks' readings of one moment may differ by this much: parts that touch share a lane. */
const TOUCH_S = 1e-6;
const laid = new WeakMap<StrategyMotion["parts"], Lanes>();

/** Parts that run side by side on one device (a CPU of several workers or slots) lie below each other. */
export function lanesOf(parts: StrategyMotion["parts"]): Lanes {
  const known = laid.get(parts);
  if (known) return known;
  const { device, begin_s, end_s } = parts;
  const order = device.map((_, i) => i).sort((a, b) => (begin_s[a] ?? 0) - (begin_s[b] ?? 0));
  const lane = device.map(() => 0);
  const free: number[][] = [];
  for (const i of order) {
    const place = device[i] ?? 0;
    free[place] ??= [];
    const ends = free[place];
    const found = ends.findIndex((end) => end <= (begin_s[i] ?? 0) + TOUCH_S);
    const at = found === -1 ? ends.length : found;
    ends[at] = end_s[i] ?? 0;
    lane[i] = at;
  }
  const made = { lane, lanes: Array.from(free, (ends) => Math.max(1, ends?.length ?? 0)) };
  laid.set(parts, made);
  return made;
}

/** Where a part lies within the height of its row. */
function bandOf(scene: Scene, lanes: Lanes, place: number, part: number): { top: number; height: number } {
  const height = Math.max(4, scene.rowHeight - 6) / (lanes.lanes[place] ?? 1);
  return { top: scene.yOf(place) + 3 + (lanes.lane[part] ?? 0) * height, height };
}

/** The place of the part under a point, if there is one. */
export function partUnder(
  scene: Scene,
  strategy: StrategyMotion,
  point: { x: number; y: number },
): number | null {
  const { device, begin_s, end_s } = strategy.parts;
  const row = Math.floor((point.y - HEAD) / scene.rowHeight);
  const lanes = lanesOf(strategy.parts);
  const count = lanes.lanes[row] ?? 1;
  const height = Math.max(4, scene.rowHeight - 6) / count;
  const lane = Math.min(count - 1, Math.max(0, Math.floor((point.y - scene.yOf(row) - 3) / height)));
  const found = device.findIndex(
    (place, i) =>
      place === row &&
      lanes.lane[i] === lane &&
      scene.x(begin_s[i] ?? 0) - 1 <= point.x &&
      point.x <= Math.max(scene.x(end_s[i] ?? 0), scene.x(begin_s[i] ?? 0) + 2),
  );
  return found === -1 ? null : found;
}

/** How a device is getting on, in words: for the screen reader what the picture shows. */
export function motionWords(motion: NodeMotion, strategy: StrategyMotion): string {
  return motion.devices
    .map((device, i) => {
      const free = strategy.free_in_s[i] ?? 0;
      const waiting = strategy.waiting_now[i] ?? 0;
      const queue =
        waiting === 0 ? "" : `, ${motion.is_complete ? "" : "more than "}${count(waiting)} waiting`;
      return `${deviceLabel(device)} ${free > 0 ? `busy for ${seconds(free)}${queue}` : "free"}`;
    })
    .join("; ");
}

type Pen = CanvasRenderingContext2D;

function drawParts(
  pen: Pen,
  motion: NodeMotion,
  strategy: StrategyMotion,
  scene: Scene,
  size: Size,
  theme: Theme,
): void {
  const { device, task_id, begin_s, end_s } = strategy.parts;
  const lanes = lanesOf(strategy.parts);
  // All GPUs of a gang have the colour of its first one.
  const leader = new Map(
    gangsOf(strategy.parts).flatMap((gang) => gang.parts.map((part) => [part, gang.devices[0]] as const)),
  );
  for (let i = 0; i < device.length; i += 1) {
    const place = device[i] ?? 0;
    const [begin, end] = [begin_s[i] ?? 0, end_s[i] ?? 0];
    const left = Math.max(GUTTER, scene.x(begin));
    if (scene.x(end) < GUTTER || left > size.width) continue;
    const width = Math.max(1, scene.x(end) - left - 0.5);
    const colour = deviceColour(leader.get(i) ?? place, theme);
    const band = bandOf(scene, lanes, place, i);
    const top = band.top;
    // Neighbouring lanes are kept apart by a line of the ground, where there is room for one.
    const height = band.height > 3 ? band.height - ((lanes.lanes[place] ?? 1) > 1 ? 1 : 0) : band.height;
    const waits = begin > motion.now_s;
    // Neighbours differ a little, so that one long block can be told from many short ones.
    const odd = (task_id[i] ?? 0) % 2 === 1;
    const strength = waits ? (odd ? 0.16 : 0.28) : end > motion.now_s ? 1 : odd ? 0.62 : 0.82;
    pen.fillStyle = faded(colour, strength);
    pen.fillRect(left, top, width, height);
    if (waits && width > 3) {
      pen.strokeStyle = faded(colour, 0.7);
      pen.lineWidth = 0.8;
      pen.strokeRect(left + 0.4, top + 0.4, width - 0.8, height - 0.8);
    }
  }
}

/** A gang narrower than this is a line anyway. */
const LEAST_GANG_PX = 4;

/** A task on several GPUs is one thing: neighbours share a frame, and a line joins what lies apart. */
function drawGang(pen: Pen, strategy: StrategyMotion, gang: Gang, scene: Scene, size: Size): void {
  const first = gang.parts[0] ?? 0;
  const left = Math.max(GUTTER, scene.x(strategy.parts.begin_s[first] ?? 0)) + 0.5;
  const right = Math.min(size.width + 2, scene.x(strategy.parts.end_s[first] ?? 0)) - 1;
  if (right - left < LEAST_GANG_PX) return;
  const inner = Math.max(4, scene.rowHeight - 6);
  const frames = runsOf(gang.devices).map(
    ([low, high]) => [scene.yOf(low) + 3, scene.yOf(high) + 3 + inner] as const,
  );
  frames.forEach(([top, bottom], i) => {
    pen.strokeRect(left, top + 0.5, right - left, bottom - top - 1);
    const below = frames[i + 1]?.[0];
    if (below === undefined) return;
    const middle = (left + right) / 2;
    pen.beginPath();
    pen.moveTo(middle, bottom);
    pen.lineTo(middle, below);
    pen.stroke();
  });
  const text = `${gang.devices.length} GPUs`;
  if (inner < 12 || pen.measureText(text).width + 10 > right - left) return;
  pen.fillText(text, left + 5, (frames[0]?.[0] ?? 0) + inner / 2 + 4);
}

function drawGangs(pen: Pen, strategy: StrategyMotion, scene: Scene, size: Size, theme: Theme): void {
  const ink = inks(theme);
  pen.strokeStyle = faded(ink.ink, 0.65);
  pen.lineWidth = 1;
  pen.font = "600 11px 'Inter Variable', sans-serif";
  pen.textAlign = "left";
  pen.fillStyle = ink.ink;
  for (const gang of gangsOf(strategy.parts)) drawGang(pen, strategy, gang, scene, size);
}

/** A queue that goes on beyond the right edge says by how much: nobody should think that it ends there. */
function drawOverflow(
  pen: Pen,
  motion: NodeMotion,
  strategy: StrategyMotion,
  scene: Scene,
  size: Size,
  theme: Theme,
): void {
  const ink = inks(theme);
  const ahead = scene.end_s - motion.now_s;
  pen.font = "600 11px 'Inter Variable', sans-serif";
  pen.textAlign = "right";
  motion.devices.forEach((_, place) => {
    const more = (strategy.free_in_s[place] ?? 0) - ahead;
    if (more <= 0) return;
    const text = `${tidy(seconds(more))} more ▸`;
    const width = pen.measureText(text).width + 10;
    const middle = scene.yOf(place) + scene.rowHeight / 2;
    pen.fillStyle = ink.panel;
    pen.fillRect(size.width - width - 2, middle - 8.5, width, 17);
    pen.fillStyle = ink.bad;
    pen.fillText(text, size.width - 6, middle + 4);
  });
}

function drawFrame(pen: Pen, motion: NodeMotion, scene: Scene, size: Size, theme: Theme): void {
  const ink = inks(theme);
  pen.font = "11px 'Inter Variable', sans-serif";
  pen.strokeStyle = ink.grid;
  pen.lineWidth = 1;
  pen.fillStyle = ink.muted;
  pen.textAlign = "center";
  for (const tick of scene.ticks) {
    const x = scene.x(tick);
    pen.beginPath();
    pen.moveTo(x, HEAD);
    pen.lineTo(x, size.height - FOOT);
    pen.stroke();
    pen.fillText(
      tick < 86_400 ? `${tidy(tick.toFixed(1))} s` : clock(tick),
      Math.min(Math.max(x, GUTTER + 14), size.width - 22),
      size.height - 4,
    );
  }
  pen.textAlign = "left";
  motion.devices.forEach((device, place) => {
    pen.fillText(deviceLabel(device), 0, scene.yOf(place) + scene.rowHeight / 2 + 4);
  });
}

function drawNow(pen: Pen, motion: NodeMotion, scene: Scene, size: Size, theme: Theme): void {
  const ink = inks(theme);
  const x = scene.x(motion.now_s);
  if (x < GUTTER || x > size.width) return;
  pen.strokeStyle = ink.ink;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x, HEAD - 2);
  pen.lineTo(x, size.height - FOOT);
  pen.stroke();
  pen.font = "11px 'Inter Variable', sans-serif";
  pen.fillStyle = ink.ink;
  pen.textAlign = "center";
  pen.fillText("now", x, 10);
  pen.fillStyle = ink.muted;
  pen.textAlign = "right";
  pen.fillText("ran", x - 18, 10);
  pen.textAlign = "left";
  pen.fillText("will run: the queue", x + 18, 10);
}

/** The crosshair that all charts of the view share. */
function drawPointer(pen: Pen, x: number, size: Size, theme: Theme): void {
  if (x < GUTTER || x > size.width) return;
  pen.strokeStyle = inks(theme).muted;
  pen.lineWidth = 1;
  pen.setLineDash([4, 3]);
  pen.beginPath();
  pen.moveTo(x, HEAD);
  pen.lineTo(x, size.height - FOOT);
  pen.stroke();
  pen.setLineDash([]);
}

export interface NodeDrawing {
  motion: NodeMotion;
  strategy: StrategyMotion;
  scene: Scene;
  /** Where the pointer is, on whichever chart, in seconds from now. */
  at: number | null;
  /** The stretch that is being drawn by hand, in pixels. */
  brush: Stretch | null;
  /** Whether all that is drawn lies in the past: then there is no line between what ran and what will. */
  hasEnded?: boolean;
}

export function drawNode(pen: Pen, drawing: NodeDrawing, size: Size, theme: Theme): void {
  const { motion, strategy, scene, at, brush, hasEnded = false } = drawing;
  const ink = inks(theme);
  pen.fillStyle = ink.grid;
  motion.devices.forEach((_, place) => {
    pen.fillRect(GUTTER, scene.yOf(place) + 3, size.width - GUTTER, Math.max(4, scene.rowHeight - 6));
  });
  drawFrame(pen, motion, scene, size, theme);
  drawParts(pen, motion, strategy, scene, size, theme);
  drawGangs(pen, strategy, scene, size, theme);
  if (!hasEnded) {
    drawOverflow(pen, motion, strategy, scene, size, theme);
    drawNow(pen, motion, scene, size, theme);
  }
  if (at !== null) drawPointer(pen, scene.x(motion.now_s + at), size, theme);
  if (brush) {
    pen.fillStyle = faded(ink.ml, 0.18);
    pen.fillRect(Math.min(...brush), HEAD, Math.abs(brush[1] - brush[0]), size.height - FOOT - HEAD);
  }
}
