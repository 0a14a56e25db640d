import { X } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Kitchen } from "./Kitchen";
import { STEPS, type Step } from "./steps";

export interface TourProps {
  onEnd: () => void;
  /** Whether a person asked for it, and so wants to go on from there by keyboard. */
  isAsked: boolean;
}

/** The short guided explanation: a card above the view that hides nothing and can be closed at any step. */
export function Tour({ onEnd, isAsked }: TourProps) {
  const next = useRef<HTMLButtonElement>(null);
  const [at, setAt] = useState(0);
  const step = STEPS[at] as Step;
  const last = at === STEPS.length - 1;
  useEffect(() => {
    if (isAsked) next.current?.focus();
  }, [isAsked]);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "ArrowRight" && !last) setAt(at + 1);
    if (event.key === "ArrowLeft" && at > 0) setAt(at - 1);
    if (event.key === "Escape") onEnd();
  };
  return (
    <section
      aria-label="How to read the race"
      data-tour=""
      onKeyDown={onKey}
      className="glass mt-3 flex items-center gap-x-5 gap-y-2 p-3 max-sm:flex-col sm:pr-4"
    >
      <div className="w-44 shrink-0 max-sm:hidden">
        <Kitchen scene={step.scene} />
      </div>
      <div className="min-w-0 flex-1" aria-live="polite">
        <p className="eyebrow">{`How to read the race · ${at + 1} of ${STEPS.length}`}</p>
        <h2 className="text-sm font-semibold">{step.title}</h2>
        <p className="mt-0.5 max-w-4xl text-[0.8125rem] leading-snug text-muted">{step.text}</p>
      </div>
      <div className="flex shrink-0 items-center gap-1.5 self-end">
        {at > 0 && (
          <button type="button" className="press" onClick={() => setAt(at - 1)}>
            Back
          </button>
        )}
        <button
          ref={next}
          type="button"
          className="press font-semibold"
          data-on="true"
          onClick={() => (last ? onEnd() : setAt(at + 1))}
        >
          {last ? "Done" : "Next"}
        </button>
        <button type="button" className="icon-press" onClick={onEnd} aria-label="Close the explanation">
          <X size={16} aria-hidden="true" />
        </button>
      </div>
    </section>
  );
}
