/** A layout as part of an address: which widgets are seen and where they stand. */
import type { Layout } from "react-grid-layout/core";

export interface Arrangement {
  layout: Layout;
  hidden: ReadonlySet<string>;
}

/** `race.0.0.8.11_log.8.7.4.4`: widget, column, row, width, height; what is not named is hidden. */
export function layoutText({ layout, hidden }: Arrangement): string {
  return layout
    .filter((item) => !hidden.has(item.i))
    .map(({ i, x, y, w, h }) => [i, x, y, w, h].join("."))
    .join("_");
}

const WIDEST = 12;
const TALLEST = 40;

/** The arrangement that an address asks for; null where it names no widget of this view as it should. */
export function arrangementOf(text: string | null, defaults: Layout): Arrangement | null {
  const found = new Map<string, readonly [number, number, number, number]>();
  for (const part of (text ?? "").split("_")) {
    const match = /^([a-z][a-z0-9-]*)\.(\d{1,3})\.(\d{1,3})\.(\d{1,2})\.(\d{1,2})$/.exec(part);
    const [, name, ...numbers] = match ?? [];
    const [x = 0, y = 0, w = 0, h = 0] = numbers.map(Number);
    if (name && w >= 1 && x + w <= WIDEST && h >= 1 && h <= TALLEST) found.set(name, [x, y, w, h]);
  }
  const known = defaults.filter((item) => found.has(item.i));
  if (known.length === 0) return null;
  return {
    layout: defaults.map((item) => {
      const [x, y, w, h] = found.get(item.i) ?? [item.x, item.y, item.w, item.h];
      return { ...item, x, y, w: Math.max(w, item.minW ?? 1), h: Math.max(h, item.minH ?? 1) };
    }),
    hidden: new Set(defaults.filter((item) => !found.has(item.i)).map((item) => item.i)),
  };
}
