import { Ellipsis, EyeOff, FileSpreadsheet, Image, PenTool } from "lucide-react";
import { type RefObject, use, useId, useRef, useState } from "react";
import { saveCsv, type Table } from "@/lib/csv";
import type { PictureKind } from "@/lib/picture/save";
import { provenance } from "@/lib/provenance";
import { ShownRun } from "@/live/store";
import type { Nudge } from "./layout";

export interface WidgetMenuProps {
  title: string;
  table: (() => Table) | undefined;
  frame: RefObject<HTMLElement | null>;
  nudge: ((step: Nudge) => void) | null;
  hide: (() => void) | null;
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

const PICTURES: readonly [PictureKind, string, typeof Image][] = [
  ["png", "Export PNG", Image],
  ["svg", "Export SVG", PenTool],
];

/** The widget and the run in the name of the file: two exports beside each other are told apart. */
function fileName(title: string, run: number | null | undefined): string {
  const words = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  return run == null ? `hms-${words}` : `hms-run${run}-${words}`;
}

/** Export and layout commands of one widget, in the browser's own top layer so that nothing clips them. */
export function WidgetMenu({ title, table, frame, nudge, hide }: WidgetMenuProps) {
  const id = useId();
  const shown = use(ShownRun);
  const name = (): string => fileName(title, shown.getState().update?.status.run_id);
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [problem, setProblem] = useState<string | null>(null);

  const place = (): void => {
    const box = button.current?.getBoundingClientRect();
    if (!box || !panel.current) return;
    panel.current.style.top = `${Math.min(box.bottom + 4, window.innerHeight - 360)}px`;
    panel.current.style.left = `${Math.max(8, box.right - 208)}px`;
  };
  const exportPicture = (kind: PictureKind): void => {
    panel.current?.hidePopover();
    setProblem(null);
    const { update, version } = shown.getState();
    const origin = provenance(update, version, new Date());
    const element = frame.current;
    if (!element) return;
    import("@/lib/picture/save")
      .then(({ savePicture }) => savePicture(kind, name(), element, origin))
      .catch((error: Error) => setProblem(error.message));
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
              saveCsv(name(), table());
              panel.current?.hidePopover();
            }}
          >
            <FileSpreadsheet size={14} aria-hidden="true" /> Export CSV
          </button>
        )}
        {PICTURES.map(([kind, text, Icon]) => (
          <button
            key={kind}
            type="button"
            className="flex w-full items-center gap-2 rounded-lg px-2 py-1.5 text-left hover:bg-raised"
            onClick={() => exportPicture(kind)}
          >
            <Icon size={14} aria-hidden="true" /> {text}
          </button>
        ))}
        {hide && (
          <button
            type="button"
            className="flex w-full items-center gap-2 rounded-lg px-2 py-1.5 text-left hover:bg-raised"
            onClick={() => {
              panel.current?.hidePopover();
              hide();
            }}
          >
            <EyeOff size={14} aria-hidden="true" /> Hide this widget
          </button>
        )}
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
