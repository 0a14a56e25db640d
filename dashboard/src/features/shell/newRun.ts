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
}

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
  };
}
