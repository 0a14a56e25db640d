import { useCallback, useMemo, useState } from "react";
import type { LatestTask } from "@/client/types";
import { faded } from "@/lib/colour";
import { count, digits, tasksText } from "@/lib/format";
import { inks, type Theme } from "@/lib/theme";
import type { Size } from "@/lib/useSize";
import { type AxisScale, linearScale, logScale, spaced } from "./axes";
import { Canvas, type Point } from "./Canvas";

export interface WorkloadScatterProps {
  tasks: readonly LatestTask[];
  theme: Theme;
  onPick: (taskId: number) => void;
}

const EDGE = { left: 44, right: 12, top: 10, bottom: 34 };

function scales(tasks: readonly LatestTask[], size: Size): { x: AxisScale; y: AxisScale } {
  const sizes = tasks.map((task) => task.size);
  const low = Math.max(1, Math.min(...sizes, 100) * 0.9);
  const high = Math.max(...sizes, low * 10) * 1.1;
  return {
    x: logScale(low, high, EDGE.left, size.width - EDGE.right),
    y: linearScale(0, 1, size.height - EDGE.bottom, EDGE.top, 4),
  };
}

function frame(pen: CanvasRenderingContext2D, size: Size, x: AxisScale, y: AxisScale, theme: Theme): void {
  const ink = inks(theme);
  pen.strokeStyle = ink.grid;
  pen.fillStyle = ink.muted;
  pen.font = "11px 'Inter Variable', sans-serif";
  pen.lineWidth = 1;
  pen.beginPath();
  for (const tick of x.ticks) {
    pen.moveTo(x(tick), EDGE.top);
    pen.lineTo(x(tick), size.height - EDGE.bottom);
  }
  for (const tick of y.ticks) {
    pen.moveTo(EDGE.left, y(tick));
    pen.lineTo(size.width - EDGE.right, y(tick));
  }
  pen.stroke();
  pen.textAlign = "center";
  for (const tick of spaced(x, 44)) pen.fillText(count(tick), x(tick), size.height - EDGE.bottom + 14);
  pen.fillText("task size (log)", (EDGE.left + size.width) / 2, size.height - 5);
  pen.textAlign = "right";
  for (const tick of y.ticks) pen.fillText(digits(tick, 2), EDGE.left - 6, y(tick) + 4);
  pen.save();
  pen.translate(9, (size.height - EDGE.bottom + EDGE.top) / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillText("intensity", 0, 0);
  pen.restore();
}

/** Radius for an area in proportion to the memory; the largest of those shown has the largest dot. */
export function dotRadius(memoryMb: number, largestMb: number): number {
  return 1.4 + 4.6 * Math.sqrt(Math.max(0, memoryMb) / Math.max(1, largestMb));
}

/** The latest tasks by size and intensity; the newest glow, the dot's area is the memory that must cross the bus. */
export function WorkloadScatter({ tasks, theme, onPick }: WorkloadScatterProps) {
  const [near, setNear] = useState<LatestTask | null>(null);
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, size: Size) => {
      const { x, y } = scales(tasks, size);
      frame(pen, size, x, y, theme);
      const ink = inks(theme);
      const largest = Math.max(...tasks.map((task) => task.memory));
      tasks.forEach((task, index) => {
        const freshness = (index + 1) / tasks.length;
        pen.fillStyle = faded(freshness > 0.94 ? ink.rl : ink.ml, 0.12 + 0.6 * freshness ** 2);
        pen.beginPath();
        pen.arc(x(task.size), y(task.intensity), dotRadius(task.memory, largest), 0, 2 * Math.PI);
        pen.fill();
      });
    },
    [tasks, theme],
  );
  const nearest = useCallback(
    (point: Point, size: Size): LatestTask | null => {
      const { x, y } = scales(tasks, size);
      let best: LatestTask | null = null;
      let least = 14 ** 2;
      for (const task of tasks) {
        const away = (x(task.size) - point.x) ** 2 + (y(task.intensity) - point.y) ** 2;
        if (away < least) [best, least] = [task, away];
      }
      return best;
    },
    [tasks],
  );
  const label = useMemo(
    () => `Scatter of the latest ${tasksText(tasks.length)} by size and compute intensity`,
    [tasks.length],
  );
  return (
    <div className="flex h-full flex-col">
      <Canvas
        label={label}
        draw={draw}
        onMove={(point, size) => setNear(point ? nearest(point, size) : null)}
        onPick={(point, size) => {
          const task = nearest(point, size);
          if (task) onPick(task.id);
        }}
      />
      <p className="figure mt-1 min-h-8 shrink-0 text-xs leading-4 text-muted">
        {near
          ? `Task ${near.id}: size ${count(near.size)}, intensity ${digits(near.intensity, 2)}, ${count(near.memory)} MB. Click for its decisions.`
          : `Latest ${tasksText(tasks.length)}; purple: the newest. Area of a dot: memory to move.`}
      </p>
    </div>
  );
}
