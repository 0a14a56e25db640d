import { count } from "@/lib/format";
import type { Phase } from "@/live/state";
import { useLive } from "@/live/store";

const WORDS: Record<Phase, { text: string; tone: string }> = {
  connecting: { text: "Connecting", tone: "var(--warn)" },
  live: { text: "Live", tone: "var(--good)" },
  reconnecting: { text: "Reconnecting", tone: "var(--warn)" },
  down: { text: "Service down", tone: "var(--bad)" },
};

/** How the tab is connected, and how many updates it did not get. */
export function ConnectionPill() {
  const phase = useLive((s) => s.connection.phase);
  const reconnects = useLive((s) => s.connection.reconnects);
  const missed = useLive((s) => s.missed);
  const state = useLive((s) => s.update?.status.state);
  const still = phase === "live" && state !== undefined && state !== "running";
  const { text, tone } = WORDS[phase];
  const details = [
    missed > 0
      ? `${count(missed)} updates were skipped because this tab was slower than the service`
      : "no update was missed",
    reconnects > 0 ? `${count(reconnects)} reconnects` : null,
  ].filter(Boolean);
  return (
    <span className="chip" role="status" title={details.join(", ")} data-phase={phase} data-missed={missed}>
      <span className="relative flex size-2" aria-hidden="true">
        {phase === "live" && !still && (
          <span
            className="absolute inset-0 animate-ping rounded-full opacity-60"
            style={{ background: tone }}
          />
        )}
        <span className="relative size-2 rounded-full" style={{ background: tone }} />
      </span>
      {text}
      {missed > 0 && <span className="figure hidden text-muted md:inline">{count(missed)} skipped</span>}
      <span className="sr-only">; {details.join(", ")}</span>
    </span>
  );
}
