import { describe, expect, it } from "vitest";
import { contrast, parseHex, type Rgb, readable } from "@/lib/colour";
import { deviceColour, strategyColour, strategyDash, strategyStyle } from "@/lib/palette";
import STRATEGIES from "../../../src/hybrid_ml_scheduler/plans/palette.json";

const WHITE: Rgb = [255, 255, 255];
const NIGHT: Rgb = [13, 21, 38];
const NAMES = [
  "round_robin",
  "random",
  "greedy",
  "hybrid_ml",
  "rl_agent",
  "oracle",
  "cpu_only",
  "gpu_only",
  "my_plugin",
];

/** OKLab, in which equal distances look about equal. */
function oklab(hex: string): [number, number, number] {
  const [r, g, b] = rgb(hex).map((c) =>
    c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4,
  ) as unknown as Rgb;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

const apart = (one: string, other: string): number => {
  const [a, b] = [oklab(one), oklab(other)];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
};

const rgb = (hex: string): Rgb => parseHex(hex) as Rgb;

describe("colours", () => {
  it("stand out from the ground in both themes", () => {
    for (const name of NAMES) {
      expect(contrast(rgb(strategyColour(strategyStyle(name), "dark")), NIGHT)).toBeGreaterThanOrEqual(3);
      expect(contrast(rgb(strategyColour(strategyStyle(name), "light")), WHITE)).toBeGreaterThanOrEqual(3);
    }
    for (let i = 0; i < 9; i += 1)
      expect(contrast(rgb(deviceColour(i, "light")), WHITE)).toBeGreaterThanOrEqual(3);
  });

  it("of devices are no strategy's and no other device's, in both themes", () => {
    for (const theme of ["dark", "light"] as const) {
      const devices = Array.from({ length: 9 }, (_, i) => deviceColour(i, theme));
      const strategies = Object.keys(STRATEGIES).map((name) => strategyColour(strategyStyle(name), theme));
      devices.forEach((one, i) => {
        for (const other of [...strategies, ...devices.slice(i + 1)])
          expect(apart(one, other), `${theme}: ${one} and ${other}`).toBeGreaterThan(0.06);
      });
    }
  });

  it("keep cyan for the forest and purple for the agent", () => {
    expect(strategyColour(strategyStyle("hybrid_ml"), "dark")).toBe("#22d3ee");
    const [red, green, blue] = rgb(strategyColour(strategyStyle("rl_agent"), "dark"));
    expect(blue).toBeGreaterThan(green);
    expect(red).toBeGreaterThan(green);
  });

  it("give a plugin the colour the service names, or a spare one by its name", () => {
    expect(strategyStyle("my_plugin", "#ff8800").colour).toBe("#ff8800");
    expect(strategyStyle("my_plugin")).toEqual(strategyStyle("my_plugin"));
    const spare = strategyStyle("my_plugin");
    expect(strategyStyle("another", spare.colour).dash).toBe(spare.dash);
  });

  it("give no spare one to two strategies while there are others", () => {
    const worn = new Set<string>();
    for (let i = 0; i < 8; i += 1) worn.add(strategyStyle("boom", undefined, worn).colour);
    expect(worn.size).toBe(8);
    expect(worn.has(strategyStyle("boom", undefined, worn).colour)).toBe(true);
  });

  it("tell lines apart without colour", () => {
    expect(strategyDash(strategyStyle("hybrid_ml"))).toBeUndefined();
    expect(strategyDash(strategyStyle("round_robin"))).toBeDefined();
  });

  it("move towards the opposite pole only as far as needed", () => {
    expect(readable([255, 255, 255], NIGHT, 3)).toEqual([255, 255, 255]);
    expect(contrast(readable([20, 20, 20], NIGHT, 4.5), NIGHT)).toBeGreaterThanOrEqual(4.5);
  });
});
