/** Where widgets stand: defaults, what a person made of them, and moves without a mouse. */
import { type Layout, type LayoutItem, verticalCompactor } from "react-grid-layout/core";

export const COLUMNS = 12;
const KEY = "hms.layout.";
const HIDDEN = "hms.hidden.";

export type Nudge = "left" | "right" | "up" | "down" | "wider" | "narrower" | "taller" | "shorter";

const STEPS: Record<Nudge, { dx?: number; dy?: number; dw?: number; dh?: number }> = {
  left: { dx: -1 },
  right: { dx: 1 },
  up: { dy: -1 },
  down: { dy: 1 },
  wider: { dw: 1 },
  narrower: { dw: -1 },
  taller: { dh: 1 },
  shorter: { dh: -1 },
};

/** The key pressed on a widget's handle as a nudge: arrows move, Shift and arrows resize. */
export function nudgeOfKey(key: string, shift: boolean): Nudge | null {
  const moves: Record<string, Nudge> = {
    ArrowLeft: "left",
    ArrowRight: "right",
    ArrowUp: "up",
    ArrowDown: "down",
  };
  const sizes: Record<string, Nudge> = {
    ArrowLeft: "narrower",
    ArrowRight: "wider",
    ArrowUp: "shorter",
    ArrowDown: "taller",
  };
  return (shift ? sizes : moves)[key] ?? null;
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

function resized(item: LayoutItem, dw: number, dh: number): LayoutItem {
  const w = clamp(item.w + dw, item.minW ?? 2, COLUMNS);
  return { ...item, w, x: Math.min(item.x, COLUMNS - w), h: clamp(item.h + dh, item.minH ?? 3, 40) };
}

/** The row to go to: past the whole neighbour above or below, for a step of one row would be undone by compaction. */
function targetRow(layout: Layout, item: LayoutItem, dy: number): number {
  const beside = layout.filter(
    (other) => other.i !== item.i && other.x < item.x + item.w && item.x < other.x + other.w,
  );
  if (dy < 0) return Math.max(0, ...beside.map((other) => other.y).filter((y) => y < item.y));
  const below = beside.filter((other) => other.y >= item.y + item.h).sort((a, b) => a.y - b.y)[0];
  return dy > 0 && below ? below.y + below.h : item.y;
}

/** Everything in the way of the moved widget goes below it; compaction closes the holes. */
function settled(layout: Layout, moved: LayoutItem): Layout {
  const others = layout.filter((item) => item.i !== moved.i);
  const apart = others.map((item) => {
    const meets = item.x < moved.x + moved.w && moved.x < item.x + item.w;
    return meets && item.y + item.h > moved.y
      ? { ...item, y: Math.max(item.y, moved.y) + moved.h }
      : { ...item };
  });
  const places = verticalCompactor.compact([{ ...moved }, ...apart], COLUMNS);
  return layout.map((item) => places.find((place) => place.i === item.i) ?? item);
}

/** The layout after a nudge; everything else makes room. */
export function nudged(layout: Layout, id: string, nudge: Nudge): Layout {
  const item = layout.find((entry) => entry.i === id);
  if (!item) return layout;
  const { dx = 0, dy = 0, dw = 0, dh = 0 } = STEPS[nudge];
  if (dw !== 0 || dh !== 0) return settled(layout, resized(item, dw, dh));
  return settled(layout, {
    ...item,
    x: clamp(item.x + dx, 0, COLUMNS - item.w),
    y: targetRow(layout, item, dy),
  });
}

/** Stored places for widgets that still exist, defaults for the rest; anything odd is ignored. */
export function merged(defaults: Layout, stored: unknown): Layout {
  if (!Array.isArray(stored)) return defaults;
  return defaults.map((item) => {
    const found = stored.find((other: unknown) => (other as LayoutItem | null)?.i === item.i) as
      | LayoutItem
      | undefined;
    const whole = found && [found.x, found.y, found.w, found.h].every((n) => Number.isInteger(n) && n >= 0);
    return whole ? { ...item, x: found.x, y: found.y, w: found.w, h: found.h } : item;
  });
}

export function readLayout(view: string, defaults: Layout): Layout {
  try {
    return merged(defaults, JSON.parse(localStorage.getItem(KEY + view) ?? "null"));
  } catch {
    return defaults;
  }
}

export function rememberLayout(view: string, layout: Layout): void {
  const places = layout.map(({ i, x, y, w, h }) => ({ i, x, y, w, h }));
  localStorage.setItem(KEY + view, JSON.stringify(places));
}

/** The widgets that a person put aside; never all of them, for an empty view helps nobody. */
export function readHidden(view: string, defaults: Layout): ReadonlySet<string> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(HIDDEN + view) ?? "[]");
    const known = defaults.map((item) => item.i).filter((id) => Array.isArray(stored) && stored.includes(id));
    return new Set(known.length < defaults.length ? known : []);
  } catch {
    return new Set();
  }
}

export function rememberHidden(view: string, hidden: ReadonlySet<string>): void {
  localStorage.setItem(HIDDEN + view, JSON.stringify([...hidden]));
}

export function forgetLayout(view: string): void {
  localStorage.removeItem(KEY + view);
  localStorage.removeItem(HIDDEN + view);
}
