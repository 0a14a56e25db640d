/** A task of one's own: what can be typed, and the answers in order. */
import type { Advice, NewTask, TaskAdvice } from "@/client/types";

export type FieldKey = "size" | "compute_intensity" | "memory_required";
export type Typed = Record<FieldKey, string>;

export interface Field {
  key: FieldKey;
  label: string;
  meaning: string;
  low: number;
  high: number;
}

/** The service's own bounds. */
export const FIELDS: readonly Field[] = [
  { key: "size", label: "Size", meaning: "Problem size, without a unit", low: 1e-3, high: 1e6 },
  {
    key: "compute_intensity",
    label: "Intensity",
    meaning: "How much it gains from parallel hardware, 0 to 1",
    low: 0,
    high: 1,
  },
  {
    key: "memory_required",
    label: "Memory, MB",
    meaning: "What must cross the bus to a GPU",
    low: 0,
    high: 1e9,
  },
];

export const START: Typed = { size: "800", compute_intensity: "0.7", memory_required: "120" };

/** What is wrong with a value, in a sentence; null where nothing is. */
export function problemOf(field: Field, text: string): string | null {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value >= field.low && value <= field.high) return null;
  return `${field.label} is a number from ${field.low} to ${field.high}.`;
}

export const taskOf = (typed: Typed): NewTask => ({
  size: Number(typed.size),
  compute_intensity: Number(typed.compute_intensity),
  memory_required: Number(typed.memory_required),
});

/** The soonest first; what would fail comes last. */
export function adviceRows(advice: TaskAdvice): Advice[] {
  const latency = (one: Advice): number => one.predicted_latency ?? Number.POSITIVE_INFINITY;
  return Object.values(advice.decisions).sort(
    (a, b) => latency(a) - latency(b) || (a.scheduler < b.scheduler ? -1 : 1),
  );
}
