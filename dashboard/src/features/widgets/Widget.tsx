import { GripVertical, Maximize2, Minimize2 } from "lucide-react";
import { type KeyboardEvent, type ReactNode, use, useId, useRef } from "react";
import type { Table } from "@/lib/csv";
import type { Term } from "@/lib/glossary";
import { About } from "./About";
import { nudgeOfKey } from "./layout";
import { useFullScreen } from "./useFullScreen";
import { WidgetContext } from "./WidgetContext";
import { WidgetMenu } from "./WidgetMenu";

export interface WidgetProps {
  title: string;
  /** What is seen, over which tasks, by which formula: behind the “i”. */
  meaning: string;
  /** The words on the widget that need one more sentence each. */
  terms?: readonly Term[];
  controls?: ReactNode;
  /** What the CSV export holds; called when it is asked for. */
  table?: () => Table;
  children: ReactNode;
  foot?: ReactNode;
}

/** The frame of every widget: a title to drag it by, its own controls, its menu. */
export function Widget({ title, meaning, terms, controls, table, children, foot }: WidgetProps) {
  const { id, nudge, hide } = use(WidgetContext);
  const frame = useRef<HTMLElement>(null);
  const [isFull, setFull] = useFullScreen(frame);
  const heading = useId();
  const onKey = (event: KeyboardEvent): void => {
    const step = nudgeOfKey(event.key, event.shiftKey);
    if (!step || !nudge) return;
    event.preventDefault();
    nudge(id, step);
  };
  return (
    <section
      ref={frame}
      aria-labelledby={heading}
      data-full={isFull}
      className={`glass group/widget flex min-h-0 flex-col overflow-hidden ${isFull ? "full-screen" : "h-full"}`}
    >
      <header
        className="drag-handle relative flex flex-wrap items-center gap-x-2 gap-y-1.5 pt-3 pr-[4.9rem] pb-2 pl-4"
        style={{ cursor: nudge ? "grab" : "default" }}
      >
        {nudge && (
          <button
            type="button"
            data-no-picture="true"
            className="-ml-2.5 cursor-grab rounded text-muted opacity-40 group-hover/widget:opacity-100 focus-visible:opacity-100"
            aria-label={`Move or resize ${title}: arrow keys move, Shift and arrow keys resize`}
            onKeyDown={onKey}
          >
            <GripVertical size={15} aria-hidden="true" />
          </button>
        )}
        <h2 id={heading} className={`truncate text-sm font-semibold tracking-tight ${nudge ? "-ml-1" : ""}`}>
          {title}
        </h2>
        <span className="-ml-1 mr-auto flex">
          <About title={title} meaning={meaning} terms={terms} />
        </span>
        {controls && (
          <div
            className="no-drag flex max-w-full flex-wrap items-center gap-1.5 max-sm:-mr-14 max-sm:w-full"
            style={{ cursor: "auto" }}
          >
            {controls}
          </div>
        )}
        <div className="no-drag absolute top-2.5 right-3 flex items-center" style={{ cursor: "auto" }}>
          <button
            type="button"
            data-no-picture="true"
            className="icon-press size-7"
            aria-label={isFull ? `Leave full screen of ${title}` : `Full screen of ${title}`}
            title={isFull ? "Leave full screen (Esc)" : "Full screen"}
            onClick={() => setFull(!isFull)}
          >
            {isFull ? <Minimize2 size={14} aria-hidden="true" /> : <Maximize2 size={13} aria-hidden="true" />}
          </button>
          <WidgetMenu
            title={title}
            table={table}
            frame={frame}
            nudge={nudge && !isFull ? (step) => nudge(id, step) : null}
            hide={hide && !isFull ? () => hide(id) : null}
          />
        </div>
      </header>
      <div className="min-h-0 flex-1 px-4 pb-3">{children}</div>
      {foot && <footer className="px-4 pb-3 text-xs leading-relaxed text-muted">{foot}</footer>}
    </section>
  );
}
