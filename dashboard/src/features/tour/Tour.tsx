import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Kitchen } from "./Kitchen";
import { STEPS, type Step } from "./steps";

/** The short guided explanation: six steps, can be left at any of them and opened again from the header. */
export function Tour({ onEnd }: { onEnd: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const next = useRef<HTMLButtonElement>(null);
  const [at, setAt] = useState(0);
  const step = STEPS[at] as Step;
  const last = at === STEPS.length - 1;
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
    next.current?.focus();
  }, []);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "ArrowRight" && !last) setAt(at + 1);
    if (event.key === "ArrowLeft" && at > 0) setAt(at - 1);
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby="tour-title"
      onClose={onEnd}
      onKeyDown={onKey}
      className="m-auto w-[min(42rem,calc(100vw-1.5rem))] rounded-2xl border border-line p-0 text-ink shadow-2xl backdrop:bg-black/60"
      style={{ background: "var(--panel-solid)" }}
    >
      <div className="p-5 sm:p-7">
        <p className="eyebrow">{`How to read the race · ${at + 1} of ${STEPS.length}`}</p>
        <div className="mt-3">
          <Kitchen scene={step.scene} />
        </div>
        <div aria-live="polite" className="min-h-32">
          <h2 id="tour-title" className="mt-4 text-xl font-semibold tracking-tight">
            {step.title}
          </h2>
          <p className="mt-2 text-sm leading-relaxed text-muted">{step.text}</p>
        </div>
        <div className="mt-4 flex items-center gap-2">
          <button
            type="button"
            className="press border-transparent bg-transparent text-muted"
            onClick={() => dialog.current?.close()}
          >
            Skip
          </button>
          <span className="mx-auto flex gap-1.5" aria-hidden="true">
            {STEPS.map((entry, i) => (
              <span
                key={entry.scene}
                className={`h-1.5 rounded-full transition-all ${i === at ? "w-6 bg-ml" : "w-1.5 bg-line"}`}
              />
            ))}
          </span>
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
            onClick={() => (last ? dialog.current?.close() : setAt(at + 1))}
          >
            {last ? "To the race" : "Next"}
          </button>
        </div>
      </div>
    </dialog>
  );
}
