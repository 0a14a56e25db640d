import { describe, expect, it } from "vitest";
import { gangsOf, gangWords, runsOf } from "@/charts/gangs";
import { lanesOf, motionWords, partUnder, sceneOf, viewOf } from "@/charts/nodeGantt";
import type { Comparison, NodeMotion, StrategyMotion } from "@/client/types";
import { burdenOf, heaviest } from "@/features/node/load";
import { pairOf, spansOf } from "@/features/node/pair";
import { spanText } from "@/lib/format";

const STRATEGY: StrategyMotion = {
  scheduler: "greedy",
  parts: { device: [0, 1, 1], task_id: [7, 7, 8], begin_s: [8, 9, 11], end_s: [10.5, 10.2, 12] },
  left_out: 0,
  waiting: [0, 1],
  waiting_now: [0, 1],
  free_in_s: [0.5, 208],
};
const MOTION: NodeMotion = {
  run_id: 1,
  now_s: 10,
  begin_s: 0,
  end_s: 20,
  devices: ["cpu", "gpu_0"],
  times_s: [0, 10],
  strategies: [STRATEGY],
  is_complete: true,
};
const SIZE = { width: 450, height: 134 };

describe("the node in motion", () => {
  it("says of every device for how long it is busy and how many wait", () => {
    expect(motionWords(MOTION, STRATEGY)).toBe("CPU busy for 500 ms; GPU 0 busy for 208 s, 1 waiting");
    expect(motionWords(MOTION, { ...STRATEGY, free_in_s: [0, 0], waiting_now: [0, 0] })).toBe(
      "CPU free; GPU 0 free",
    );
  });

  it("finds the part under the pointer, on its own device only", () => {
    const scene = sceneOf(viewOf(MOTION, null), 2, SIZE);
    const [onCpu, onGpu] = [scene.yOf(0) + 5, scene.yOf(1) + 5];
    expect(partUnder(scene, STRATEGY, { x: scene.x(9.5), y: onCpu })).toBe(0);
    expect(partUnder(scene, STRATEGY, { x: scene.x(9.5), y: onGpu })).toBe(1);
    expect(partUnder(scene, STRATEGY, { x: scene.x(11.5), y: onGpu })).toBe(2);
    expect(partUnder(scene, STRATEGY, { x: scene.x(11.5), y: onCpu })).toBeNull();
  });

  it("lays parts that run side by side on one device below each other, and finds each of them", () => {
    const parts = { device: [0, 0, 0, 1], task_id: [1, 2, 3, 4], begin_s: [0, 1, 4, 0], end_s: [4, 3, 6, 9] };
    expect(lanesOf(parts)).toEqual({ lane: [0, 1, 0, 0], lanes: [2, 1] });
    const scene = sceneOf(viewOf(MOTION, null), 2, SIZE);
    const at = (share: number) => scene.yOf(0) + 3 + share * (scene.rowHeight - 6);
    const strategy = { ...STRATEGY, parts };
    expect(partUnder(scene, strategy, { x: scene.x(2), y: at(0.25) })).toBe(0);
    expect(partUnder(scene, strategy, { x: scene.x(2), y: at(0.75) })).toBe(1);
    expect(partUnder(scene, strategy, { x: scene.x(5), y: at(0.75) })).toBeNull();
    expect(partUnder(scene, strategy, { x: scene.x(5), y: at(0.25) })).toBe(2);
  });

  it("knows a task that holds several GPUs at once as one gang, and names its GPUs", () => {
    const parts = {
      device: [4, 1, 2, 0, 3, 1, 2],
      task_id: [5, 5, 5, 6, 6, 7, 7],
      begin_s: [1, 1, 1, 1, 1, 4, 6],
      end_s: [3, 3, 3, 2, 2, 5, 7],
    };
    // Task 6 is a split of the CPU and one GPU, and task 7 was tried again on another GPU: neither is a gang.
    expect(gangsOf(parts)).toEqual([{ taskId: 5, parts: [1, 2, 0], devices: [1, 2, 4] }]);
    expect(gangWords([1, 2, 4])).toBe("GPUs 0–1, 3 together");
    expect(runsOf([1, 2, 3, 5, 7, 8])).toEqual([
      [1, 3],
      [5, 5],
      [7, 8],
    ]);
  });

  it("shows a zoom that is counted from now, and knows the second under the pointer", () => {
    expect(viewOf(MOTION, [-2, 3])).toEqual([8, 13]);
    const scene = sceneOf(viewOf(MOTION, [-2, 3]), 2, SIZE);
    expect(scene.secondAt(scene.x(11))).toBeCloseTo(11);
  });

  it("calls more work than a second holds an overload", () => {
    expect([0.5, 0.9, 1, 1.01].map(burdenOf)).toEqual(["calm", "busy", "busy", "over"]);
    expect(heaviest({ cpu_load: 0.2, gpu_load: 1.3 } as Comparison)).toBe(1.3);
  });

  it("puts a learner beside a simple rule unless asked otherwise, and never one beside itself", () => {
    const racers = ["greedy", "hybrid_ml", "earliest_finish"];
    expect(pairOf(racers, null, null)).toEqual(["hybrid_ml", "earliest_finish"]);
    expect(pairOf(racers, "greedy", "hybrid_ml")).toEqual(["greedy", "hybrid_ml"]);
    expect(pairOf(racers, "gone", "gone")).toEqual(["hybrid_ml", "earliest_finish"]);
    expect(pairOf(["greedy", "random"], null, null)).toEqual(["greedy", "random"]);
    expect(pairOf([], null, null)).toBeNull();
  });

  it("shows seconds of a busy stream, and hours or days of one whose tasks come seldom", () => {
    expect([33, 6, 1, 0].map(spansOf)).toEqual(Array(4).fill([10, 30, 120]));
    expect(spansOf(0.05)).toEqual([600, 1800, 7200]);
    expect(spansOf(0.000_76)).toEqual([36_000, 108_000, 432_000]);
    expect(spansOf(1e-6)).toEqual([864_000, 2_592_000, 10_368_000]);
    expect([30, 120, 1800, 108_000, 2_592_000].map(spanText)).toEqual([
      "30 s",
      "120 s",
      "30 min",
      "30 h",
      "30 d",
    ]);
  });
});
