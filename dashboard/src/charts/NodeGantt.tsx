import { useCallback, useState } from "react";
import type { NodeMotion, StrategyMotion } from "@/client/types";
import { pointAt, type Stretch, usePointed, useZoom } from "@/lib/along";
import { digits, seconds } from "@/lib/format";
import { PLAIN, type RunWords } from "@/lib/runWords";
import type { Theme } from "@/lib/theme";
import type { Size } from "@/lib/useSize";
import { deviceLabel } from "@/live/devices";
import { Canvas, type Point } from "./Canvas";
import { gangsOf, gangWords } from "./gangs";
import { drawNode, motionWords, partUnder, sceneOf, viewOf } from "./nodeGantt";
import { ZoomBar } from "./ZoomBar";

export interface NodeGanttProps {
  motion: NodeMotion;
  strategy: StrategyMotion;
  label: string;
  theme: Theme;
  /** How the run speaks of its tasks, and whether it is over. */
  words?: RunWords;
  onPick: (taskId: number) => void;
}

/** A drag shorter than this is a click that shook. */
const LEAST_BRUSH_PX = 6;

/** The part under the pointer in words, or else how every device is getting on. */
function wordsOf(motion: NodeMotion, strategy: StrategyMotion, near: number | null, words: RunWords): string {
  const { device, task_id, begin_s, end_s } = strategy.parts;
  if (near === null || task_id[near] === undefined)
    return words.isMeasured ? "" : motionWords(motion, strategy);
  const [begin, end] = [begin_s[near] ?? 0, end_s[near] ?? 0];
  const gang = gangsOf(strategy.parts).find((one) => one.parts.includes(near));
  const where = gang ? gangWords(gang.devices) : deviceLabel(motion.devices[device[near] ?? 0] ?? "");
  return `Task ${words.task(task_id[near])} on ${where}: ${seconds(end - begin)} from second ${digits(begin, 4)}`;
}

/** One strategy's whole node: what its devices ran, run now, and will run. Press a part for its task, drag to zoom. */
export function NodeGantt({ motion, strategy, label, theme, words = PLAIN, onPick }: NodeGanttProps) {
  const zoom = useZoom("around");
  const at = usePointed("around");
  const [near, setNear] = useState<number | null>(null);
  const [brush, setBrush] = useState<Stretch | null>(null);
  const sceneIn = useCallback(
    (size: Size) => sceneOf(viewOf(motion, zoom.stretch), motion.devices.length, size),
    [motion, zoom.stretch],
  );
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, size: Size) =>
      drawNode(
        pen,
        { motion, strategy, scene: sceneIn(size), at, brush, hasEnded: words.isMeasured },
        size,
        theme,
      ),
    [motion, strategy, sceneIn, at, brush, words, theme],
  );
  const move = (point: Point | null, size: Size, on: Element): void => {
    const scene = sceneIn(size);
    setNear(point ? partUnder(scene, strategy, point) : null);
    pointAt("around", point ? scene.secondAt(point.x) - motion.now_s : null, on);
    setBrush(point && brush ? [brush[0], point.x] : null);
  };
  const release = (point: Point, size: Size): void => {
    const scene = sceneIn(size);
    const from = brush?.[0] ?? point.x;
    setBrush(null);
    if (Math.abs(point.x - from) >= LEAST_BRUSH_PX) {
      const [low, high] = [Math.min(from, point.x), Math.max(from, point.x)];
      zoom.show([scene.secondAt(low) - motion.now_s, scene.secondAt(high) - motion.now_s]);
      return;
    }
    const task = strategy.parts.task_id[partUnder(scene, strategy, point) ?? -1];
    if (task !== undefined) onPick(task);
  };
  const whole: Stretch = [motion.begin_s - motion.now_s, motion.end_s - motion.now_s];
  return (
    <div className="flex h-full min-h-44 flex-col gap-1">
      <div className="min-h-0 flex-1">
        <Canvas
          label={`${label} ${words.isMeasured ? "until" : "at"} second ${digits(motion.now_s, 4)}${words.isMeasured ? `: ${strategy.parts.task_id.length} parts` : `: ${motionWords(motion, strategy)}`}`}
          draw={draw}
          onMove={move}
          onPress={(point) => setBrush([point.x, point.x])}
          onPick={release}
          onDouble={() => zoom.show(null)}
        />
      </div>
      <div className="flex items-start gap-2">
        <p
          className="figure line-clamp-2 min-h-8 text-[0.6875rem] text-muted"
          data-motion={strategy.scheduler}
        >
          {wordsOf(motion, strategy, near, words)}
        </p>
        <ZoomBar zoom={zoom} whole={whole} label={label} />
      </div>
    </div>
  );
}
