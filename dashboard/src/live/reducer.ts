/** The one reducer of the live state: pure, so that it is tested with real messages. */
import type {
  ClusterLoad,
  Comparison,
  LatestTask,
  ServerMessage,
  SimulationUpdate,
  Snapshot,
} from "@/client/types";
import { devicesOf } from "./devices";
import { type Connection, KEEP, type LiveState, type Sample, type Sums } from "./state";

export type LiveEvent =
  | { kind: "message"; message: ServerMessage }
  | { kind: "connection"; change: Partial<Connection> };

/** Samples closer than this are one sample, the newer one. */
const LEAST_STEP_S = 0.45;

/** Append and drop the oldest beyond the bound. */
function bounded<T>(before: readonly T[], added: readonly T[], bound: number): readonly T[] {
  if (added.length === 0) return before;
  const all = before.length + added.length;
  return all <= bound ? [...before, ...added] : [...before, ...added].slice(all - bound);
}

function loadOf(cluster: ClusterLoad): Record<string, number> {
  return Object.fromEntries(devicesOf(cluster).map(([name, load]) => [name, load.utilization]));
}

function sumsOf(row: Comparison): Sums {
  return {
    tasks: row.tasks,
    latency: (row.avg_latency ?? 0) * row.tasks,
    time: (row.avg_time ?? 0) * row.tasks,
  };
}

/** What the time charts keep of an update. */
export function sampleOf(update: SimulationUpdate): Sample {
  const clusters = Object.entries(update.clusters) as [string, ClusterLoad][];
  return {
    wallS: Date.parse(update.at) / 1000,
    simulatedS: update.simulated_time_s,
    tasks: update.tasks_processed,
    load: Object.fromEntries(clusters.map(([name, cluster]) => [name, loadOf(cluster)])),
    sums: Object.fromEntries(update.comparison.map((row) => [row.name, sumsOf(row)])),
  };
}

/** Tasks that are newer than the newest one known; ids grow within a run. */
function unseen(known: readonly LatestTask[], arrived: readonly LatestTask[]): LatestTask[] {
  const newest = known.at(-1)?.id ?? -1;
  return arrived.filter((task) => task.id > newest);
}

function extended(state: LiveState, update: SimulationUpdate): readonly Sample[] {
  const last = state.samples.at(-1);
  // Nothing happened (paused, or the same update again): a flat line would claim otherwise.
  if (last && last.tasks === update.tasks_processed) return state.samples;
  const sample = sampleOf(update);
  // A service that speaks faster than twice a second must not push the last minute out of the charts.
  const before = state.samples.at(-2);
  const kept =
    before && sample.wallS - before.wallS < LEAST_STEP_S ? state.samples.slice(0, -1) : state.samples;
  return bounded(kept, [sample], KEEP.samples);
}

function withUpdate(state: LiveState, update: SimulationUpdate): LiveState {
  if (state.seq !== null && update.seq <= state.seq && sameRun(state, update)) return state;
  const gap = state.seq === null ? 0 : Math.max(0, update.seq - state.seq - 1);
  const base = sameRun(state, update) ? state : { ...state, samples: [], tasks: [] };
  return {
    ...base,
    seq: update.seq,
    missed: state.missed + gap,
    update,
    samples: extended(base, update),
    tasks: bounded(base.tasks, unseen(base.tasks, update.recent_tasks), KEEP.tasks),
    shifts: update.shifts.slice(-KEEP.shifts),
  };
}

function sameRun(state: LiveState, update: SimulationUpdate): boolean {
  return state.update === null || state.update.status.run_id === update.status.run_id;
}

/** A snapshot replaces what was known; the samples of the same run stay, for the past did happen. */
function withSnapshot(state: LiveState, snapshot: Snapshot): LiveState {
  const kept = sameRun(state, snapshot.update) ? state.samples : [];
  const base: LiveState = { ...state, seq: null, update: null, samples: kept, tasks: snapshot.recent_tasks };
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
