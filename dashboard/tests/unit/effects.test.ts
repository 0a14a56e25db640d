import { describe, expect, it } from "vitest";
import type { OtherDecision } from "@/client/types";
import { change, placeText, regretSentence } from "@/features/audit/effects";
import { shapesOf } from "@/features/audit/shapes";

const other = (device: string, gpu_fraction: number): OtherDecision => ({
  device,
  gpu_fraction,
  latency_s: 1,
  latency_change_s: -0.5,
  others_change_s: 0,
  total_change_s: -0.5,
  makespan_s: 10,
});

describe("the effect of another decision", () => {
  it("has a sign, and says so where there is none or nothing is known", () => {
    expect([0.0125, -3, 0, null].map(change)).toEqual(["+12.5 ms", "−3.00 s", "±0", "–"]);
  });
  it("names the device, and the share where the task is cut", () => {
    expect(placeText(other("gpu_1", 1))).toBe("GPU 1");
    expect(placeText(other("cpu+gpu_1", 0.25))).toBe("CPU + GPU 1, 25 % on the GPU");
  });
  it("says what would have been saved, or that nothing would", () => {
    expect(regretSentence(2, other("cpu", 0))).toBe(
      "With CPU all tasks together would have been done 2.00 s sooner.",
    );
    expect(regretSentence(0, other("cpu", 0))).toContain("No other decision");
  });
});

describe("reasons in sentences", () => {
  it("are told as sentences, not as braces and quotes", () => {
    const [shape] = shapesOf({ belief: { cpu: "believed 2 s", gpu: "believed 1 s" } });
    expect(shape).toEqual({
      kind: "words",
      key: "belief",
      lines: [
        { name: "cpu", text: "believed 2 s" },
        { name: "gpu", text: "believed 1 s" },
      ],
    });
  });
});
