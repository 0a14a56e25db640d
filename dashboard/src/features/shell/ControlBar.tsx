import { Pause, Play, RotateCw, Square } from "lucide-react";
import { change, start, steer, useCommands } from "@/client/commands";
import { usePresets } from "@/client/queries";
import { clock, count, digits } from "@/lib/format";
import { spoken } from "@/lib/useStrategy";
import { useLive } from "@/live/store";
import { LoadSlider } from "./LoadSlider";

const SPEEDS: readonly { value: number; label: string }[] = [
  { value: 1, label: "1 task/s" },
  { value: 5, label: "5 tasks/s" },
  { value: 10, label: "10 tasks/s" },
  { value: 50, label: "50 tasks/s" },
  { value: 200, label: "200 tasks/s" },
  { value: 1000, label: "1,000 tasks/s" },
  { value: 0, label: "As fast as possible" },
];

function MainButton() {
  const state = useLive((s) => s.update?.status.state);
  const busy = useCommands((s) => s.busy);
  const [icon, text, run] =
    state === "running"
      ? [<Pause key="i" size={16} aria-hidden="true" />, "Pause", () => steer("pause")]
      : state === "paused"
        ? [<Play key="i" size={16} aria-hidden="true" />, "Resume", () => steer("resume")]
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
      disabled={busy || state === undefined}
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
    ["Tasks", count(tasks), "tasks-processed"],
    ["Simulated", clock(simulated), "simulated-clock"],
    ["Pace", pace === undefined ? "–" : `${digits(pace, 2)}/s`, "achieved-speed"],
  ] as const;
  return (
    <dl className="flex gap-5">
      {figures.map(([label, value, id]) => (
        <div key={id}>
          <dt className="eyebrow">{label}</dt>
          <dd className="figure text-base leading-tight font-semibold" data-figure={id}>
            {value}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function SpeedPick() {
  const speed = useLive((s) => s.update?.status.speed);
  const known = SPEEDS.some((entry) => entry.value === speed);
  return (
    <label className="block">
      <span className="eyebrow block">Speed</span>
      <select
        className="field w-full"
        value={speed ?? 10}
        disabled={speed === undefined}
        onChange={(event) => void change({ speed: Number(event.target.value) })}
      >
        {!known && speed !== undefined && <option value={speed}>{digits(speed)} tasks/s</option>}
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
  return (
    <fieldset className="min-w-0">
      <legend className="eyebrow">Shift the workload to</legend>
      <div className="flex flex-wrap gap-1">
        {presets.map((preset) => (
          <button
            key={preset.name}
            type="button"
            className="press px-2.5"
            title={preset.description}
            aria-pressed={preset.name === now}
            disabled={now === undefined}
            onClick={() => void change({ workload: preset.name })}
          >
            {spoken(preset.name)}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

/** Start, pause, pace, load and shift: everything a person can do to the race while it runs. */
export function ControlBar() {
  const state = useLive((s) => s.update?.status.state);
  const active = state === "running" || state === "paused";
  const renew = (): void => {
    if (window.confirm("Begin a new run? The present one stays in the history."))
      void start({ new_run: true });
  };
  return (
    <section aria-label="Race controls" className="glass flex flex-wrap items-end gap-x-6 gap-y-3 px-4 py-3">
      <div className="flex items-center gap-1.5">
        <MainButton />
        <button
          type="button"
          className="icon-press border border-line"
          aria-label="Stop the race"
          title="Stop"
          disabled={!active}
          onClick={() => void steer("stop")}
        >
          <Square size={14} aria-hidden="true" />
        </button>
        <button
          type="button"
          className="icon-press border border-line"
          aria-label="Begin a new run"
          title="Begin a new run"
          onClick={renew}
        >
          <RotateCw size={14} aria-hidden="true" />
        </button>
      </div>
      <Figures />
      <div className="w-40">
        <SpeedPick />
      </div>
      <LoadSlider />
      <ShiftButtons />
    </section>
  );
}
