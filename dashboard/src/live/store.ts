/** The live store: one socket, one reducer, coalesced. */
import { create } from "zustand";
import { coalescer } from "./coalesce";
import { type LiveEvent, reduceAll } from "./reducer";
import { LiveSocket } from "./socket";
import { type LiveState, START } from "./state";

/** At most this often is anything drawn, however fast messages come. */
export const DRAW_EVERY_MS = 450;

/** After this many failed attempts in a row the service is called down. */
const DOWN_AFTER = 3;

export const useLive = create<LiveState>(() => START);

let onSnapshot: () => void = () => undefined;

const events = coalescer<LiveEvent>((items) => {
  useLive.setState((state) => reduceAll(state, items));
  if (items.some((item) => item.kind === "message" && item.message.type === "snapshot")) onSnapshot();
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

/** Connect; `refresh` is called after every snapshot so that what came over HTTP is read again. */
export function connect(refresh: () => void): void {
  onSnapshot = refresh;
  socket.open();
}

export const retryNow = (): void => socket.retry();
export const focusOn = (scheduler: string): void => socket.ask(scheduler);
