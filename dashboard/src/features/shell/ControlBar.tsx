import { Eye, Pause, Play, RotateCw, SlidersHorizontal, Square } from "lucide-react";
import { useState } from "react";
import { change, start, steer, useCommands } from "@/client/commands";
import { useFollows, usePresets } from "@/client/queries";
import { clock, count, digits } from "@/lib/format";
import { TERMS } from "@/lib/glossary";
import { presetLabel } from "@/lib/presets";
import { useLive } from "@/live/store";
import { LoadSlider } from "./LoadSlider";
import { askForNewRun } from "./newRun";
import { useOutOfSight, useReached, useSteerable } from "./useSight";

const SPEEDS: readonly { value: number; label: string }[] = [
  { value: 1, label: "1 task/s" },
  { value: 5, label: "5 tasks/s" },
  { value: 10, label: "10 tasks/s" },
  { value: 50, label: "50 tasks/s" },
  { value: 200, label: "200 tasks/s" },
  { value: 1000, label: "1,000 tasks/s" },
  { value: 0, label: "Full speed" },
];

function MainButton() {
  const steerable = useSteerable();
  const state = useLive((s) => s.update?.status.state);
  const busy = useCommands((s) => s.busy);
  const [icon, text, run] =
    state === "running"
      ? [<Pause key="i" size={16} aria-hidden="true" />, "Pause", () => steer("pause")]
      : state === "paused"
        ? [<Play key="i" size={16} aria-hidden="true" />, "Resume", () => steer("resume")]
        : state === "complete"
          ? [<RotateCw key="i" size={16} aria-hidden="true" />, "New run", async () => askForNewRun()]
          : [
              <Play key="i" size={16} aria-hidden="true" />,
              state === "stopped" ? "Continue" : "Start",
              () => start(),
            ];
  return (
    <button
      type="button"
      className="press min-w-24 font-semibold"
      data-on={state !== "running"}
      disabled={busy || state === undefined || !steerable}
      onClick={() => void run()}
    >
      {icon} {text}
    </button>
  );
}

function Figures() {
  const tasks = useLive((s) => s.update?.tasks_processed);
  const simulated = useLive((s) => s.update?.simulated_time_s);
  const pace = useLive((s) => s.update?.status.achieved_speed);
  const figures = [
    [TERMS.tasks, count(tasks), "tasks-processed"],
    [TERMS.simulated, clock(simulated), "simulated-clock"],
    [TERMS.pace, pace === undefined ? "–" : `${digits(pace, 2)}/s`, "achieved-speed"],
  ] as const;
  return (
    <dl className="col-span-2 row-start-1 flex justify-between gap-5 sm:justify-start">
      {figures.map(([term, value, id]) => (
        <div key={id} title={term.meaning}>
          <dt className="eyebrow">{term.term}</dt>
          <dd className="figure mt-1 flex h-8 items-center text-lg font-semibold" data-figure={id}>
            {value}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function SpeedPick() {
  // Before the first race there is no speed yet: it comes with the plan.
  const speed = useLive((s) => (s.update?.status.state === "idle" ? undefined : s.update?.status.speed));
  const steerable = useSteerable();
  const known = SPEEDS.some((entry) => entry.value === speed);
  return (
    <label className="block" title={TERMS.speed.meaning}>
      <span className="eyebrow block">Speed</span>
      <select
        className="field mt-1 h-8 w-full"
        value={speed ?? ""}
        disabled={speed === undefined || !steerable}
        onChange={(event) => void change({ speed: Number(event.target.value) })}
      >
        {speed === undefined && <option value="">–</option>}
        {!known && speed !== undefined && (
          <option value={speed}>{`${Number(speed.toPrecision(3))} tasks/s`}</option>
        )}
        {SPEEDS.map((entry) => (
          <option key={entry.value} value={entry.value}>
            {entry.label}
          </option>
        ))}
      </select>
    </label>
  );
}

function ShiftButtons() {
  const presets = usePresets();
  const now = useLive((s) => s.update?.status.workload.preset);
  const racing = useLive((s) => s.update !== null && !["idle", "complete"].includes(s.update.status.state));
  const isTrace = useLive((s) => s.update?.status.workload.trace != null);
  const steerable = useSteerable();
  return (
    <fieldset className="col-span-2 min-w-0 2xl:ml-auto">
      <legend className="eyebrow">Shift the workload to</legend>
      <div className="mt-1 flex flex-wrap gap-1">
        {presets.map((preset) => (
          <button
            key={preset.name}
            type="button"
            className="press shrink-0 px-2"
            title={preset.description}
            aria-pressed={preset.name === now}
            disabled={now === undefined || !racing || !steerable || isTrace}
            onClick={() => void change({ workload: preset.name })}
          >
            {presetLabel(preset.name)}
          </button>
        ))}
        <button
          type="button"
          className="press shrink-0 px-2"
          title="Half of the kinds of work take twice as long on the GPUs from now on, or half as long. Nobody is told."
          disabled={now === undefined || !racing || !steerable}
          onClick={() => void change({ drift: { share: 0.5, factor: 2, device: "gpu" } })}
        >
          Drift
        </button>
      </div>
    </fieldset>
  );
}

const STATES: Record<string, string> = {
  running: "Running",
  paused: "Paused",
  stopped: "Stopped",
  complete: "Complete",
  idle: "Ready",
};

/** Start or pause, stop, begin anew. */
function Steering() {
  const state = useLive((s) => s.update?.status.state);
  const reached = useReached();
  const active = state === "running" || state === "paused";
  return (
    <div className="mt-1 flex items-center gap-1.5">
      <MainButton />
      <button
        type="button"
        className="icon-press border border-line"
        aria-label="Stop the race"
        title="Stop"
        disabled={!active || !reached}
        onClick={() => void steer("stop")}
      >
        <Square size={14} aria-hidden="true" />
      </button>
      <button
        type="button"
        className="icon-press border border-line"
        aria-label="Begin a new run"
        title="Begin a new run"
        aria-haspopup="dialog"
        disabled={!reached}
        onClick={askForNewRun}
      >
        <RotateCw size={14} aria-hidden="true" />
      </button>
    </div>
  );
}

/** Speed, load and shift; on a phone they are folded away, so that the race itself is on the first screen. */
function More() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="press self-end justify-self-end sm:hidden"
        aria-expanded={open}
        aria-controls="more-controls"
        onClick={() => setOpen(!open)}
      >
        <SlidersHorizontal size={15} aria-hidden="true" /> Steer
      </button>
      <Figures />
      <div id="more-controls" className={`${open ? "contents" : "hidden"} sm:contents`}>
        <div className="col-span-2 sm:w-[7.75rem]">
          <SpeedPick />
        </div>
        <LoadSlider />
        <ShiftButtons />
      </div>
    </>
  );
}

/** Start, pause, pace, load and shift: everything a person can do to the race while it runs. */
export function ControlBar() {
  const state = useLive((s) => s.update?.status.state);
  const run = useLive((s) => s.update?.status.run_id);
  const reached = useReached();
  const follows = useFollows();
  const known = useOutOfSight() === null ? (STATES[state ?? ""] ?? "Waiting") : "Out of sight";
  return (
    <section
      aria-label="Race controls"
      className="glass grid grid-cols-2 items-start gap-x-6 gap-y-3 px-4 py-3 sm:flex sm:flex-wrap sm:gap-x-4"
    >
      <div className={follows ? "col-span-2" : ""}>
        <p className="eyebrow">
          {reached ? known : "Not connected"}
          {reached && run != null && `, run ${run}`}
        </p>
        {follows ? (
          <p className="mt-1 flex min-h-8 items-center gap-2 text-sm text-muted">
            <Eye size={16} aria-hidden="true" /> Another service runs this race; it is steered there.
          </p>
        ) : (
          <Steering />
        )}
      </div>
      {follows ? <Figures /> : <More />}
    </section>
  );
}
