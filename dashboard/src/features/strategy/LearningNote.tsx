import type { LearningState } from "@/client/types";
import { count, digits, percent } from "@/lib/format";
import { useLive } from "@/live/store";

function sentence(state: LearningState): string {
  const pace = state.tasks_per_update === null ? "" : `, one in ${digits(state.tasks_per_update, 2)} tasks`;
  const parts = [`${state.kind === "forest" ? "Retrained" : "Updated"} ${count(state.updates)} times${pace}`];
  if (state.coalesced > 0)
    parts.push(`${count(state.coalesced)} retrainings merged because the race was faster`);
  if (state.samples !== null) parts.push(`${count(state.samples)} samples in the latest`);
  if (state.error !== null) parts.push(`mean error ${digits(state.error)}`);
  if (state.epsilon !== null) parts.push(`explores ${percent(state.epsilon, 1)} of the time`);
  if (state.loss !== null) parts.push(`loss ${digits(state.loss)}`);
  return `${parts.join("; ")}.`;
}

/** How a learning strategy is getting on; silent for one that does not learn. */
export function LearningNote({ name }: { name: string }) {
  const state = useLive((s) => s.update?.status.learning[name]);
  if (!state)
    return <p>This strategy does not learn: the same task in the same situation always goes the same way.</p>;
  return (
    <p data-learning={name}>
      {sentence(state)} {state.is_training && <span className="text-ml">Training now.</span>}
    </p>
  );
}
