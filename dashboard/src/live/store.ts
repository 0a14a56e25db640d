/** The live store: one socket, one reducer, coalesced. Below a stored run, what that run showed last. */
import { createContext, use } from "react";
import { createStore, type StoreApi, useStore } from "zustand";
import { coalescer } from "./coalesce";
import { type LiveEvent, reduceAll } from "./reducer";
import { LiveSocket } from "./socket";
import { cameToStand } from "./stand";
import { type LiveState, START } from "./state";

/** At most this often is anything drawn, however fast messages come. */
export const DRAW_EVERY_MS = 450;

/** After this many failed attempts in a row the service is called down. */
const DOWN_AFTER = 3;

const liveStore = createStore<LiveState>(() => START);

/** What the views below it show: the race, or a stored run. */
export const ShownRun = createContext<StoreApi<LiveState>>(liveStore);

function useShown<T>(select: (state: LiveState) => T): T {
  return useStore(use(ShownRun), select);
}

/** The state that is shown here; `getState` and `setState` are those of the race itself. */
export const useLive = Object.assign(useShown, {
  getState: liveStore.getState,
  setState: liveStore.setState,
});

let refresh: () => void = () => undefined;

let heardAtMs = performance.now();

/** Seconds since the service last spoke: of a race it speaks twice a second, whatever its pace. */
export const silentForS = (): number => (performance.now() - heardAtMs) / 1000;

const events = coalescer<LiveEvent>((items) => {
  heardAtMs = performance.now();
  const before = useLive.getState().update;
  useLive.setState((state) => reduceAll(state, items));
  const isSnapshot = items.some((item) => item.kind === "message" && item.message.type === "snapshot");
  if (isSnapshot || cameToStand(before, useLive.getState().update)) refresh();
}, DRAW_EVERY_MS);

/** Hand an event to the store; it is drawn with the next slot. */
export const dispatch = events.push;

const socket = new LiveSocket({
  opened: () => {
    const { attempt, reconnects } = useLive.getState().connection;
    const back = attempt > 0 ? reconnects + 1 : reconnects;
    dispatch({ kind: "connection", change: { phase: "live", attempt: 0, retryAt: null, reconnects: back } });
  },
  event: dispatch,
  lost: (attempt, retryInMs) => {
    const phase = attempt >= DOWN_AFTER ? "down" : "reconnecting";
    dispatch({ kind: "connection", change: { phase, attempt, retryAt: Date.now() + retryInMs } });
    events.flush();
  },
});

/** Connect; after every snapshot and at every stand `readAgain` is called, for what came over HTTP may be behind. */
export function connect(readAgain: () => void): void {
  refresh = readAgain;
  socket.open();
}

export const retryNow = (): void => socket.retry();
export const focusOn = (scheduler: string): void => socket.ask(scheduler);
