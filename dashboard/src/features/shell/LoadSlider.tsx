import { useState } from "react";
import { change } from "@/client/commands";
import { TERMS } from "@/lib/glossary";
import { useLive } from "@/live/store";
import { useSteerable } from "./useSight";

const LOW = 0.2;
const HIGH = 400;

/** The slider is logarithmic: 0 to 100 over three decades of load. */
export const toSlider = (rate: number): number => (100 * Math.log(rate / LOW)) / Math.log(HIGH / LOW);
export const fromSlider = (at: number): number => Number((LOW * (HIGH / LOW) ** (at / 100)).toPrecision(2));

/** The load: tasks that arrive in a second of simulated time. It is sent when the slider is let go. */
export function LoadSlider() {
  // Before the first race no load is known: it comes with the plan.
  const rate = useLive((s) => s.update?.status.workload.arrival_rate || undefined);
  // The arrivals of a trace are given.
  const isTrace = useLive((s) => s.update?.status.workload.trace != null);
  const steerable = useSteerable();
  const [held, setHeld] = useState<number | null>(null);
  const shown = held ?? rate;
  const send = (): void => {
    if (held !== null) void change({ arrival_rate: held }).then(() => setHeld(null));
  };
  return (
    <label className="col-span-2 block sm:w-40" title={TERMS.load.meaning}>
      <span className="eyebrow flex justify-between">
        Load{" "}
        <span className="figure text-ink normal-case">
          {shown === undefined ? "–" : `${Number(shown.toPrecision(3))} tasks/s`}
        </span>
      </span>
      <input
        type="range"
        className="mt-1 h-8 w-full accent-ml"
        min={0}
        max={100}
        step={1}
        aria-valuetext={
          shown === undefined
            ? "unknown"
            : `${Number(shown.toPrecision(3))} tasks arrive in a simulated second`
        }
        value={shown === undefined ? 0 : Math.min(100, Math.max(0, toSlider(shown)))}
        disabled={rate === undefined || !steerable || isTrace}
        onChange={(event) => setHeld(fromSlider(Number(event.target.value)))}
        onPointerUp={send}
        onKeyUp={send}
        onBlur={send}
      />
    </label>
  );
}
