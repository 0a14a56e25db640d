import { describe, expect, it } from "vitest";
import { radiusOf, spokes } from "@/charts/radar";

describe("the radar against the oracle", () => {
  it("never collapses and never leaves its circle, whatever the ratio", () => {
    for (const ratio of [1e-6, 0.1, 1, 30, 1e6]) {
      expect(radiusOf(ratio)).toBeGreaterThan(0);
      expect(radiusOf(ratio)).toBeLessThan(1);
    }
  });

  it("keeps the oracle's ring at half the radius even beside a strategy a thousand times slower", () => {
    const [spoke] = spokes([{ axis: "Time", mine: 1000, oracle: 1 }]);
    expect(spoke?.oracle).toBe(0.5);
    expect(spoke?.radius).toBeGreaterThan(0.99);
  });

  it("puts better than the oracle inside its ring", () => {
    const [spoke] = spokes([{ axis: "Latency", mine: 1, oracle: 2 }]);
    expect(spoke?.ratio).toBe(0.5);
    expect(spoke?.radius).toBeLessThan(0.5);
  });

  it("says that a ratio is unknown instead of inventing one", () => {
    expect(spokes([{ axis: "Cost", mine: null, oracle: 2 }])[0]?.ratio).toBeNull();
    expect(spokes([{ axis: "Cost", mine: 1, oracle: 0 }])[0]?.ratio).toBeNull();
  });
});
