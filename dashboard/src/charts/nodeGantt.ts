/** The whole node over time: geometry and drawing of one strategy's devices with what runs and what waits. */
import type { NodeMotion, StrategyMotion } from "@/client/types";
import { faded } from "@/lib/colour";
import { seconds, tidy } from "@/lib/format";
import { deviceColour } from "@/lib/palette";
import { inks, type Theme } from "@/lib/theme";
import type { Size } from "@/lib/useSize";
import { deviceLabel } from "@/live/devices";
import { linearScale } from "./axes";

export const GUTTER = 50;
const FOOT = 18;
const HEAD = 16;

export interface Scene {
  x: (second: number) => number;
  ticks: readonly number[];
  rowHeight: number;
  yOf: (device: number) => number;
}

export function sceneOf(motion: NodeMotion, size: Size): Scene {
  const x = linearScale(
    motion.begin_s,
    motion.end_s,
    GUTTER,
    size.width - 2,
    Math.max(2, Math.floor(size.width / 120)),
  );
  const rowHeight = (size.height - FOOT - HEAD) / Math.max(1, motion.devices.length);
  return { x, ticks: x.ticks, rowHeight, yOf: (device) => HEAD + device * rowHeight };
}

/** The place of the part under a point, if there is one. */
export function partUnder(
  motion: NodeMotion,
  strategy: StrategyMotion,
  point: { x: number; y: number },
  size: Size,
): number | null {
  const scene = sceneOf(motion, size);
  const { device, begin_s, end_s } = strategy.parts;
  const row = Math.floor((point.y - HEAD) / scene.rowHeight);
  const found = device.findIndex(
    (place, i) =>
      place === row &&
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
      const queue = waiting === 0 ? "" : `, ${waiting} waiting`;
      return `${deviceLabel(device)} ${free > 0 ? `busy for ${seconds(free)}${queue}` : "free"}`;
    })
    .join("; ");
}

type Pen = CanvasRenderingContext2D;

function drawParts(pen: Pen, motion: NodeMotion, strategy: StrategyMotion, scene: Scene, theme: Theme): void {
  const { device, task_id, begin_s, end_s } = strategy.parts;
  const height = Math.max(4, scene.rowHeight - 6);
  for (let i = 0; i < device.length; i += 1) {
    const place = device[i] ?? 0;
    const [begin, end] = [begin_s[i] ?? 0, end_s[i] ?? 0];
    const left = Math.max(GUTTER, scene.x(begin));
    const width = Math.max(1, scene.x(end) - left - 0.5);
    const colour = deviceColour(place, theme);
    const top = scene.yOf(place) + 3;
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
  const ahead = motion.end_s - motion.now_s;
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
      `${tidy(tick.toFixed(1))} s`,
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

export function drawNode(
  pen: Pen,
  motion: NodeMotion,
  strategy: StrategyMotion,
  size: Size,
  theme: Theme,
): void {
  const scene = sceneOf(motion, size);
  const ink = inks(theme);
  pen.fillStyle = ink.grid;
  motion.devices.forEach((_, place) => {
    pen.fillRect(GUTTER, scene.yOf(place) + 3, size.width - GUTTER, Math.max(4, scene.rowHeight - 6));
  });
  drawFrame(pen, motion, scene, size, theme);
  drawParts(pen, motion, strategy, scene, theme);
  drawOverflow(pen, motion, strategy, scene, size, theme);
  drawNow(pen, motion, scene, size, theme);
}
