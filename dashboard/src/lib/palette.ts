/** Colours of strategies and devices. Cyan is the forest, purple the agent, gold the oracle, everywhere. */

import shared from "../../../src/hybrid_ml_scheduler/plans/palette.json";
import spares from "../../../src/hybrid_ml_scheduler/plans/palette_spare.json";
import { parseHex, type Rgb, readable, toHex } from "./colour";
import type { Theme } from "./theme";

export interface Style {
  colour: string;
  dash: string;
}

/** The very tables that plots and reports use; a Python test holds them apart, also for eyes that see fewer colours. */
const STYLES: Readonly<Record<string, Style>> = shared;
const SPARES: readonly Style[] = spares;

/** Muted, so that nobody takes a device for a strategy; a test holds the two sets apart in both themes. */
const DEVICES = [
  "#e69eb8",
  "#207773",
  "#8c6e96",
  "#7579bb",
  "#6e3c14",
  "#7d5986",
  "#404952",
  "#4a6826",
  "#8c4351",
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

const NOBODY: ReadonlySet<string> = new Set();

/** A strategy's style: its own, the one the service gave it, or, where no service knows it, a spare that nobody wears. */
export function strategyStyle(name: string, offered?: string, worn: ReadonlySet<string> = NOBODY): Style {
  const known = STYLES[name];
  if (known) return known;
  if (offered && parseHex(offered))
    return SPARES.find((spare) => spare.colour === offered) ?? { colour: offered, dash: "solid" };
  const place = hashed(name) % SPARES.length;
  const order = [...SPARES.slice(place), ...SPARES.slice(0, place)];
  return order.find((spare) => !worn.has(spare.colour)) ?? (order[0] as Style);
}

export const strategyColour = (style: Style, theme: Theme): string => fitted(style.colour, theme);

const DASHES: Readonly<Record<string, string>> = { dashed: "7 4", dotted: "2 4", dashdot: "8 4 2 4" };

/** The dash of a strategy's line, so that lines can be told apart without colour; undefined is a full line. */
export const strategyDash = (style: Style): string | undefined => DASHES[style.dash];

/** A device's colour by its place: the CPU first, then the GPUs. */
export function deviceColour(index: number, theme: Theme): string {
  return fitted(DEVICES[index % DEVICES.length] as string, theme);
}

/** Where a task went, in one glance. */
export function placementColour(place: "cpu" | "gpu" | "split", theme: Theme): string {
  return { cpu: deviceColour(0, theme), gpu: deviceColour(1, theme), split: deviceColour(3, theme) }[place];
}
