import { Info } from "lucide-react";
import { useId, useRef } from "react";
import type { Term } from "@/lib/glossary";

export interface AboutProps {
  title: string;
  meaning: string;
  terms?: readonly Term[] | undefined;
}

const WIDTH = 352;

/** The “i” of a widget: what is seen, over which tasks, by which formula. In the browser's own top layer. */
export function About({ title, meaning, terms = [] }: AboutProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const place = (): void => {
    const box = button.current?.getBoundingClientRect();
    if (!box || !panel.current) return;
    const width = Math.min(WIDTH, window.innerWidth - 16);
    const below = window.innerHeight - box.bottom > 260;
    const style = panel.current.style;
    style.width = `${width}px`;
    style.left = `${Math.max(8, Math.min(box.left - 12, window.innerWidth - width - 8))}px`;
    style.top = below ? `${box.bottom + 6}px` : "auto";
    style.bottom = below ? "auto" : `${window.innerHeight - box.top + 6}px`;
    style.maxHeight = `${(below ? window.innerHeight - box.bottom : box.top) - 20}px`;
  };
  return (
    <span data-no-picture="true" className="no-drag inline-flex" style={{ cursor: "auto" }}>
      <button
        ref={button}
        type="button"
        className="icon-press size-6"
        popoverTarget={id}
        aria-label={`What ${title} shows`}
      >
        <Info size={14} aria-hidden="true" />
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls where the window is low, and then by keyboard too
        tabIndex={0}
        onBeforeToggle={place}
        className="fixed m-0 overflow-auto rounded-xl border border-line p-4 text-left text-xs leading-relaxed font-normal tracking-normal text-ink shadow-xl"
        style={{ background: "var(--panel-solid)" }}
      >
        <p className="text-[0.8125rem]">{meaning}</p>
        {terms.length > 0 && (
          <dl className="mt-2 space-y-2">
            {terms.map(({ term, meaning: words }) => (
              <div key={term}>
                <dt className="font-semibold">{term}</dt>
                <dd className="text-muted">{words}</dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </span>
  );
}
