import { useMemo } from "react";
import { Legend } from "@/charts/Legend";
import { shiftLabel } from "@/charts/series";
import { TrendLines } from "@/charts/TrendLines";
import { useStoredRun } from "@/client/queries";
import { Choice, Pick } from "@/features/widgets/Choice";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { clock, seconds, tasksText } from "@/lib/format";
import { useView } from "@/lib/url";
import { useHidden } from "@/lib/useHidden";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { leadSentence, regretRows, SINCE_AXIS } from "./adapted";
import { useChange } from "./useChange";

const SCALES = [
  { key: "linear", label: "Linear" },
  { key: "log", label: "Log" },
] as const;

/** Who adapted: each strategy's loss around a change of the workload or of the durations. */
export function AdaptWidget() {
  const { answer, wanted, choose } = useChange();
  const isPast = useStoredRun() !== null;
  const [params, change] = useView();
  const face = useFaces();
  const racers = useRacers();
  const scale = params.get("ascale") === "linear" ? "linear" : "log";
  const found = answer.data;
  const names = useMemo(() => {
    const known = Object.keys(found?.regret ?? {});
    const ordered = [...racers.filter((n) => known.includes(n)), ...known.filter((n) => !racers.includes(n))];
    return ordered.map((key) => ({
      key,
      label: face(key).label,
      colour: face(key).colour,
      dash: face(key).dash,
    }));
  }, [found, racers, face]);
  const keys = useMemo(() => names.map((name) => name.key), [names]);
  const [hidden, pick] = useHidden(keys);
  const points = useMemo(() => (found ? regretRows(found, scale === "log") : []), [found, scale]);
  const shift = found?.shift ?? null;
  const changes = [...(found?.shifts ?? [])].reverse().map((one) => ({
    key: String(one.task_id),
    label: `${clock(one.simulated_time_s)} ${shiftLabel(one)}`,
  }));
  const table = () => ({
    columns: ["tasks_since_change", "simulated_seconds_since_change", ...keys],
    rows: (found?.since_tasks ?? []).map((x, i) => [
      x,
      found?.since_s[i],
      ...keys.map((key) => found?.regret[key]?.[i]),
    ]),
  });
  return (
    <Widget
      title="Who adapted"
      meaning="The tasks around one change: a shift of the workload, or a drift of what kinds of work really take. For each strategy: how much longer a task took, from its arrival to its finish, than its fastest execution on free devices, which nobody can beat. Each point is the mean of equally many tasks; the chart ends with the next change, or 2,000 tasks on. A strategy that lets more than a tenth of the tasks wait has no line."
      table={table}
      controls={
        <>
          {changes.length > 1 && (
            <Pick
              label="Which change"
              value={String(shift?.task_id ?? "")}
              options={changes}
              onChange={(key) => choose(key === changes[0]?.key && wanted === null ? null : Number(key))}
            />
          )}
          <Choice
            label="Scale of the loss"
            value={scale}
            options={SCALES}
            onChange={(key) => change({ ascale: key })}
          />
        </>
      }
      foot={
        found && shift
          ? `${leadSentence(found, (name) => face(name).label) ?? ""} Each point: the mean of ${tasksText(found.tasks_per_point)}. The amber line is the change.`
          : undefined
      }
    >
      <Answer
        data={found}
        error={answer.error}
        isEmpty={(one) => one.shift === null || one.since_tasks.filter((x) => x >= 0).length < 2}
        empty={isPast ? "This run met no change" : "No change yet: shift the workload and see who adapts"}
      >
        {() => (
          <div className="flex h-full flex-col gap-2">
            <Legend entries={names} hidden={hidden} onPick={pick} />
            <div className="min-h-0 flex-1">
              <TrendLines
                label="Loss of every strategy around the change"
                names={names.filter((name) => !hidden.has(name.key))}
                points={points}
                shifts={shift ? [{ x: 0, text: shiftLabel(shift) }] : []}
                trainings={[]}
                log={scale === "log"}
                axis={SINCE_AXIS}
                axisTitle={`above the fastest execution${scale === "log" ? ", log" : ""}`}
                format={seconds}
              />
            </div>
          </div>
        )}
      </Answer>
    </Widget>
  );
}
