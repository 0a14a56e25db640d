import { BrainCircuit, CircleAlert, Info, Shuffle, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Notification } from "@/client/types";
import { useLive } from "@/live/store";

const SHOWN_MS = 6000;
const MOST = 3;

/** The forest retrains every few seconds: that is news once in a while, and after a shift, when one waits for it. */
const RETRAINED_EVERY_MS = 45_000;
const AFTER_SHIFT_MS = 20_000;

function Icon({ notice }: { notice: Notification }) {
  if (notice.event === "model_retrained")
    return <BrainCircuit size={17} className="text-ml" aria-hidden="true" />;
  if (notice.event === "workload_shifted")
    return <Shuffle size={17} className="text-warn" aria-hidden="true" />;
  if (notice.level === "error" || notice.level === "warning")
    return <CircleAlert size={17} className="text-bad" aria-hidden="true" />;
  return <Info size={17} className="text-ml" aria-hidden="true" />;
}

const keyOf = (notice: Notification): string => `${notice.id}-${notice.at}`;

interface Last {
  retrained: number;
  shifted: number;
}

/** Whether a notice deserves a toast; everything is in the log anyway. */
function isNews(notice: Notification, last: Last): boolean {
  const at = Date.parse(notice.at);
  if (notice.event === "workload_shifted") last.shifted = at;
  if (notice.event !== "model_retrained") return true;
  const due = at - last.retrained >= RETRAINED_EVERY_MS || at - last.shifted <= AFTER_SHIFT_MS;
  if (due) last.retrained = at;
  return due;
}

/** Notices that came while this tab watched; those of the snapshot are history, not news. */
function useNews(): [Notification[], (notice: Notification) => void] {
  const all = useLive((s) => s.notifications);
  const seen = useRef<Set<string> | null>(null);
  const last = useRef<Last>({ retrained: 0, shifted: 0 });
  const [shown, setShown] = useState<Notification[]>([]);
  useEffect(() => {
    if (seen.current === null) {
      if (useLive.getState().update === null) return;
      seen.current = new Set(all.map(keyOf));
      return;
    }
    const known = seen.current;
    const fresh = all.filter((notice) => !known.has(keyOf(notice)) && isNews(notice, last.current));
    seen.current = new Set(all.map(keyOf));
    if (fresh.length === 0) return;
    setShown((before) => [...before, ...fresh].slice(-MOST));
    // Each notice keeps its own time, whatever comes after it.
    setTimeout(() => setShown((before) => before.filter((notice) => !fresh.includes(notice))), SHOWN_MS);
  }, [all]);
  return [shown, (notice) => setShown((before) => before.filter((other) => other !== notice))];
}

/** Notices in the lower corner, where they cover no title. */
export function Toasts() {
  const [shown, dismiss] = useNews();
  return (
    <div
      aria-live="polite"
      className="fixed right-4 bottom-4 z-40 flex w-[min(22rem,calc(100vw-2rem))] flex-col gap-2"
    >
      {shown.map((notice) => (
        <div
          key={keyOf(notice)}
          className="glass flex items-start gap-2.5 px-3.5 py-2.5 text-sm"
          style={{ background: "var(--panel-solid)" }}
        >
          <span className="mt-0.5">
            <Icon notice={notice} />
          </span>
          <span className="flex-1 leading-snug">{notice.message}</span>
          <button
            type="button"
            className="text-muted hover:text-ink"
            aria-label="Dismiss"
            onClick={() => dismiss(notice)}
          >
            <X size={15} aria-hidden="true" />
          </button>
        </div>
      ))}
    </div>
  );
}
