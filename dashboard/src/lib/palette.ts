/** Colours of strategies and devices. Cyan is the forest, purple the agent, gold the oracle, everywhere. */

import shared from "../../../src/hybrid_ml_scheduler/experiments/palette.json";
import { parseHex, type Rgb, readable, toHex } from "./colour";
import type { Theme } from "./theme";

/** The very table that plots and reports use; a Python test holds it apart for every kind of colour blindness. */
const STYLES: Readonly<Record<string, { colour: string; dash: string }>> = shared;

const SPARE = ["#0ea5e9", "#84cc16", "#f97316", "#14b8a6", "#8b5cf6", "#eab308", "#64748b", "#ec4899"];

const DEVICES = [
  "#ffb347",
  "#22d3ee",
  "#4f8cff",
  "#a874ff",
  "#2fd6a0",
  "#f48fb1",
  "#c3e88d",
  "#9ad1d4",
  "#e3e36a",
];

const GROUNDS: Record<Theme, Rgb> = { dark: [13, 21, 38], light: [255, 255, 255] };

function hashed(name: string): number {
  let sum = 7;
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) >>> 0;
  return sum;
}

function fitted(hex: string, theme: Theme): string {
  const rgb = parseHex(hex);
  return rgb ? toHex(readable(rgb, GROUNDS[theme], theme === "light" ? 3.6 : 3)) : hex;
}

/** A strategy's colour: its own, the one the service names for a plugin, or one derived from its name. */
export function strategyColour(name: string, theme: Theme, offered?: string): string {
  const known = STYLES[name]?.colour;
  const own = offered && parseHex(offered) ? offered : undefined;
  return fitted(known ?? own ?? (SPARE[hashed(name) % SPARE.length] as string), theme);
}

const DASHES: Readonly<Record<string, string>> = { dashed: "7 4", dotted: "2 4", dashdot: "8 4 2 4" };

/** The dash of a strategy's line, so that lines can be told apart without colour; undefined is a full line. */
export function strategyDash(name: string): string | undefined {
  return DASHES[STYLES[name]?.dash ?? "solid"];
}

/** A device's colour by its place: the CPU first, then the GPUs. */
export function deviceColour(index: number, theme: Theme): string {
  return fitted(DEVICES[index % DEVICES.length] as string, theme);
}

/** Where a task went, in one glance. */
export function placementColour(place: "cpu" | "gpu" | "split", theme: Theme): string {
  return { cpu: deviceColour(0, theme), gpu: deviceColour(1, theme), split: deviceColour(3, theme) }[place];
}
