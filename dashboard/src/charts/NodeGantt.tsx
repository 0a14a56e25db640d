import { useCallback, useState } from "react";
import type { NodeMotion, StrategyMotion } from "@/client/types";
import { digits, seconds } from "@/lib/format";
import type { Theme } from "@/lib/theme";
import type { Size } from "@/lib/useSize";
import { deviceLabel } from "@/live/devices";
import { Canvas } from "./Canvas";
import { drawNode, motionWords, partUnder } from "./nodeGantt";

export interface NodeGanttProps {
  motion: NodeMotion;
  strategy: StrategyMotion;
  label: string;
  theme: Theme;
  onPick: (taskId: number) => void;
}

/** One strategy's whole node: what its devices ran, run now, and will run. Press a part to look at its task. */
export function NodeGantt({ motion, strategy, label, theme, onPick }: NodeGanttProps) {
  const [near, setNear] = useState<number | null>(null);
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, size: Size) => drawNode(pen, motion, strategy, size, theme),
    [motion, strategy, theme],
  );
  const { device, task_id, begin_s, end_s } = strategy.parts;
  const said =
    near === null || task_id[near] === undefined
      ? motionWords(motion, strategy)
      : `Task ${task_id[near]} on ${deviceLabel(motion.devices[device[near] ?? 0] ?? "")}: ${seconds((end_s[near] ?? 0) - (begin_s[near] ?? 0))} from second ${digits(begin_s[near] ?? 0, 4)}`;
  return (
    <div className="flex h-full min-h-44 flex-col gap-1">
      <div className="min-h-0 flex-1">
        <Canvas
          label={`${label} at second ${digits(motion.now_s, 4)}: ${motionWords(motion, strategy)}`}
          draw={draw}
          onMove={(point, size) => setNear(point ? partUnder(motion, strategy, point, size) : null)}
          onPick={(point, size) => {
            const part = partUnder(motion, strategy, point, size);
            if (part !== null && task_id[part] !== undefined) onPick(task_id[part]);
          }}
        />
      </div>
      <p className="figure line-clamp-2 min-h-8 text-[0.6875rem] text-muted" data-motion={strategy.scheduler}>
        {said}
      </p>
    </div>
  );
}
