import { RotateCcw } from "lucide-react";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import GridLayout, { type Layout, type LayoutItem } from "react-grid-layout";
import "react-grid-layout/css/styles.css";
import { useSize } from "@/lib/useSize";
import { COLUMNS, forgetLayout, type Nudge, nudged, readLayout, rememberLayout } from "./layout";
import { WidgetContext } from "./WidgetContext";

export interface WidgetSpec {
  place: LayoutItem;
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
}

function OneColumn({ widgets }: Stacked) {
  const ordered = [...widgets].sort((a, b) => a.place.y - b.place.y || a.place.x - b.place.x);
  return (
    <div className="flex flex-col gap-3">
      {ordered.map(({ place, body, grows }) => (
        <div key={place.i} style={grows ? {} : { height: place.h * ROW + (place.h - 1) * MARGIN * 0.6 }}>
          <WidgetContext value={{ id: place.i, nudge: null }}>{body}</WidgetContext>
        </div>
      ))}
    </div>
  );
}

/** Widgets that can be dragged, resized and moved by keyboard; where they stand is remembered for each view. */
export function WidgetGrid({ view, widgets }: WidgetGridProps) {
  const defaults = useMemo(() => widgets.map((widget) => widget.place), [widgets]);
  const [layout, setLayout] = useState<Layout>(() => readLayout(view, defaults));
  const [isOwn, setOwn] = useState(() => localStorage.getItem(`hms.layout.${view}`) !== null);
  const [said, say] = useState("");
  const [ref, size] = useSize<HTMLDivElement>();

  const keep = useCallback(
    (next: Layout) => {
      setLayout(next);
      setOwn(true);
      rememberLayout(view, next);
    },
    [view],
  );
  const nudge = useCallback(
    (id: string, step: Nudge) => {
      const next = nudged(layout, id, step);
      keep(next);
      const item = next.find((entry) => entry.i === id);
      if (item) say(`Moved: column ${item.x + 1}, row ${item.y + 1}, ${item.w} wide, ${item.h} high`);
    },
    [keep, layout],
  );
  const reset = (): void => {
    forgetLayout(view);
    setOwn(false);
    setLayout(defaults);
    say("The layout is as it was at first");
  };
  return (
    <div ref={ref} data-view={view}>
      <p role="status" className="sr-only">
        {said}
      </p>
      {size.width > 0 && size.width < ONE_COLUMN && <OneColumn widgets={widgets} />}
      {size.width >= ONE_COLUMN && (
        <GridLayout
          width={size.width}
          layout={layout}
          gridConfig={{ cols: COLUMNS, rowHeight: ROW, margin: [MARGIN, MARGIN], containerPadding: [0, 0] }}
          dragConfig={{ handle: ".drag-handle", cancel: ".no-drag", threshold: 4 }}
          resizeConfig={{ handles: ["se"] }}
          onDragStop={(next) => keep(next)}
          onResizeStop={(next) => keep(next)}
        >
          {widgets.map(({ place, body }) => (
            <div key={place.i} data-widget={place.i}>
              <WidgetContext value={{ id: place.i, nudge }}>{body}</WidgetContext>
            </div>
          ))}
        </GridLayout>
      )}
      {isOwn && size.width >= ONE_COLUMN && (
        <button type="button" className="press mt-4" onClick={reset}>
          <RotateCcw size={14} aria-hidden="true" /> Reset this layout
        </button>
      )}
    </div>
  );
}
