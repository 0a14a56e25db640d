import { digits, percent, seconds } from "@/lib/format";
import { deviceLabel } from "@/live/devices";
import { REASON_WORDS } from "./reasonWords";

/** A strategy's reasons are its own: any plain values. Here they are sorted into shapes that can be drawn. */

export interface Bars {
  kind: "bars";
  key: string;
  entries: { name: string; value: number }[];
  /** Said beside the heading. */
  note?: string;
}

export interface Curve {
  kind: "curve";
  key: string;
  x: string;
  y: string;
  points: { x: number; y: number }[];
}

export interface Fact {
  kind: "fact";
  key: string;
  text: string;
}

/** Sentences, such as what is believed of each type of device. */
export interface Words {
  kind: "words";
  key: string;
  lines: { name: string; text: string }[];
}

export type Shape = Bars | Curve | Fact | Words;

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const UNITS: Record<string, string> = { s: "s", j: "J", mb: "MB", usd: "$" };

/** `cpu_backlog_s` as `cpu backlog (s)`; words that are known are said as the glossary says them. */
export function spokenKey(key: string): string {
  const known = REASON_WORDS[key];
  if (known) return known.term;
  const parts = key.split("_");
  const unit = UNITS[parts.at(-1) ?? ""];
  const words = (unit && parts.length > 1 ? parts.slice(0, -1) : parts).join(" ");
  return unit && parts.length > 1 ? `${words} (${unit})` : words;
}

/** A number with the unit that its word has. */
export function measured(key: string, value: number): string {
  const unit = REASON_WORDS[key]?.unit;
  if (unit === "share") return percent(value, 1);
  if (unit === "seconds") return seconds(value);
  const text = Number.isInteger(value) ? String(value) : digits(value);
  return unit === "MB" ? `${text} MB` : text;
}

function factOf(key: string, value: unknown): Fact {
  if (isNumber(value)) return { kind: "fact", key, text: measured(key, value) };
  if (typeof value === "boolean") return { kind: "fact", key, text: value ? "yes" : "no" };
  if (value === null || value === undefined) return { kind: "fact", key, text: "–" };
  if (typeof value !== "string") return { kind: "fact", key, text: JSON.stringify(value) };
  const isPlace = /^(cpu|gpu_\d+)(\+gpu_\d+)?$/.test(value);
  // The names of ways and rules are identifiers; people read words.
  return { kind: "fact", key, text: isPlace ? deviceLabel(value) : value.replaceAll("_", " ") };
}

function curveOf(key: string, rows: Record<string, unknown>[]): Curve | null {
  const [x, y] = Object.keys(rows[0] ?? {}).filter((name) => isNumber(rows[0]?.[name]));
  if (!x || !y || rows.length < 3) return null;
  const points = rows.flatMap((row) => {
    const [a, b] = [row[x], row[y]];
    return isNumber(a) && isNumber(b) ? [{ x: a, y: b }] : [];
  });
  return { kind: "curve", key, x, y, points };
}

function barsOf(key: string, pairs: [string, unknown][]): Bars | null {
  const entries = pairs.flatMap(([name, value]) => (isNumber(value) ? [{ name, value }] : []));
  return entries.length > 1 && entries.length >= pairs.length / 2 ? { kind: "bars", key, entries } : null;
}

function wordsOf(key: string, pairs: [string, unknown][]): Words | null {
  const lines = pairs.flatMap(([name, text]) => (typeof text === "string" ? [{ name, text }] : []));
  return lines.length > 0 && lines.length === pairs.length ? { kind: "words", key, lines } : null;
}

function shapeOf(key: string, value: unknown): Shape {
  if (Array.isArray(value)) {
    if (value.every(isRecord)) return curveOf(key, value) ?? factOf(key, value);
    return (
      barsOf(
        key,
        value.map((entry, i) => [String(i), entry]),
      ) ?? factOf(key, value)
    );
  }
  if (isRecord(value))
    return barsOf(key, Object.entries(value)) ?? wordsOf(key, Object.entries(value)) ?? factOf(key, value);
  return factOf(key, value);
}

/** Values of actions say something by their differences only: how far each is behind the best. */
function behindBest(value: Record<string, unknown>): Bars | null {
  const bars = barsOf("q_behind", Object.entries(value));
  if (!bars) return null;
  const best = bars.entries.reduce((a, b) => (b.value > a.value ? b : a));
  const entries = bars.entries.map((entry) => ({ name: entry.name, value: best.value - entry.value }));
  return { ...bars, entries, note: `best: ${deviceLabel(best.name)}, Q ${digits(best.value)}` };
}

/** Features and settings have units of their own: as bars they would pretend to be comparable. */
const APART: ReadonlySet<string> = new Set(["features", "setting"]);

function shapesOfEntry(key: string, value: unknown): Shape[] {
  if (APART.has(key) && isRecord(value)) return Object.entries(value).map(([name, one]) => factOf(name, one));
  if (key === "q_values" && isRecord(value)) return [behindBest(value) ?? shapeOf(key, value)];
  return [shapeOf(key, value)];
}

/** What each feature contributed to a forest that was never fitted: nothing, nine times over. */
const isUntaught = (shape: Shape): boolean =>
  shape.kind === "bars" && shape.key === "contributions" && shape.entries.every(({ value }) => value === 0);

/** All shapes of a reason; facts first, then what is drawn. The sentence `reason` is shown elsewhere. */
export function shapesOf(reason: Readonly<Record<string, unknown>>): Shape[] {
  const shapes = Object.entries(reason)
    .filter(([key]) => key !== "reason")
    .flatMap(([key, value]) => shapesOfEntry(key, value))
    .filter((shape) => !isUntaught(shape));
  return [
    ...shapes.filter((shape) => shape.kind === "fact"),
    ...shapes.filter((shape) => shape.kind !== "fact"),
  ];
}
