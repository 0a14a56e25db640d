import type { SimulationStatus } from "@/client/types";
import { count, counted } from "@/lib/format";
import type { Phase } from "@/live/state";
import { useLive } from "@/live/store";
import { useOutOfSight, useProblem, useSilence } from "./useSight";

/** The last word alone is what a phone has room for. */
const WORDS: Record<Phase, { text: string; short: string; tone: string }> = {
  connecting: { text: "Connecting", short: "…", tone: "var(--warn)" },
  live: { text: "Connected", short: "On", tone: "var(--good)" },
  reconnecting: { text: "Reconnecting", short: "Lost", tone: "var(--warn)" },
  down: { text: "Service down", short: "Down", tone: "var(--bad)" },
};

/** With a connection, the word is about the race: only one that runs is live. */
const STATES: Record<SimulationStatus["state"], { text: string; short: string; tone: string }> = {
  running: { text: "Live", short: "Live", tone: "var(--good)" },
  paused: { text: "Paused", short: "Paused", tone: "var(--warn)" },
  stopped: { text: "Stopped", short: "Stopped", tone: "var(--muted)" },
  complete: { text: "Complete", short: "Complete", tone: "var(--ml)" },
  idle: { text: "No race", short: "No race", tone: "var(--muted)" },
};

const BLIND = { text: "Out of sight", short: "Lost", tone: "var(--warn)" };
const SILENT = { text: "Waiting", short: "Waiting", tone: "var(--warn)" };

/** Whether the race is live, or why nothing of it is heard; and how many updates this tab did not get. */
export function ConnectionPill() {
  const phase = useLive((s) => s.connection.phase);
  const reconnects = useLive((s) => s.connection.reconnects);
  const missed = useLive((s) => s.missed);
  const state = useLive((s) => s.update?.status.state);
  const halted = useProblem() !== null;
  const runs = phase === "live" && state === "running" && !halted;
  // The service answers and hears nothing itself: that is not live.
  const blind = useOutOfSight() !== null && phase === "live";
  const silent = useSilence() > 0;
  const { text, short, tone } = blind
    ? BLIND
    : silent
      ? SILENT
      : phase === "live" && state !== undefined
        ? STATES[halted ? "stopped" : state]
        : WORDS[phase];
  const details = [
    missed > 0
      ? `${count(missed)} updates were skipped because this tab was slower than the service`
      : "no update was missed",
    reconnects > 0 ? counted(reconnects, "reconnect") : null,
  ].filter(Boolean);
  return (
    <span className="chip" role="status" title={details.join(", ")} data-phase={phase} data-missed={missed}>
      <span className="relative flex size-2" aria-hidden="true">
        {runs && !blind && !silent && (
          <span
            className="absolute inset-0 animate-ping rounded-full opacity-60"
            style={{ background: tone }}
          />
        )}
        <span className="relative size-2 rounded-full" style={{ background: tone }} />
      </span>
      <span className="max-sm:hidden">{text}</span>
      <span className="sm:hidden">{short}</span>
      {missed > 0 && <span className="figure hidden text-muted md:inline">{count(missed)} skipped</span>}
      <span className="sr-only">; {details.join(", ")}</span>
    </span>
  );
}
