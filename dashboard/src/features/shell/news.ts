/** Which notices are news, and the newest of them: told by the notices alone, so that all tabs say the same. */
import { useEffect, useState } from "react";
import type { Notification } from "@/client/types";
import { useLive } from "@/live/store";

/** The forest retrains every few seconds: that is news once in a while, and after a shift, when one waits for it. */
const RETRAINED_EVERY_MS = 45_000;
const AFTER_SHIFT_MS = 20_000;
/** A shift is what a person has just done: a retraining of the same moment does not take its place. */
const SAME_MOMENT_MS = 1000;

export const keyOf = (notice: Notification): string => `${notice.id}-${notice.at}`;

/** Whether a retraining is news: soon after a shift, or the first in its stretch of the clock. */
function isRetrainingNews(at: number, before: number, shifted: number): boolean {
  if (at - shifted < SAME_MOMENT_MS) return false;
  if (at - shifted <= AFTER_SHIFT_MS) return true;
  const stretch = (moment: number): number => Math.floor(moment / RETRAINED_EVERY_MS);
  return stretch(at) !== stretch(before);
}

/** An error that has no digit within four decimals is not zero. */
export const noticeWords = (notice: Pick<Notification, "message">): string =>
  notice.message.replaceAll(/\berror( of)? 0\.0000\b/g, "error$1 below 0.0001");

/** The newest notice that deserves the header; everything is in the log anyway. */
export function newestOf(all: readonly Notification[]): Notification | null {
  let newest: Notification | null = null;
  // What came before the list is not known: a retraining at its very beginning may be one of many.
  let retrained = all[0]?.event === "model_retrained" ? Date.parse(all[0].at) : Number.NEGATIVE_INFINITY;
  let shifted = Number.NEGATIVE_INFINITY;
  for (const notice of all) {
    const at = Date.parse(notice.at);
    const isNews = notice.event !== "model_retrained" || isRetrainingNews(at, retrained, shifted);
    if (isNews) newest = notice;
    if (notice.event === "model_retrained") retrained = at;
    if (notice.event === "workload_shifted") shifted = at;
  }
  return newest;
}

/** The newest notice that is news; where the list holds none, the one that was news before. */
export function useNewest(): Notification | null {
  const all = useLive((s) => s.notifications);
  const [newest, setNewest] = useState<Notification | null>(null);
  useEffect(() => setNewest((before) => newestOf(all) ?? before ?? all.at(-1) ?? null), [all]);
  return newest;
}
