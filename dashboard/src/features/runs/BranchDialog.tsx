import { useState } from "react";
import { useGpuTypes, useStrategies } from "@/client/queries";
import { branchRun } from "@/client/runs";
import type { BranchRequest, RunCard } from "@/client/types";
import { gpusOf, MOST_GPUS } from "@/features/shell/newRun";
import { NumberField, PickField, useTyped } from "@/features/widgets/Fields";
import { Modal } from "@/features/widgets/Modal";
import { StrategyChecks } from "@/features/widgets/StrategyChecks";
import { tasksText } from "@/lib/format";
import { useView } from "@/lib/url";
import { runTitle } from "./words";

type Level = NonNullable<BranchRequest["knowledge"]>;

const LEVELS: readonly { key: Level | ""; label: string }[] = [
  { key: "", label: "As in that run" },
  { key: "learned", label: "Learned" },
  { key: "exact", label: "Exact" },
  { key: "nominal", label: "Nominal" },
];

export interface BranchDialogProps {
  card: RunCard;
  /** The task that the new run begins with; null: the one after the last. */
  task: number | null;
  onClose: () => void;
}

/** Asks what shall be different in a run that leaves a stored one, and begins it. */
export function BranchDialog({ card, task, onClose }: BranchDialogProps) {
  const [, change] = useView();
  const cards = useStrategies();
  const types = useGpuTypes();
  const [picked, setPicked] = useState<ReadonlySet<string> | null>(null);
  const [level, setLevel] = useState<Level | "">("");
  const [type, setType] = useState("");
  const gpus = useTyped(card.num_gpus === null ? "" : String(card.num_gpus), gpusOf);
  const before = new Set(card.schedulers);
  const chosen = picked ?? before;
  const toggle = (name: string): void => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setPicked(next);
  };
  const problems = [
    chosen.size === 0 && "Choose at least one strategy.",
    gpus.isWrong && `A node has 1 to ${MOST_GPUS} GPUs.`,
  ].filter((one) => one !== false);
  const begin = async (): Promise<void> => {
    const same = chosen.size === before.size && [...chosen].every((name) => before.has(name));
    const status = await branchRun(card.run_id, {
      task_id: task,
      ...(same ? {} : { schedulers: [...chosen] }),
      ...(gpus.wished === null ? {} : { num_gpus: gpus.wished }),
      ...(level === "" ? {} : { knowledge: level }),
      ...(type === "" ? {} : { gpu_type: type }),
    });
    if (status !== null) change({ run: null, at: null });
  };
  const shown = cards.length === 0 ? [] : cards;
  const place = (task ?? (card.last_task_id ?? 0) + 1) - (card.first_task_id ?? 0);
  return (
    <Modal
      title={`Leave ${runTitle(card)} after ${tasksText(place)}?`}
      yes="Begin the branch"
      isDisabled={problems.length > 0}
      onClose={onClose}
      onYes={() => void begin()}
    >
      <p className="mt-2 text-sm leading-relaxed text-muted">
        A new run meets the same tasks from there on, and the same shifts. Strategies of that run go on as
        they stood; others stand there as if they had raced from its beginning. The present race ends; both
        stay in the list of runs.
      </p>
      <StrategyChecks cards={shown} chosen={chosen} onToggle={toggle} />
      <div className="mt-3 grid grid-cols-2 gap-3">
        <NumberField
          label="GPUs of the node"
          value={gpus.text}
          isWrong={gpus.isWrong}
          title="Further GPUs are like the first one"
          onChange={gpus.set}
        />
        <PickField
          label="Type of the GPUs"
          title="The hardware of the node; prices are examples"
          value={type}
          options={[
            { key: "", label: "As in that run" },
            ...types.map((one) => ({ key: one.name, label: one.title })),
          ]}
          onChange={setType}
        />
        <PickField
          label="Strategies know durations"
          title="What strategies are told about how long a task takes"
          value={level}
          options={LEVELS}
          onChange={(key) => setLevel(key as Level | "")}
        />
      </div>
      <p role="status" className="mt-2 min-h-5 text-xs text-warn">
        {problems.join(" ")}
      </p>
    </Modal>
  );
}
