import { describe, expect, it } from "vitest";
import type { Advice, TaskAdvice } from "@/client/types";
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
