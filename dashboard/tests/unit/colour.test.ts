import { describe, expect, it } from "vitest";
import { contrast, parseHex, type Rgb, readable } from "@/lib/colour";
import { deviceColour, strategyColour, strategyDash } from "@/lib/palette";

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
      expect(contrast(rgb(strategyColour(name, "dark")), NIGHT)).toBeGreaterThanOrEqual(3);
      expect(contrast(rgb(strategyColour(name, "light")), WHITE)).toBeGreaterThanOrEqual(3);
    }
    for (let i = 0; i < 9; i += 1)
      expect(contrast(rgb(deviceColour(i, "light")), WHITE)).toBeGreaterThanOrEqual(3);
  });

  it("keep cyan for the forest and purple for the agent", () => {
    expect(strategyColour("hybrid_ml", "dark")).toBe("#22d3ee");
    const [red, green, blue] = rgb(strategyColour("rl_agent", "dark"));
    expect(blue).toBeGreaterThan(green);
    expect(red).toBeGreaterThan(green);
  });

  it("give a plugin the colour the service names, or always the same spare one", () => {
    expect(strategyColour("my_plugin", "dark", "#ff8800")).toBe("#ff8800");
    expect(strategyColour("my_plugin", "dark")).toBe(strategyColour("my_plugin", "dark"));
  });

  it("tell lines apart without colour", () => {
    expect(strategyDash("hybrid_ml")).toBeUndefined();
    expect(strategyDash("round_robin")).toBeDefined();
  });

  it("move towards the opposite pole only as far as needed", () => {
    expect(readable([255, 255, 255], NIGHT, 3)).toEqual([255, 255, 255]);
    expect(contrast(readable([20, 20, 20], NIGHT, 4.5), NIGHT)).toBeGreaterThanOrEqual(4.5);
  });
});
