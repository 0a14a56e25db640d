import { useMemo } from "react";
import { NodeGantt } from "@/charts/NodeGantt";
import { useNode } from "@/client/queries";
import type { NodeMotion, StrategyMotion } from "@/client/types";
import { Pick } from "@/features/widgets/Choice";
import { Answer, Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count, counted, seconds, spanText } from "@/lib/format";
import { type RunWords, useRunWords } from "@/lib/runWords";
import { useTheme } from "@/lib/theme";
import { useView } from "@/lib/url";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { usePair } from "./pair";

type Side = "left" | "right";

/** What waits; of a real run that is over, that nothing can. */
function queueWords(motion: NodeMotion, strategy: StrategyMotion, words: RunWords): string {
  if (words.isOver)
    return `The run is over: the last part ended ${seconds(motion.now_s)} after the first task came.`;
  if (words.isMeasured) return "What has ended so far; what runs or waits at this moment is not known here.";
  const worst = strategy.free_in_s.indexOf(Math.max(...strategy.free_in_s));
  const waiting = strategy.waiting_now.reduce((sum, n) => sum + n, 0);
  if (waiting === 0) return "Nothing waits now.";
  // Of a queue without end, so many are counted.
  const least = motion.is_complete ? "" : "More than ";
  return `${least}${waiting === 1 ? "1 part waits" : `${count(waiting)} parts wait`} now; ${motion.devices[worst] ?? ""} is promised to others for ${seconds(strategy.free_in_s[worst])}.`;
}

function footOf(motion: NodeMotion, strategy: StrategyMotion, words: RunWords): string {
  const missing =
    strategy.left_out > 0
      ? ` ${counted(strategy.left_out, "more part is", "more parts are")} not drawn.`
      : "";
  return `${queueWords(motion, strategy, words)}${missing}`;
}

/** One strategy's node in motion, beside another's. */
export function MotionWidget({ side }: { side: Side }) {
  const { names, spanS } = usePair();
  const answer = useNode(names, spanS);
  const [, change] = useView();
  const racers = useRacers();
  const face = useFaces();
  const theme = useTheme((s) => s.theme);
  const words = useRunWords();
  const name = names?.[side === "left" ? 0 : 1];
  const motion = useMemo(
    () => answer.data && { ...answer.data, devices: answer.data.devices.map(words.device) },
    [answer.data, words],
  );
  const strategy = motion?.strategies.find((one) => one.scheduler === name);
  const isAlone = side === "right" && names !== null && names[0] === names[1];
  const table = () => ({
    columns: ["scheduler", "task_id", "device", "begin_s", "end_s"],
    rows: (strategy?.parts.task_id ?? []).map((task, i) => [
      name,
      task,
      answer.data?.devices[strategy?.parts.device[i] ?? 0],
      strategy?.parts.begin_s[i],
      strategy?.parts.end_s[i],
    ]),
  });
  return (
    <Widget
      title={name ? `Node of ${face(name).label}` : `Node on the ${side}`}
      meaning={
        words.isMeasured
          ? `Every device of the machine, the last ${spanText(spanS)} until the last part had ended: what really ran, and when. Press a part to look at its task.`
          : `Every device of this strategy's own node, ${spanText(spanS)} of simulated time before and after now. Left of the line: what ran. On the line: what runs. Right of it, pale: what is promised already, which is the queue. A red figure at the edge says how much more is promised beyond it. Press a part to look at its task.`
      }
      table={table}
      controls={
        name && (
          <Pick
            label={`Strategy on the ${side}`}
            value={name}
            options={racers.map((racer) => ({ key: racer, label: face(racer).label }))}
            onChange={(key) => change({ [side]: key })}
          />
        )
      }
      foot={motion && strategy && !isAlone ? footOf(motion, strategy, words) : undefined}
    >
      {isAlone ? (
        <Empty title="One strategy alone">It is on the left; there is nobody to put beside it.</Empty>
      ) : !name ? (
        <Empty title="No race yet">The devices move when it begins.</Empty>
      ) : (
        <Answer data={strategy} error={answer.error} empty="No task yet">
          {(found) => (
            <NodeGantt
              motion={motion as NodeMotion}
              words={words}
              strategy={found}
              label={`Devices of ${face(name).label}`}
              theme={theme}
              onPick={(task) => change({ task }, true)}
            />
          )}
        </Answer>
      )}
    </Widget>
  );
}
