/** The one reducer of the live state: pure, so that it is tested with real messages. */
import type { LatestTask, ServerMessage, SimulationUpdate, Snapshot } from "@/client/types";
import { type Connection, KEEP, type LiveState } from "./state";

export type LiveEvent =
  | { kind: "message"; message: ServerMessage }
  | { kind: "connection"; change: Partial<Connection> };

/** Append and drop the oldest beyond the bound. */
function bounded<T>(before: readonly T[], added: readonly T[], bound: number): readonly T[] {
  if (added.length === 0) return before;
  const all = before.length + added.length;
  return all <= bound ? [...before, ...added] : [...before, ...added].slice(all - bound);
}

/** Tasks that are newer than the newest one known; ids grow within a run. */
function unseen(known: readonly LatestTask[], arrived: readonly LatestTask[]): LatestTask[] {
  const newest = known.at(-1)?.id ?? -1;
  return arrived.filter((task) => task.id > newest);
}

function withUpdate(state: LiveState, update: SimulationUpdate): LiveState {
  if (state.seq !== null && update.seq <= state.seq && sameRun(state, update)) return state;
  const gap = state.seq === null ? 0 : Math.max(0, update.seq - state.seq - 1);
  const base = sameRun(state, update) ? state : { ...state, tasks: [] };
  return {
    ...base,
    seq: update.seq,
    missed: state.missed + gap,
    update,
    tasks: bounded(base.tasks, unseen(base.tasks, update.recent_tasks), KEEP.tasks),
    shifts: update.shifts.slice(-KEEP.shifts),
  };
}

function sameRun(state: LiveState, update: SimulationUpdate): boolean {
  return state.update === null || state.update.status.run_id === update.status.run_id;
}

/** A snapshot replaces what was known. */
function withSnapshot(state: LiveState, snapshot: Snapshot): LiveState {
  const base: LiveState = { ...state, seq: null, update: null, tasks: snapshot.recent_tasks };
  return {
    ...withUpdate(base, snapshot.update),
    seq: snapshot.seq,
    version: snapshot.version,
    notifications: snapshot.notifications.slice(-KEEP.notifications),
    log: snapshot.log.slice(-KEEP.log),
  };
}

function withMessage(state: LiveState, message: ServerMessage): LiveState {
  switch (message.type) {
    case "snapshot":
      return withSnapshot(state, message);
    case "simulation_update":
      return withUpdate(state, message);
    case "notification":
      return { ...state, notifications: bounded(state.notifications, [message], KEEP.notifications) };
    case "log":
      return { ...state, log: bounded(state.log, [message], KEEP.log) };
  }
}

/** The next state. */
export function reduce(state: LiveState, event: LiveEvent): LiveState {
  if (event.kind === "message") return withMessage(state, event.message);
  return { ...state, connection: { ...state.connection, ...event.change } };
}

/** The state after many events, in order. */
export function reduceAll(state: LiveState, events: readonly LiveEvent[]): LiveState {
  return events.reduce(reduce, state);
}
