import { describe, expect, it } from "vitest";
import type { Comparison } from "@/client/types";
import { scopeWords } from "@/features/tasks/scope";
import { leadOf } from "@/lib/lead";
import { metricCard } from "@/lib/metrics";
import { windowKey, windowOf, windowWords } from "@/lib/window";
import { last, STATS } from "../fixtures";

const base = last.comparison[0] as Comparison;

function row(name: string, changes: Partial<Comparison>): Comparison {
  return { ...base, name, tasks: 400, cpu_load: 0.3, gpu_load: 0.2, ...changes };
}

const SPLITTER = row("hybrid_ml", {
  avg_latency: 0.514,
  avg_time: 0.05,
  decisions: { cpu: 0, gpu: 0, split: 400 },
  cpu_load: 1.31,
  avg_gpu_fraction: 0.8,
});
const QUICK = row("frugal_finish", {
  avg_latency: 0.0503,
  avg_time: 0.05,
  decisions: { cpu: 100, gpu: 200, split: 100 },
  avg_gpu_fraction: 0.6,
});
const MIDDLE = row("greedy", { avg_latency: 0.066, avg_time: 0.06 });

const label = (name: string): string => name.replaceAll("_", " ");
const said = (rows: readonly Comparison[], metric = "latency", words = "since the last shift") =>
  leadOf(rows, metricCard(metric), words, label);

describe("the sentence about who leads", () => {
  it("names the leader, the next one and by how much, and says where the last one's tasks queue", () => {
    expect(said([SPLITTER, MIDDLE, QUICK])).toEqual({
      who: "frugal finish leads since the last shift: latency 50.3 ms; next is greedy with 66.0 ms (+31 %).",
      why: "Its tasks wait 300 µs where those of hybrid ml wait 464 ms: with hybrid ml every task is split and its CPU is the queue (1.31 s of work for every second).",
    });
  });

  it("says that tasks run longer where waiting is not the reason", () => {
    const slow = row("slow", {
      avg_latency: 0.2503,
      avg_time: 0.25,
      decisions: { cpu: 390, gpu: 5, split: 5 },
    });
    expect(said([QUICK, slow]).why).toBe(
      "Its tasks run 50.0 ms where those of slow run 250 ms: there 98 % of its tasks stay on the CPU.",
    );
  });

  it("says both where both differ", () => {
    const both = row("both", {
      avg_latency: 0.2503,
      avg_time: 0.15,
      decisions: { cpu: 0, gpu: 400, split: 0 },
    });
    expect(said([QUICK, both]).why).toBe(
      "Its tasks wait 300 µs and run 50.0 ms; those of both wait 100 ms and run 150 ms: with both every task goes to a GPU alone.",
    );
  });

  it("says that even the leader cannot keep up", () => {
    const jammed = row("best", { avg_latency: 30, avg_time: 0.5, gpu_load: 1.2, cpu_load: 0.9 });
    const worse = row("worse", { avg_latency: 60, avg_time: 0.5, gpu_load: 1.6 });
    expect(said([jammed, worse]).why).toMatch(/Even so its GPUs each get 1\.20 s of work for every second/);
  });

  it("names nobody while a strategy that lets tasks wait could come to less", () => {
    const behind = row("rl_hold", {
      tasks: 300,
      finished: 711,
      waiting: 1982,
      is_behind: true,
      avg_latency: null,
      avg_time: null,
      at_least: { avg_latency: 0.04 },
      undecided: [],
    });
    const open = [QUICK, MIDDLE, SPLITTER].map((one) => ({ ...one, undecided: ["avg_latency"] }));
    expect(said([behind, ...open]).who).toBe(
      "Nobody leads in latency since the last shift: tasks wait with rl hold (1,982), which may come to less. Of those that finished the same tasks, frugal finish has the least: 50.3 ms; next is greedy with 66.0 ms.",
    );
    expect(said([behind]).who).toBe(
      "Nobody leads in latency since the last shift: tasks wait with rl hold (1,982), which may come to less.",
    );
    const between = { ...behind, at_least: { avg_latency: 0.06 } };
    expect(said([between, QUICK, { ...MIDDLE, undecided: ["avg_latency"] }]).who).toBe(
      "frugal finish leads since the last shift: latency 50.3 ms; next of those that finished the same tasks is greedy with 66.0 ms (+31 %). Besides, tasks wait with rl hold (1,982), which cannot come to less.",
    );
  });

  it("names nobody where too many tasks are not finished by all", () => {
    const open = [QUICK, MIDDLE].map((one) => ({ ...one, undecided: ["avg_latency"] }));
    expect(said(open).who).toBe(
      "Nobody leads in latency since the last shift: too many tasks are not finished by every strategy yet.",
    );
  });

  it("calls equal values level, whether all or some", () => {
    const twin = { ...QUICK, name: "twin", avg_latency: 0.0504 };
    expect(said([QUICK, twin])).toEqual({
      who: "Both strategies are level in latency since the last shift: 50.3 ms.",
      why: "",
    });
    expect(said([QUICK, twin, SPLITTER]).who).toBe(
      "frugal finish and twin are level at the head since the last shift: latency 50.3 ms, within 0.5 %.",
    );
  });

  it("speaks of all that are level at the head, and says whose device is the queue", () => {
    const twin = { ...QUICK, name: "twin", avg_latency: 0.0504, avg_gpu_fraction: 0.62 };
    expect(said([QUICK, twin, SPLITTER]).why).toBe(
      "Their tasks wait 300 µs to 400 µs where those of hybrid ml wait 464 ms: with hybrid ml every task is split and its CPU is the queue (1.31 s of work for every second).",
    );
    const jammed = { gpu_load: 1.2, cpu_load: 0.9 };
    expect(said([{ ...QUICK, ...jammed }, { ...twin, ...jammed }, SPLITTER]).why).toMatch(
      /Even so with frugal finish the GPUs each get 1\.20 s of work for every second, so the queue grows\.$/,
    );
    const dear = { ...SPLITTER, avg_energy: 9 };
    const cheap = [QUICK, twin].map((one) => ({ ...one, avg_energy: 1 }));
    expect(said([...cheap, dear], "energy").why).toBe(
      "They give 60 % to 62 % of the work to GPUs, hybrid ml 80 %.",
    );
  });

  it("names who is ahead with queues where only running counts", () => {
    const oracle = row("oracle", { avg_time: 0.04, avg_latency: 9, tasks: 400 });
    expect(said([oracle, QUICK], "time").why).toBe(
      "Queues do not count here: with them, frugal finish is ahead (50.3 ms from arrival to finish, oracle 9.00 s).",
    );
  });

  it("gives no reason for a handful of tasks", () => {
    const few = [SPLITTER, QUICK].map((one) => ({ ...one, tasks: 9 }));
    expect(said(few).why).toBe("These are too few tasks to say why.");
  });

  it("has nothing to say without tasks, and does not race one against itself", () => {
    expect(said([{ ...QUICK, tasks: 0 }])).toEqual({
      who: "No task has finished since the last shift.",
      why: "",
    });
    expect(said([QUICK]).who).toBe("frugal finish races alone since the last shift: latency 50.3 ms.");
  });

  it("holds for what a real service said, in every metric", () => {
    for (const metric of ["time", "latency", "energy", "cost", "makespan"]) {
      const { who } = said(last.comparison, metric, windowWords("run", last.tasks_processed));
      expect(who).toMatch(/over the whole run \([\d,]+ tasks\)/);
      expect(who).not.toMatch(/undefined|NaN|–/);
    }
  });
});

describe("the window of a comparison", () => {
  it("is since the last shift unless asked otherwise, and the whole run where there was none", () => {
    expect(windowKey(null, true)).toBe("shift");
    expect(windowKey(null, false)).toBe("run");
    expect(windowKey("shift", false)).toBe("run");
    expect(windowKey("latest", true)).toBe("latest");
    expect(windowKey("5000", true)).toBe("shift");
  });

  it("gives the very rows of that window, and the update's own for the whole run", () => {
    expect(windowOf(last, "shift").comparison).toBe(last.windows.shift?.comparison);
    expect(windowOf(last, "latest").name).toBe("latest");
    const run = windowOf(last, "run");
    expect(run.comparison).toBe(last.comparison);
    expect(run.tasks).toBe((run.last_task_id ?? 0) - (run.first_task_id ?? 0) + 1);
  });

  it("says of a window too long to be read whole what is left out", () => {
    const part = { ...STATS, covers: "shift" as const, tasks: 10_000, window_tasks: 45_300 };
    expect(scopeWords(part)).toBe("the latest 10,000 tasks of 45,300 since the last shift");
    expect(scopeWords({ ...part, tasks: 412, window_tasks: 412 })).toBe("the 412 tasks since the last shift");
    expect(scopeWords({ ...part, covers: "run", tasks: 9, window_tasks: 9 })).toBe("the 9 tasks of this run");
    expect(scopeWords(undefined)).toBe("the tasks so far");
  });
});
