import { describe, expect, it } from "vitest";
import { presetLabel } from "@/lib/presets";

describe("a workload", () => {
  it("is called the same in all views, and a file keeps its name", () => {
    expect(["cpu_friendly", "gpu_friendly", "mixed", "jobs_cpu.csv", ""].map(presetLabel)).toEqual([
      "CPU-friendly",
      "GPU-friendly",
      "Mixed",
      "jobs_cpu.csv",
      "",
    ]);
  });
});
