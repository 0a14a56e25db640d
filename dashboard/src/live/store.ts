/** The live store: one socket, one reducer, coalesced. */
import { create } from "zustand";
import { coalescer } from "./coalesce";
import { type LiveEvent, reduceAll } from "./reducer";
import { LiveSocket } from "./socket";
import { cameToStand } from "./stand";
import { type LiveState, START } from "./state";

/** At most this often is anything drawn, however fast messages come. */
export const DRAW_EVERY_MS = 450;

/** After this many failed attempts in a row the service is called down. */
const DOWN_AFTER = 3;

export const useLive = create<LiveState>(() => START);

let refresh: () => void = () => undefined;

const events = coalescer<LiveEvent>((items) => {
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
  message: (message) => dispatch({ kind: "message", message }),
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
