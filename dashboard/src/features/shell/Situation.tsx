import { CircleAlert, CirclePause, EyeOff, Flag, Hourglass, Play, PlugZap, ServerOff } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { start, steer } from "@/client/commands";
import { useEngineWords, useFollows } from "@/client/queries";
import { count, tasksText } from "@/lib/format";
import { retryNow, useLive } from "@/live/store";
import { askForNewRun } from "./newRun";
import { useOutOfSight, useProblem, useSilence } from "./useSight";

interface BannerProps {
  icon: ReactNode;
  tone: string;
  title: string;
  children: ReactNode;
  action?: { text: string; run: () => void } | undefined;
}

function Banner({ icon, tone, title, children, action }: BannerProps) {
  return (
    <div
      role="status"
      className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl border px-4 py-2.5 text-sm"
      style={{
        borderColor: `color-mix(in oklab, ${tone} 45%, transparent)`,
        background: `color-mix(in oklab, ${tone} 9%, transparent)`,
      }}
    >
      <span style={{ color: tone }}>{icon}</span>
      <span className="font-semibold">{title}</span>
      <span className="text-muted">{children}</span>
      {action && (
        <button type="button" className="press ml-auto" onClick={action.run}>
          {action.text}
        </button>
      )}
    </div>
  );
}

/** Whole seconds until a moment, counted down. */
function useCountdown(until: number | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (until === null) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [until]);
  return until === null ? 0 : Math.max(0, Math.ceil((until - now) / 1000));
}

function Away() {
  const { phase, attempt, retryAt } = useLive((s) => s.connection);
  const known = useLive((s) => s.update !== null);
  const wait = useCountdown(retryAt);
  const next = wait > 0 ? `Trying again in ${wait} s.` : "Trying again now.";
  const stale = known ? "What you see is the last that was known." : "";
  if (phase === "down")
    return (
      <Banner
        icon={<ServerOff size={18} aria-hidden="true" />}
        tone="var(--bad)"
        title="The service does not answer"
        action={{ text: "Try now", run: retryNow }}
      >
        {count(attempt)} attempts. Is <code className="font-mono text-ink">hms serve</code> running? {stale}{" "}
        {next}
      </Banner>
    );
  return (
    <Banner
      icon={<PlugZap size={18} aria-hidden="true" />}
      tone="var(--warn)"
      title="The connection was lost"
      action={{ text: "Try now", run: retryNow }}
    >
      {stale} {next}
    </Banner>
  );
}

/** The race should move and is not heard: it compiles, or a strategy takes its time. */
function Silence({ seconds }: { seconds: number }) {
  const words = useEngineWords();
  return (
    <Banner icon={<Hourglass size={18} aria-hidden="true" />} tone="var(--warn)" title="No news of the race">
      Nothing was heard of it for {seconds} s; what you see is the last that was known. {words}
    </Banner>
  );
}

/** What a person must know before reading any number: disconnected, paused, not started, or storage trouble. */
export function Situation() {
  const phase = useLive((s) => s.connection.phase);
  const state = useLive((s) => s.update?.status.state);
  const trace = useLive((s) => s.update?.status.workload.preset ?? "");
  const storage = useLive((s) => s.update?.status.storage);
  const tasks = useLive((s) => s.update?.tasks_processed ?? 0);
  const backlog = useLive((s) => s.update?.status.backlog_rows ?? 0);
  const problem = useProblem();
  const unheard = useOutOfSight();
  const follows = useFollows();
  const silentS = useSilence();
  // Where another service runs the race, nothing is offered that only that one could do.
  const offered = (text: string, run: () => unknown) =>
    follows ? undefined : { text, run: () => void run() };
  if (phase === "reconnecting" || phase === "down") return <Away />;
  if (unheard !== null)
    return (
      <Banner
        icon={<EyeOff size={18} aria-hidden="true" />}
        tone="var(--warn)"
        title="The race is out of sight"
      >
        {unheard} {problem !== null && `Then it could not go on: ${problem}`}
      </Banner>
    );
  // Before storage trouble: what was refused does not wait, and a new run is the only way on.
  if (problem !== null)
    return (
      <Banner
        icon={<CircleAlert size={18} aria-hidden="true" />}
        tone="var(--bad)"
        title="The race cannot go on"
        action={offered("Begin a new run", askForNewRun)}
      >
        {problem} What was stored stays in the history.
      </Banner>
    );
  if (storage === "down")
    return (
      <Banner
        icon={<ServerOff size={18} aria-hidden="true" />}
        tone="var(--bad)"
        title="The database does not answer"
      >
        The race keeps {count(backlog)} rows until it is back; nothing is lost.
      </Banner>
    );
  if (silentS > 0) return <Silence seconds={silentS} />;
  if (state === "paused")
    return (
      <Banner
        icon={<CirclePause size={18} aria-hidden="true" />}
        tone="var(--warn)"
        title="Paused"
        action={offered("Resume", () => steer("resume"))}
      >
        The race is stopped after {tasksText(tasks)}. Every view can still be explored.
      </Banner>
    );
  if (state === "complete")
    return (
      <Banner
        icon={<Flag size={18} aria-hidden="true" />}
        tone="var(--ml)"
        title="Complete"
        action={offered("Begin a new run", askForNewRun)}
      >
        All {tasksText(tasks)} of {trace} have been placed, and no other will come. Every view can still be
        explored.
      </Banner>
    );
  if (state === "idle" || state === "stopped")
    return (
      <Banner
        icon={<Play size={18} aria-hidden="true" />}
        tone="var(--ml)"
        title={state === "idle" ? "No race yet" : "Stopped"}
        action={offered(state === "idle" ? "Start the race" : "Continue", () => start())}
      >
        {state === "idle"
          ? "All strategies wait at the line for the same stream of tasks."
          : `After ${tasksText(tasks)}; starting again continues the same run.`}
      </Banner>
    );
  return null;
}
