import { type ReactNode, useId, useRef } from "react";

export interface ConfirmProps {
  /** The button that asks. */
  className: string;
  label?: string;
  icon: ReactNode;
  text?: string;
  /** The question and its consequences. */
  title: string;
  consequences: string;
  yes: string;
  onYes: () => void;
}

/** A button whose deed is asked about before it is done. */
export function Confirm({ className, label, icon, text, title, consequences, yes, onYes }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const done = (): void => {
    dialog.current?.close();
    onYes();
  };
  return (
    <>
      <button
        type="button"
        className={className}
        title={label}
        onClick={() => dialog.current?.showModal()}
        {...(label ? { "aria-label": label } : {})}
      >
        {icon} {text}
      </button>
      <dialog
        ref={dialog}
        aria-labelledby={heading}
        className="m-auto max-w-sm rounded-2xl border border-line p-6 text-ink shadow-2xl backdrop:bg-black/60"
        style={{ background: "var(--panel-solid)" }}
      >
        <h2 id={heading} className="text-base font-semibold">
          {title}
        </h2>
        <p className="mt-2 text-sm leading-relaxed text-muted">{consequences}</p>
        <div className="mt-5 flex justify-end gap-2">
          <button type="button" className="press" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="button" className="press font-semibold" data-on="true" onClick={done}>
            {yes}
          </button>
        </div>
      </dialog>
    </>
  );
}
