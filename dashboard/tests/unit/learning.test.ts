import { describe, expect, it } from "vitest";
import type { Adaptation, AdaptedStrategy, Comparison } from "@/client/types";
import { leadSentence, recoveryText, regretRows } from "@/features/learning/adapted";
import { factorEnds, kindsOf, placeOf } from "@/features/learning/beliefs";
import { levelOf, prices } from "@/features/learning/price";

const one = (name: string, after_s: number | null, recovery_tasks: number | null): AdaptedStrategy => ({
  name,
  is_behind: false,
  before_s: null,
  after_s,
  worst_s: null,
  settled_s: null,
  recovery_tasks,
  recovery_s: recovery_tasks === null ? null : recovery_tasks / 10,
});

const found: Adaptation = {
  run_id: 1,
  shift: null,
  shifts: [],
  tasks_per_point: 5,
  last_task_id: 99,
  since_tasks: [-5, 0, 5],
  since_s: [0, 1, 2],
  regret: { greedy: [0.1, null, -0.2], oracle: [0.2, 0.3, 0.4] },
  strategies: [one("oracle", 0.3, 0), one("greedy", 0.5, 20), one("cpu_only", null, null)],
};

describe("who adapted", () => {
  it("leaves a gap where nothing finished, and on a log axis where a loss cannot be drawn", () => {
    expect(regretRows(found, false).map((row) => row.greedy)).toEqual([0.1, null, -0.2]);
    expect(regretRows(found, true).map((row) => row.greedy)).toEqual([0.1, null, null]);
    expect(regretRows(found, true).map((row) => row.x)).toEqual([-5, 0, 5]);
  });
  it("takes what is only rounding for nothing where a logarithm would stretch the axis", () => {
    const tiny = { ...found, regret: { greedy: [1e-16, 4e-8, 6e-8] } };
    expect(regretRows(tiny, true).map((row) => row.greedy)).toEqual([null, null, 6e-8]);
    expect(regretRows(tiny, false).map((row) => row.greedy)).toEqual([1e-16, 4e-8, 6e-8]);
  });
  it("says how long it took in words", () => {
    expect(found.strategies.map(recoveryText)).toEqual(["at once", "20 tasks, 2.00 s", "not yet"]);
  });
  it("names who lost least and who most, and nobody of whom nothing is known", () => {
    const sentence = leadSentence(found, (name) => name);
    expect(sentence).toContain("oracle loses least");
    expect(sentence).toContain("with greedy it is 500 ms");
  });
});

describe("beliefs", () => {
  const cell = (kind: string, believed: number, happened: number) => ({
    kind,
    device: "cpu",
    runs: 3,
    believed,
    happened,
    error: 0.1,
    now: believed,
    low: believed / 2,
    high: believed * 2,
  });
  it("places twice and half equally far from one", () => {
    const ends = [0.25, 4] as const;
    expect(placeOf(1, ends)).toBeCloseTo(50);
    expect(placeOf(2, ends) - 50).toBeCloseTo(50 - placeOf(0.5, ends));
    expect(placeOf(100, ends)).toBe(100);
  });
  it("has ends that hold everything", () => {
    const [low, high] = factorEnds([cell("a", 0.1, 5)]);
    expect(low).toBeLessThan(0.1);
    expect(high).toBeGreaterThan(5);
  });
  it("counts kinds as a person does", () => {
    const cells = ["kind_10", "kind_2", "kind_2"].map((kind) => cell(kind, 1, 1));
    expect(kindsOf({ scheduler: "x", level: "learned", devices: ["cpu"], drifts: 0, cells })).toEqual([
      "kind_2",
      "kind_10",
    ]);
  });
});

describe("the price of not knowing", () => {
  const row = (name: string, avg_latency: number | null) => ({ name, avg_latency }) as Comparison;
  it("takes the level of the run where a name has none", () => {
    expect(levelOf("greedy", "learned")).toEqual(["greedy", "learned"]);
    expect(levelOf("greedy@exact", "learned")).toEqual(["greedy", "exact"]);
  });
  it("is the latency at a level over that of the same strategy told the truth", () => {
    const rows = [
      row("ef", 3),
      row("ef@exact", 2),
      row("ef@nominal", 5),
      row("lone", 7),
      row("new@exact", null),
    ];
    expect(prices(rows, "learned")).toEqual([
      {
        strategy: "ef",
        latency: { learned: 3, exact: 2, nominal: 5 },
        price: { learned: 1.5, nominal: 2.5 },
      },
    ]);
  });
});
