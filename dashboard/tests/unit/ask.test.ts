import { describe, expect, it } from "vitest";
import type { Advice, TaskAdvice, UploadCard } from "@/client/types";
import { uploadLabel } from "@/client/uploads";
import { targetText, withoutOptions } from "@/features/recommend/demand";
import { adviceRows, FIELDS, problemOf, START, taskOf } from "@/features/tasks/askTask";

describe("a task of one's own", () => {
  it("is asked about as it was typed, and what is no such number is told", () => {
    expect(taskOf(START)).toEqual({ size: 800, compute_intensity: 0.7, memory_required: 120 });
    const [size, intensity] = FIELDS;
    if (!size || !intensity) throw new Error("there are no fields");
    expect(problemOf(size, "12.5")).toBeNull();
    expect(problemOf(intensity, "1.2")).toBe("Intensity is a number from 0 to 1.");
    for (const text of ["", " ", "x", "0", "1e9"]) expect(problemOf(size, text)).not.toBeNull();
  });

  it("has the soonest answer first and what would fail last", () => {
    const said = (scheduler: string, predicted_latency: number | null): Advice =>
      ({ scheduler, predicted_latency }) as unknown as Advice;
    const decisions = { a: said("a", null), b: said("b", 2), c: said("c", 1) };
    const rows = adviceRows({ decisions } as unknown as TaskAdvice);
    expect(rows.map((one) => one.scheduler)).toEqual(["c", "b", "a"]);
  });
});

describe("a target and a file are told apart by a person", () => {
  it("the metric has words and the limit its unit", () => {
    expect(targetText("p95_latency_s < 2")).toBe("95 % of tasks are done within 2 s");
    expect(targetText("mean_latency_s<0.25")).toBe("tasks are done on average within 250 ms");
    expect(targetText("energy_j < 3")).toBe("energy_j < 3");
    expect(withoutOptions("More seeds may show it (--seeds). So.")).toBe("More seeds may show it. So.");
  });

  it("files of one name say what they hold and when they came", () => {
    const card = (name: string, at: string, tasks: number) =>
      ({ name, at, trace: { tasks } }) as unknown as UploadCard;
    const all = [
      card("mine.csv", "2026-11-19T10:00:01", 300),
      card("mine.csv", "2026-11-19T10:00:31", 1),
      card("other.csv", "2026-11-19T10:00:00", 5),
    ];
    expect(all.map((one) => uploadLabel(one, all))).toEqual([
      "mine.csv (300 tasks, 19 Nov 2026, 10:00:01)",
      "mine.csv (1 task, 19 Nov 2026, 10:00:31)",
      "other.csv",
    ]);
  });
});
