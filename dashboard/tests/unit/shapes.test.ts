import { describe, expect, it } from "vitest";
import { shapesOf, spokenKey } from "@/features/audit/shapes";

describe("a strategy's reasons", () => {
  it("are drawn by their shape, whatever a plugin says", () => {
    const shapes = shapesOf({
      reason: "shown elsewhere",
      exploring: false,
      gpu_fraction: 0.71234,
      q_values: { cpu: -1.5, gpu_0: -0.5 },
      tree_spread: [0.1, 0.2, 0.3],
      grid: [
        { gpu_fraction: 0, execution_s: 3 },
        { gpu_fraction: 0.5, execution_s: 1 },
        { gpu_fraction: 1, execution_s: 2 },
      ],
    });
    expect(shapes.map((shape) => [shape.kind, shape.key])).toEqual([
      ["fact", "exploring"],
      ["fact", "gpu_fraction"],
      ["bars", "q_behind"],
      ["bars", "tree_spread"],
      ["curve", "grid"],
    ]);
  });

  it("show values of actions by how far each is behind the best", () => {
    const [bars] = shapesOf({ q_values: { cpu: -1.5, gpu_0: -0.5, gpu_1: -0.75 } });
    expect(bars).toMatchObject({
      note: "best: GPU 0, Q −0.500",
      entries: [
        { name: "cpu", value: 1 },
        { name: "gpu_0", value: 0 },
        { name: "gpu_1", value: 0.25 },
      ],
    });
  });

  it("keep the settings in force apart, for each has a unit of its own", () => {
    const shapes = shapesOf({ setting: { splits: true, price: 0, low: null, ratio: 2, patience: 1 } });
    expect(shapes.map((shape) => shape.kind === "fact" && [shape.key, shape.text])).toEqual([
      ["splits", "yes"],
      ["price", "0"],
      ["low", "–"],
      ["ratio", "2"],
      ["patience", "1"],
    ]);
  });

  it("never break on odd values", () => {
    const shapes = shapesOf({ nothing: null, nested: { deep: { x: 1 } }, empty: [], words: ["a", "b"] });
    expect(shapes.every((shape) => shape.kind === "fact")).toBe(true);
  });

  it("speak units", () => {
    expect(spokenKey("cpu_backlog_s")).toBe("cpu backlog (s)");
    expect(spokenKey("q_values")).toBe("Q values");
    expect(spokenKey("s")).toBe("s");
  });
});
