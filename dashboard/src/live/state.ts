/** What the dashboard knows of the race, and how much of the past it keeps. */
import type { LatestTask, LogLine, Notification, Shift, SimulationUpdate } from "@/client/types";

/** Bounds of everything that grows, so that a tab left open for days stays flat. */
export const KEEP = { tasks: 600, notifications: 60, log: 300, shifts: 50 } as const;

export type Phase = "connecting" | "live" | "reconnecting" | "down";

export interface Connection {
  phase: Phase;
  /** Failed attempts since the last open connection. */
  attempt: number;
  /** Wall milliseconds of the next attempt, if one is planned. */
  retryAt: number | null;
  /** How often the connection was lost and came back. */
  reconnects: number;
}

export interface LiveState {
  connection: Connection;
  seq: number | null;
  /** Updates that were made by the service and never reached this tab. */
  missed: number;
  update: SimulationUpdate | null;
  version: string | null;
  tasks: readonly LatestTask[];
  notifications: readonly Notification[];
  log: readonly LogLine[];
  shifts: readonly Shift[];
}

export const START: LiveState = {
  connection: { phase: "connecting", attempt: 0, retryAt: null, reconnects: 0 },
  seq: null,
  missed: 0,
  update: null,
  version: null,
  tasks: [],
  notifications: [],
  log: [],
  shifts: [],
};
