import { type ReactNode, useCallback, useMemo, useState } from "react";
import GridLayout, { type Layout, type LayoutItem } from "react-grid-layout";
import "react-grid-layout/css/styles.css";
import { useSize } from "@/lib/useSize";
import { spoken } from "@/lib/useStrategy";
import { LayoutBar } from "./LayoutBar";
import { COLUMNS, type Nudge, nudged } from "./layout";
import { useArrangement } from "./useArrangement";
import { WidgetContext } from "./WidgetContext";

export interface WidgetSpec {
  place: LayoutItem;
  /** What it is called where it can be added again; its name with a capital where nothing is said. */
  title?: string;
  body: ReactNode;
  /** In one column the widget is as tall as its content instead of scrolling inside. */
  grows?: boolean;
}

export interface WidgetGridProps {
  view: string;
  widgets: readonly WidgetSpec[];
}

/** Below this width there is one column and nothing to drag. */
const ONE_COLUMN = 860;
const ROW = 40;
const MARGIN = 14;

interface Stacked {
  widgets: readonly WidgetSpec[];
  layout: Layout;
  hide: (id: string) => void;
}

function OneColumn({ widgets, layout, hide }: Stacked) {
  const placeOf = (id: string): LayoutItem | undefined => layout.find((item) => item.i === id);
  const ordered = [...widgets].sort((a, b) => {
    const [one, other] = [placeOf(a.place.i) ?? a.place, placeOf(b.place.i) ?? b.place];
    return one.y - other.y || one.x - other.x;
  });
  return (
    <div className="flex flex-col gap-3">
      {ordered.map(({ place, body, grows }) => (
        <div key={place.i} style={grows ? {} : { height: place.h * ROW + (place.h - 1) * MARGIN * 0.6 }}>
          <WidgetContext value={{ id: place.i, nudge: null, hide }}>{body}</WidgetContext>
        </div>
      ))}
    </div>
  );
}

/** Widgets that can be dragged, resized, moved by keyboard, hidden and added; how is remembered for each view. */
export function WidgetGrid({ view, widgets }: WidgetGridProps) {
  const defaults = useMemo(() => widgets.map((widget) => widget.place), [widgets]);
  const arranged = useArrangement(view, defaults);
  const [said, say] = useState("");
  const [ref, size] = useSize<HTMLDivElement>();
  const { layout, hidden, move, hide } = arranged;
  const shown = widgets.filter(({ place }) => !hidden.has(place.i));
  const seen = layout.filter((item) => !hidden.has(item.i));
  const titleOf = (id: string): string => widgets.find(({ place }) => place.i === id)?.title ?? spoken(id);

  const nudge = useCallback(
    (id: string, step: Nudge) => {
      const next = nudged(seen, id, step);
      move(next);
      const item = next.find((entry) => entry.i === id);
      if (item) say(`Moved: column ${item.x + 1}, row ${item.y + 1}, ${item.w} wide, ${item.h} high`);
    },
    [move, seen],
  );
  const away = (id: string): void => {
    hide(id);
    say(`${titleOf(id)} is hidden; the buttons below the widgets bring it back`);
  };
  return (
    <div ref={ref} data-view={view}>
      <p role="status" className="sr-only">
        {said}
      </p>
      {size.width > 0 && size.width < ONE_COLUMN && <OneColumn widgets={shown} layout={layout} hide={away} />}
      {size.width >= ONE_COLUMN && (
        <GridLayout
          width={size.width}
          layout={seen}
          gridConfig={{ cols: COLUMNS, rowHeight: ROW, margin: [MARGIN, MARGIN], containerPadding: [0, 0] }}
          dragConfig={{ handle: ".drag-handle", cancel: ".no-drag", threshold: 4 }}
          resizeConfig={{ handles: ["se"] }}
          onDragStop={(next) => move(next)}
          onResizeStop={(next) => move(next)}
        >
          {shown.map(({ place, body }) => (
            <div key={place.i} data-widget={place.i}>
              <WidgetContext value={{ id: place.i, nudge, hide: away }}>{body}</WidgetContext>
            </div>
          ))}
        </GridLayout>
      )}
      {size.width > 0 && <LayoutBar arranged={arranged} titleOf={titleOf} say={say} />}
    </div>
  );
}
