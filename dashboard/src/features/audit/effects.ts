/** The effect of another decision in words and signs. */
import type { OtherDecision } from "@/client/types";
import { NOTHING, percent, seconds } from "@/lib/format";
import { deviceLabel } from "@/live/devices";

/** `+12 ms`, `−3 s`; nothing is known of a task that would fail. */
export function change(value: number | null): string {
  if (value === null) return NOTHING;
  const text = seconds(Math.abs(value));
  if (text === "0 s") return "±0";
  return `${value > 0 ? "+" : "−"}${text}`;
}

/** Where it would have gone: a device, or a share on a GPU and the rest on the CPU. */
export function placeText(one: Pick<OtherDecision, "device" | "gpu_fraction">): string {
  const isSplit = one.gpu_fraction > 0 && one.gpu_fraction < 1;
  return isSplit
    ? `${deviceLabel(one.device)}, ${percent(one.gpu_fraction)} on the GPU`
    : deviceLabel(one.device);
}

/** What the best alternative would have saved; that nothing would have is worth a sentence, too. */
export function regretSentence(regret_s: number, best: OtherDecision | undefined): string {
  if (!best || regret_s <= 0) return "No other decision would have shortened the sum of all latencies.";
  return `With ${placeText(best)} all tasks together would have been done ${seconds(regret_s)} sooner.`;
}
