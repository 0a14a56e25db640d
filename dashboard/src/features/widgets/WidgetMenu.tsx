import { Ellipsis, FileSpreadsheet, Image } from "lucide-react";
import { type RefObject, useId, useRef, useState } from "react";
import { saveCsv, type Table } from "@/lib/csv";
import { savePicture } from "@/lib/png";
import type { Nudge } from "./layout";

export interface WidgetMenuProps {
  title: string;
  table: (() => Table) | undefined;
  frame: RefObject<HTMLElement | null>;
  nudge: ((step: Nudge) => void) | null;
}

const NUDGES: readonly [Nudge, string][] = [
  ["left", "← Left"],
  ["right", "→ Right"],
  ["up", "↑ Up"],
  ["down", "↓ Down"],
  ["wider", "Wider"],
  ["narrower", "Narrower"],
  ["taller", "Taller"],
  ["shorter", "Shorter"],
];

const fileName = (title: string): string => `hms-${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;

/** Export and layout commands of one widget, in the browser's own top layer so that nothing clips them. */
export function WidgetMenu({ title, table, frame, nudge }: WidgetMenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState<string | null>(null);

  const place = (): void => {
    const box = button.current?.getBoundingClientRect();
    if (!box || !panel.current) return;
    panel.current.style.top = `${Math.min(box.bottom + 4, window.innerHeight - 330)}px`;
    panel.current.style.left = `${Math.max(8, box.right - 208)}px`;
  };
  const exportPicture = (): void => {
    panel.current?.hidePopover();
    setProblem(null);
    if (frame.current)
      savePicture(fileName(title), frame.current).catch((error: Error) => setProblem(error.message));
  };
  return (
    <div data-no-picture="true">
      <button
        ref={button}
        type="button"
        className="icon-press"
        popoverTarget={id}
        aria-label={`Menu of ${title}`}
      >
        <Ellipsis size={16} aria-hidden="true" />
      </button>
      {problem && (
        <span role="alert" className="text-xs text-bad">
          {problem}
        </span>
      )}
      <div
        ref={panel}
        id={id}
        popover="auto"
        onBeforeToggle={place}
        className="fixed m-0 w-52 rounded-xl border border-line p-1.5 text-sm text-ink shadow-xl"
        style={{ background: "var(--panel-solid)" }}
      >
        {table && (
          <button
            type="button"
            className="flex w-full items-center gap-2 rounded-lg px-2 py-1.5 text-left hover:bg-raised"
            onClick={() => {
              saveCsv(fileName(title), table());
              panel.current?.hidePopover();
            }}
          >
            <FileSpreadsheet size={14} aria-hidden="true" /> Export CSV
          </button>
        )}
        <button
          type="button"
          className="flex w-full items-center gap-2 rounded-lg px-2 py-1.5 text-left hover:bg-raised"
          onClick={exportPicture}
        >
          <Image size={14} aria-hidden="true" /> Export PNG
        </button>
        {nudge && (
          <div className="mt-1 grid grid-cols-2 gap-1 border-t border-line pt-1.5">
            {NUDGES.map(([step, text]) => (
              <button
                key={step}
                type="button"
                className="rounded-lg px-2 py-1 text-left text-xs hover:bg-raised"
                onClick={() => nudge(step)}
              >
                {text}
              </button>
            ))}
          </div>
        )}
      </div>
    </div>
  );
}
