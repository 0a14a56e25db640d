import { ChevronLeft, ChevronRight, ZoomIn, ZoomOut } from "lucide-react";
import { pointedAt, type Stretch, stepped, type Zoom } from "@/lib/along";

export interface ZoomBarProps {
  zoom: Zoom;
  whole: Stretch;
  /** Whose time it is, for those who hear the buttons. */
  label: string;
}

/** The brush without a mouse: closer, wider, earlier, later, all. Only “closer” is there while all is shown. */
export function ZoomBar({ zoom, whole, label }: ZoomBarProps) {
  const now = zoom.stretch ?? whole;
  const go = (step: "in" | "out" | "earlier" | "later") => () =>
    zoom.show(stepped(now, whole, step, pointedAt(zoom.unit)));
  return (
    <fieldset
      data-no-picture="true"
      className="ml-auto flex shrink-0 items-center"
      aria-label={`Zoom of ${label}`}
      data-zoom={zoom.stretch?.join("_") ?? ""}
    >
      <button
        type="button"
        className="icon-press size-6"
        aria-label="Zoom in"
        title="Zoom in; or drag over the chart, and double-click to show all"
        onClick={go("in")}
      >
        <ZoomIn size={14} aria-hidden="true" />
      </button>
      {zoom.stretch && (
        <>
          <button type="button" className="icon-press size-6" aria-label="Zoom out" onClick={go("out")}>
            <ZoomOut size={14} aria-hidden="true" />
          </button>
          <button type="button" className="icon-press size-6" aria-label="Earlier" onClick={go("earlier")}>
            <ChevronLeft size={14} aria-hidden="true" />
          </button>
          <button type="button" className="icon-press size-6" aria-label="Later" onClick={go("later")}>
            <ChevronRight size={14} aria-hidden="true" />
          </button>
          <button
            type="button"
            className="press ml-1 px-2 py-0 text-[0.6875rem]"
            onClick={() => zoom.show(null)}
          >
            Show all
          </button>
        </>
      )}
    </fieldset>
  );
}
