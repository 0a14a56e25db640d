/** Which notices are news, and the newest of them. */
import { useEffect, useRef, useState } from "react";
import type { Notification } from "@/client/types";
import { useLive } from "@/live/store";

/** The forest retrains every few seconds: that is news once in a while, and after a shift, when one waits for it. */
const RETRAINED_EVERY_MS = 45_000;
const AFTER_SHIFT_MS = 20_000;

export interface Last {
  retrained: number;
  shifted: number;
}

export const keyOf = (notice: Notification): string => `${notice.id}-${notice.at}`;

/** Whether a notice deserves the header; everything is in the log anyway. */
export function isNews(notice: Notification, last: Last): boolean {
  const at = Date.parse(notice.at);
  if (notice.event === "workload_shifted") last.shifted = at;
  if (notice.event !== "model_retrained") return true;
  const due = at - last.retrained >= RETRAINED_EVERY_MS || at - last.shifted <= AFTER_SHIFT_MS;
  if (due) last.retrained = at;
  return due;
}

/** The newest notice that is news; at first the last one of the snapshot. */
export function useNewest(): Notification | null {
  const all = useLive((s) => s.notifications);
  const seen = useRef<Set<string> | null>(null);
  const last = useRef<Last>({ retrained: 0, shifted: 0 });
  const [newest, setNewest] = useState<Notification | null>(null);
  useEffect(() => {
    if (seen.current === null) {
      if (useLive.getState().update === null) return;
      seen.current = new Set(all.map(keyOf));
      setNewest(all.at(-1) ?? null);
      return;
    }
    const known = seen.current;
    const fresh = all.filter((notice) => !known.has(keyOf(notice)) && isNews(notice, last.current));
    seen.current = new Set(all.map(keyOf));
    // A shift is what a person has just done: a retraining of the same moment does not take its place.
    const told = fresh.findLast((notice) => notice.event === "workload_shifted") ?? fresh.at(-1);
    if (told) setNewest(told);
  }, [all]);
  return newest;
}
