import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { describeRun } from "@/client/runs";
import type { RunCard } from "@/client/types";

export interface DescribeDialogProps {
  run: RunCard;
  onClose: () => void;
}

/** A name and a note for a run. */
export function DescribeDialog({ run, onClose }: DescribeDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [name, setName] = useState(run.name);
  const [note, setNote] = useState(run.note);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    await describeRun(run.run_id, { name, note });
    dialog.current?.close();
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onClose={onClose}
      className="m-auto w-full max-w-md rounded-2xl border border-line p-6 text-ink shadow-2xl backdrop:bg-black/60"
      style={{ background: "var(--panel-solid)" }}
    >
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={heading} className="text-base font-semibold">{`Name and note of run ${run.run_id}`}</h2>
        <label className="mt-4 block text-sm">
          <span className="eyebrow block">Name</span>
          <input
            className="field mt-1 w-full"
            maxLength={120}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
        <label className="mt-3 block text-sm">
          <span className="eyebrow block">Note</span>
          <textarea
            className="field mt-1 h-28 w-full"
            maxLength={4000}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </label>
        <div className="mt-5 flex justify-end gap-2">
          <button type="button" className="press" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="press font-semibold" data-on="true">
            Save
          </button>
        </div>
      </form>
    </dialog>
  );
}
