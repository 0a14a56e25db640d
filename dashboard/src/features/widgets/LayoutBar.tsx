import { Link2, Plus, RotateCcw } from "lucide-react";
import { useState } from "react";
import type { Arranged } from "./useArrangement";

export interface LayoutBarProps {
  arranged: Arranged;
  titleOf: (id: string) => string;
  say: (words: string) => void;
}

/** Below the widgets: bring back what was hidden, send the layout to somebody, or begin anew. */
export function LayoutBar({ arranged, titleOf, say }: LayoutBarProps) {
  const [told, tell] = useState("");
  const copy = async (): Promise<void> => {
    const address = arranged.link();
    try {
      await navigator.clipboard.writeText(address);
      tell("The link is copied.");
    } catch {
      tell("The link is in the address bar.");
    }
  };
  return (
    <div className="mt-4 flex flex-wrap items-center gap-2 text-xs text-muted" data-layout-bar="">
      {[...arranged.hidden].map((id) => (
        <button
          key={id}
          type="button"
          className="press"
          onClick={() => {
            arranged.show(id);
            say(`${titleOf(id)} is shown again`);
          }}
        >
          <Plus size={14} aria-hidden="true" /> {titleOf(id)}
        </button>
      ))}
      <button type="button" className="press" onClick={() => void copy()}>
        <Link2 size={14} aria-hidden="true" /> Copy link to this layout
      </button>
      {arranged.isOwn && (
        <button
          type="button"
          className="press"
          onClick={() => {
            arranged.reset();
            say("The layout is as it was at first");
          }}
        >
          <RotateCcw size={14} aria-hidden="true" /> Reset this layout
        </button>
      )}
      <span role="status">{told}</span>
    </div>
  );
}
