import { describe, expect, it } from "vitest";
import type { ServerMessage, SimulationUpdate } from "@/client/types";
import { reduce, reduceAll } from "@/live/reducer";
import { KEEP, type LiveState, START } from "@/live/state";
import { last, MESSAGES, SNAPSHOT, UPDATES } from "../fixtures";

const hear = (state: LiveState, ...messages: ServerMessage[]): LiveState =>
  reduceAll(
    state,
    messages.map((message) => ({ kind: "message", message })),
  );

const renumbered = (
  update: SimulationUpdate,
  seq: number,
  tasks = update.tasks_processed,
  laterS = 0,
): SimulationUpdate => ({
  ...update,
  seq,
  tasks_processed: tasks,
  at: new Date(Date.parse(update.at) + laterS * 1000).toISOString(),
});

describe("the live state", () => {
  it("follows a real connection without a gap", () => {
    const state = hear(START, ...MESSAGES);
    expect(state.missed).toBe(0);
    expect(state.seq).toBe(last.seq);
    expect(state.update).toEqual(last);
    expect(state.version).toBe(SNAPSHOT.version);
    expect(state.shifts.map((shift) => shift.workload)).toEqual(["cpu_friendly"]);
  });

  it("counts what was skipped when seq jumps, and takes the newer update all the same", () => {
    const before = hear(START, SNAPSHOT);
    const after = hear(before, renumbered(last, SNAPSHOT.seq + 4));
    expect(after.missed).toBe(3);
    expect(after.update?.seq).toBe(SNAPSHOT.seq + 4);
  });

  it("ignores an update that is not newer", () => {
    const state = hear(START, ...MESSAGES);
    expect(hear(state, UPDATES[0] as SimulationUpdate)).toBe(state);
  });

  it("counts no gap across a reconnect, because the snapshot starts afresh", () => {
    const before = hear(START, ...MESSAGES);
    const again = { ...SNAPSHOT, seq: 3, update: renumbered(last, 3, last.tasks_processed + 50, 2) };
    const after = hear(before, again, renumbered(last, 4, last.tasks_processed + 60, 3));
    expect(after.missed).toBe(0);
  });

  it("does not let a restarted service that counts from one again go unheard", () => {
    const before = hear(START, ...MESSAGES);
    const after = hear(before, { ...SNAPSHOT, seq: 1, update: renumbered(last, 1) });
    expect(hear(after, renumbered(last, 2, last.tasks_processed + 9)).seq).toBe(2);
  });

  it("forgets the past of another run", () => {
    const before = hear(START, ...MESSAGES);
    const fresh = { ...last, seq: last.seq + 1, status: { ...last.status, run_id: 99 }, recent_tasks: [] };
    const after = hear(before, fresh);
    expect(after.tasks).toEqual([]);
  });

  it("knows every task once, oldest first", () => {
    const ids = hear(START, ...MESSAGES).tasks.map((task) => task.id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(ids.at(-1)).toBe(last.task?.id);
  });

  it("stays bounded however long the race runs", () => {
    let state = hear(START, SNAPSHOT);
    const notice = MESSAGES.find((message) => message.type === "notification") as ServerMessage;
    const line = MESSAGES.find((message) => message.type === "log") as ServerMessage;
    for (let i = 1; i <= 4000; i += 1) {
      const recent = [{ id: 1_000_000 + i, size: 100, intensity: 0.5, memory: 10, kind: "" }];
      const update = { ...renumbered(last, SNAPSHOT.seq + i, 5000 + i, i / 2), recent_tasks: recent };
      state = hear(state, update, notice, line);
    }
    expect(state.tasks.length).toBe(KEEP.tasks);
    expect(state.notifications.length).toBe(KEEP.notifications);
    expect(state.log.length).toBe(KEEP.log);
  });

  it("changes only what it is told about the connection", () => {
    const state = reduce(START, { kind: "connection", change: { phase: "live" } });
    expect(state.connection).toEqual({ ...START.connection, phase: "live" });
  });
});
