/** The question about a new run: asked from the controls and from the banner of a race that cannot go on. */
import { create } from "zustand";
import type { StartRequest, StrategyCard } from "@/client/types";

interface NewRunState {
  isAsked: boolean;
}

export const useNewRun = create<NewRunState>(() => ({ isAsked: false }));

export const askForNewRun = (): void => useNewRun.setState({ isAsked: true });
export const forgetNewRun = (): void => useNewRun.setState({ isAsked: false });

/** The greatest seed that a browser's numbers hold exactly. */
export const MOST_SEED = Number.MAX_SAFE_INTEGER;

/** The most GPUs that a node may have in the model. */
export const MOST_GPUS = 64;

/** The number of GPUs that was typed; null if it is none. */
export function gpusOf(text: string): number | null {
  const value = Number(text);
  return /^\d{1,3}$/.test(text.trim()) && value >= 1 && value <= MOST_GPUS ? value : null;
}

/** The rate that was typed; null if it is none. */
export function rateOf(text: string): number | null {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) && value >= 1e-4 && value <= 1e6 ? value : null;
}

/** The seconds after its arrival by which a task is promised to be done; null if no number was typed. */
export function promiseOf(text: string): number | null {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) && value >= 0 && value <= 1e12 ? value : null;
}

/** The seed that was typed; null if it is none. */
export function seedOf(text: string): number | null {
  const value = Number(text);
  return /^\d{1,16}$/.test(text.trim()) && value <= MOST_SEED ? value : null;
}

export interface Wish {
  cards: readonly StrategyCard[];
  chosen: ReadonlySet<string>;
  /** The strategies and the seed of the present run. */
  racers: readonly string[];
  seed: number | null;
  wishedSeed: number | null;
  /** The size of the node and the workload, where they were chosen; null leaves them as they are. */
  gpus?: number | null;
  promise?: number | null;
  preset?: string | null;
  rate?: number | null;
  /** What strategies are told about durations, and the type of all GPUs; null leaves them as they are. */
  knowledge?: StartRequest["knowledge"];
  gpuType?: string | null;
  /** An uploaded trace in the place of a preset, how its arrivals are stretched, and an uploaded profile. */
  upload?: string | null;
  arrivals?: { by: Arrivals; value: number } | null;
  hardware?: string | null;
}

/** How the arrivals of a trace are chosen, as the service names it. */
export type Arrivals = "arrival_rate" | "target_load" | "arrival_scale";

/** A number above zero that was typed; null if it is none. */
export function amountOf(text: string): number | null {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) && value > 0 && value <= 1e6 ? value : null;
}

/** The names of a CSV's columns, from its beginning; none where it is no CSV. */
export function columnsOf(beginning: string): readonly string[] {
  const first = beginning.replace(/^\uFEFF/, "").split(/\r?\n/, 1)[0] ?? "";
  if (first.startsWith(";") || !/^[\t\x20-\x7e\u00a0-\uffff]+$/.test(first)) return [];
  const [best] = [",", ";", "\t"].map((sign) => first.split(sign)).sort((a, b) => b.length - a.length);
  return best && best.length > 1 ? best.map((name) => name.trim().replace(/^"|"$/g, "")) : [];
}

const MAPPED = /--map (?:'(\w+)=([^']*)'|(\w+)=(\S+?))(?=\.?$| )/g;

/** What the service takes the columns of a foreign table for; its sentence says so to those who type commands. */
export function guessedColumns(sentence: string, asked: readonly { key: string }[]): Record<string, string> {
  const pairs = [...sentence.matchAll(MAPPED)].map((found): [string, string] => [
    found[1] ?? found[3] ?? "",
    found[2] ?? found[4] ?? "",
  ]);
  return Object.fromEntries(pairs.filter(([key]) => asked.some((one) => one.key === key)));
}

/** The sentence without what only a command line could do about it. */
export const withoutFlags = (sentence: string): string => sentence.replace(/, for example --map .*$/, ".");

/** What is asked of the service: only what differs from the present run. */
export function requestOf(wish: Wish): Partial<StartRequest> {
  const names = wish.cards.filter((card) => wish.chosen.has(card.name)).map((card) => card.name);
  const now = wish.cards.filter((card) => card.in_race).map((card) => card.name);
  // A racer without a card cannot be made again (its file has gone), so that the rest must be named.
  const lost = wish.racers.some((name) => !wish.cards.some((card) => card.name === name));
  const same = !lost && names.length === now.length && names.every((name) => now.includes(name));
  return {
    new_run: true,
    ...(same ? {} : { schedulers: names }),
    ...(wish.wishedSeed === null || wish.wishedSeed === wish.seed ? {} : { seed: wish.wishedSeed }),
    ...(wish.gpus == null ? {} : { num_gpus: wish.gpus }),
    ...(wish.promise == null ? {} : { slo_s: wish.promise }),
    ...(wish.preset == null ? {} : { workload: wish.preset }),
    ...(wish.rate == null ? {} : { arrival_rate: wish.rate }),
    ...(wish.knowledge == null ? {} : { knowledge: wish.knowledge }),
    ...(wish.gpuType == null ? {} : { gpu_type: wish.gpuType }),
    ...(wish.upload == null ? {} : { upload: wish.upload }),
    ...(wish.arrivals == null ? {} : { [wish.arrivals.by]: wish.arrivals.value }),
    ...(wish.hardware == null ? {} : { hardware: wish.hardware }),
  };
}
