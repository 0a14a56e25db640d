import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";

export interface ModalProps {
  title: string;
  onClose: () => void;
  /** The button that does it; the dialog closes first. */
  yes: string;
  isDisabled?: boolean;
  onYes: () => void;
  className?: string;
  children: ReactNode;
}

/** A dialog that is open as long as it is there: a form, a way back, and the button that does it. */
export function Modal({
  title,
  onClose,
  yes,
  isDisabled = false,
  onYes,
  className = "max-w-lg",
  children,
}: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    dialog.current?.close();
    onYes();
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onClose={onClose}
      className={`m-auto max-h-[calc(100dvh-2rem)] w-[calc(100%-2rem)] overflow-auto rounded-2xl border border-line p-6 text-ink shadow-2xl backdrop:bg-black/60 ${className}`}
      style={{ background: "var(--panel-solid)" }}
    >
      <form onSubmit={submit}>
        <h2 id={heading} className="text-base font-semibold">
          {title}
        </h2>
        {children}
        <div className="mt-4 flex justify-end gap-2">
          <button type="button" className="press" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="press font-semibold" data-on="true" disabled={isDisabled}>
            {yes}
          </button>
        </div>
      </form>
    </dialog>
  );
}
