/** One place along the axis of a view that all its charts point at, and one stretch that all of them show. */
import { useCallback, useMemo } from "react";
import { create } from "zustand";
import { useView } from "./url";

/** What an axis counts: simulated seconds from now, from the beginning of the run, tasks, or tasks since a change. Charts of one unit belong together. */
export type Unit = "around" | "simulated" | "task" | "since";

export type Stretch = readonly [number, number];

interface Pointer {
  unit: Unit | null;
  at: number | null;
}

const usePointer = create<Pointer>(() => ({ unit: null, at: null }));

/** `around_-10_4.5`: the unit and the ends of the stretch; null where the address asks for none of this unit. */
export function stretchOf(text: string | null, unit: Unit): Stretch | null {
  const match = /^([a-z]+)_(-?\d+(?:\.\d+)?)_(-?\d+(?:\.\d+)?)$/.exec(text ?? "");
  if (match?.[1] !== unit) return null;
  const [low, high] = [Number(match[2]), Number(match[3])];
  return low < high ? [low, high] : null;
}

export function stretchText(unit: Unit, [low, high]: Stretch): string {
  return `${unit}_${Number(low.toPrecision(6))}_${Number(high.toPrecision(6))}`;
}

/** A stretch within the whole: half as wide, twice as wide, or moved by half its width. */
export function stepped(
  now: Stretch,
  whole: Stretch,
  step: "in" | "out" | "earlier" | "later",
  around: number | null = null,
): Stretch | null {
  const [low, high] = now;
  const width = high - low;
  const centre = around !== null && around >= low && around <= high ? around : (low + high) / 2;
  const wanted = { in: width / 2, out: width * 2, earlier: width, later: width }[step];
  if (wanted >= whole[1] - whole[0]) return null;
  const moved = { in: centre, out: centre, earlier: centre - width / 2, later: centre + width / 2 }[step];
  const begin = Math.min(Math.max(moved - wanted / 2, whole[0]), whole[1] - wanted);
  return [begin, begin + wanted];
}

/** A stretch cut to what there is; all of it where nothing would be left. */
export function within(stretch: Stretch | null, whole: Stretch): Stretch {
  if (!stretch) return whole;
  const [low, high] = [Math.max(stretch[0], whole[0]), Math.min(stretch[1], whole[1])];
  return low < high ? [low, high] : whole;
}

/** The index of the value nearest to a place; the values grow. */
export function nearestIndex(xs: readonly number[], at: number): number {
  let best = 0;
  for (let i = 1; i < xs.length; i += 1)
    if (Math.abs((xs[i] ?? 0) - at) < Math.abs((xs[best] ?? 0) - at)) best = i;
  return best;
}

export interface Zoom {
  unit: Unit;
  /** The stretch that is shown; null is all there is. */
  stretch: Stretch | null;
  show: (stretch: Stretch | null) => void;
}

/** The stretch that all charts of this unit show; it is in the address. */
export function useZoom(unit: Unit): Zoom {
  const [params, change] = useView();
  const text = params.get("zoom");
  const stretch = useMemo(() => stretchOf(text, unit), [text, unit]);
  const show = useCallback(
    (wanted: Stretch | null) => change({ zoom: wanted === null ? null : stretchText(unit, wanted) }),
    [change, unit],
  );
  return { unit, stretch, show };
}

/** Where the pointer is, on whichever chart of this unit. */
export function usePointed(unit: Unit): number | null {
  return usePointer((s) => (s.unit === unit ? s.at : null));
}

export const pointedAt = (unit: Unit): number | null => {
  const { unit: of, at } = usePointer.getState();
  return of === unit ? at : null;
};

/** The chart under the pointer. */
let chart: Element | null = null;

/** A chart that is drawn anew under the pointer never hears that the pointer left it; the window hears every move. */
function forgetOutside(event: MouseEvent): void {
  if (chart?.isConnected && event.target instanceof Node && chart.contains(event.target)) return;
  window.removeEventListener("mousemove", forgetOutside);
  chart = null;
  usePointer.setState({ at: null });
}

/** Let all charts of this unit point at a place, or at none, until the pointer is elsewhere than on this chart. */
export function pointAt(unit: Unit, at: number | null, on: Element | null = null): void {
  usePointer.setState({ unit, at });
  if (at === null || on === null) return;
  chart = on;
  window.addEventListener("mousemove", forgetOutside);
}
