import { useState } from "react";
import { useWhatIf } from "@/client/whatIf";
import { Answer } from "@/features/widgets/States";
import { seconds } from "@/lib/format";
import { change, placeText, regretSentence } from "./effects";

const HEADS = ["Decision", "Latency", "This task", "All others", "Together"];
const tone = (value: number | null): string =>
  value === null || Math.abs(value) < 1e-9 ? "" : value < 0 ? "text-good" : "text-bad";

export interface WhatIfProps {
  run: number | null;
  scheduler: string;
  taskId: number;
}

/** The run simulated again with this one decision changed: opened when a person asks. */
export function WhatIf({ run, scheduler, taskId }: WhatIfProps) {
  const [isAsked, ask] = useState(false);
  const answer = useWhatIf(run, scheduler, taskId, isAsked);
  return (
    <details className="mt-1" onToggle={(event) => event.currentTarget.open && ask(true)}>
      <summary className="text-xs text-ml">What if it had been decided otherwise?</summary>
      {isAsked && (
        <Answer data={answer.data} error={answer.error} empty="">
          {({ task, explanation }) => (
            <div className="mt-2" data-what-if={scheduler}>
              <p className="text-xs">{regretSentence(task.regret_s, task.alternatives[0])}</p>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
              <section aria-label="Other decisions" className="mt-1 max-h-64 overflow-auto" tabIndex={0}>
                <table className="figure w-full text-right text-xs whitespace-nowrap [&_td]:pl-2.5 [&_th]:pl-2.5 [&_th:first-child]:pl-0">
                  <thead className="text-muted">
                    <tr>
                      {HEADS.map((head, i) => (
                        <th
                          key={head}
                          scope="col"
                          className={`py-1 font-medium ${i === 0 ? "text-left" : ""}`}
                        >
                          {head}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    <tr className="border-t border-line text-muted">
                      <th scope="row" className="py-1 text-left font-medium">
                        {placeText(task)}, as it was
                      </th>
                      <td>{seconds(task.latency_s)}</td>
                      <td colSpan={3} />
                    </tr>
                    {task.alternatives.map((one) => (
                      <tr
                        key={`${one.device}${one.gpu_fraction}`}
                        className="border-t border-line"
                        data-other={one.device}
                      >
                        <th scope="row" className="py-1 text-left font-medium">
                          {placeText(one)}
                        </th>
                        <td>{seconds(one.latency_s)}</td>
                        <td className={tone(one.latency_change_s)}>{change(one.latency_change_s)}</td>
                        <td className={tone(one.others_change_s)}>{change(one.others_change_s)}</td>
                        <td className={tone(one.total_change_s)}>{change(one.total_change_s)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </section>
              <p className="mt-1 text-[0.6875rem] text-muted">{explanation}</p>
            </div>
          )}
        </Answer>
      )}
    </details>
  );
}
