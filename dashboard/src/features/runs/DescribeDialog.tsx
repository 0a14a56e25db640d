import { useState } from "react";
import { describeRun } from "@/client/runs";
import type { RunCard } from "@/client/types";
import { Labelled } from "@/features/widgets/Fields";
import { Modal } from "@/features/widgets/Modal";

export interface DescribeDialogProps {
  run: RunCard;
  onClose: () => void;
}

/** A name and a note for a run. */
export function DescribeDialog({ run, onClose }: DescribeDialogProps) {
  const [name, setName] = useState(run.name);
  const [note, setNote] = useState(run.note);
  return (
    <Modal
      title={`Name and note of run ${run.run_id}`}
      yes="Save"
      className="max-w-md"
      onClose={onClose}
      onYes={() => void describeRun(run.run_id, { name, note })}
    >
      <Labelled label="Name" className="mt-4">
        <input
          className="field mt-1 w-full"
          maxLength={120}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Labelled>
      <Labelled label="Note" className="mt-3">
        <textarea
          className="field mt-1 h-28 w-full"
          maxLength={4000}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </Labelled>
    </Modal>
  );
}
