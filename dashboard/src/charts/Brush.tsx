import { useEffect, useRef, useState } from "react";
import { pointAt, type Stretch, usePointed, type Zoom } from "@/lib/along";
import { ZoomBar } from "./ZoomBar";

export interface BrushProps {
  zoom: Zoom;
  whole: Stretch;
  label: string;
  /** Where the axis begins, how far it ends before the right edge, and the values of its ends. */
  left: number;
  right: number;
  ends: Stretch;
  top: number;
  foot: number;
}

/** A drag shorter than this is a click that shook. */
const LEAST_BRUSH_PX = 6;

/** The share of the axis under the pointer, 0 to 1; null outside of it. */
function shareAt(event: MouseEvent, area: HTMLElement): number | null {
  const box = area.getBoundingClientRect();
  const share = (event.clientX - box.left) / Math.max(1, box.width);
  const inside = event.clientY >= box.top && event.clientY <= box.bottom && share >= 0 && share <= 1;
  return inside ? share : null;
}

/** The crosshair of the view and the brush, over a chart that draws neither: the chart keeps its own tooltip, and is not drawn anew. */
export function Brush({ zoom, whole, label, left, right, ends, top, foot }: BrushProps) {
  const area = useRef<HTMLDivElement>(null);
  const at = usePointed(zoom.unit);
  const [drawn, setDrawn] = useState<Stretch | null>(null);
  const begun = useRef<number | null>(null);
  const [low, high] = ends;
  const { unit, show } = zoom;

  useEffect(() => {
    const own = area.current;
    const host = own?.parentElement;
    if (!own || !host) return;
    const at = (share: number): number => low + share * (high - low);
    const end = (): void => {
      begun.current = null;
      setDrawn(null);
    };
    const move = (event: MouseEvent): void => {
      const share = shareAt(event, own);
      pointAt(unit, share === null ? null : at(share), host);
      if (begun.current !== null && share !== null) setDrawn([begun.current, share]);
    };
    const press = (event: MouseEvent): void => {
      begun.current = shareAt(event, own);
    };
    const release = (event: MouseEvent): void => {
      const [from, to] = [begun.current, shareAt(event, own)];
      end();
      if (from === null || to === null) return;
      if (Math.abs(to - from) * own.clientWidth < LEAST_BRUSH_PX) return;
      show([at(Math.min(from, to)), at(Math.max(from, to))]);
    };
    const leave = (): void => {
      end();
      pointAt(unit, null);
    };
    const all = (): void => show(null);
    const hands = { mousemove: move, mousedown: press, mouseup: release, mouseleave: leave, dblclick: all };
    for (const [name, hand] of Object.entries(hands)) host.addEventListener(name, hand as EventListener);
    return () => {
      for (const [name, hand] of Object.entries(hands)) host.removeEventListener(name, hand as EventListener);
    };
  }, [low, high, unit, show]);

  const cross = at === null ? null : (at - low) / (high - low || 1);
  return (
    <>
      <div
        ref={area}
        aria-hidden="true"
        className="pointer-events-none absolute"
        style={{ left, right, top, bottom: foot }}
      >
        {cross !== null && cross >= 0 && cross <= 1 && (
          <span
            className="absolute inset-y-0 border-l border-dashed border-muted"
            style={{ left: `${cross * 100}%` }}
            data-crosshair=""
          />
        )}
        {drawn && (
          <span
            className="absolute inset-y-0 bg-ml/20"
            style={{ left: `${Math.min(...drawn) * 100}%`, width: `${Math.abs(drawn[1] - drawn[0]) * 100}%` }}
          />
        )}
      </div>
      <div className="absolute bottom-0" style={{ left: left - 6 }}>
        <ZoomBar zoom={zoom} whole={whole} label={label} />
      </div>
    </>
  );
}
