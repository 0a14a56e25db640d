import { describe, expect, it } from "vitest";
import { contrast, parseHex, type Rgb, readable } from "@/lib/colour";
import { deviceColour, strategyColour, strategyDash, strategyStyle } from "@/lib/palette";

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
