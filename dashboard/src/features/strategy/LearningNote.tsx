import type { LearningState, StrategyCard } from "@/client/types";
import { count, digits, percent } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";
import { useLive } from "@/live/store";

/** An error that is only the rounding of numbers: its digits would say nothing. */
const NO_ERROR = 1e-9;

const errorText = (value: number): string => (Math.abs(value) < NO_ERROR ? "≈ 0" : digits(value));

export function learningSentence(state: LearningState): string {
  const pace = state.tasks_per_update === null ? "" : `, one in ${digits(state.tasks_per_update, 2)} tasks`;
  const often = state.updates === 1 ? "once" : `${count(state.updates)} times`;
  const parts = [`${state.kind === "forest" ? "Retrained" : "Updated"} ${often}${pace}`];
  if (state.coalesced > 0)
    parts.push(`${count(state.coalesced)} retrainings merged because the race was faster`);
  if (state.samples !== null) parts.push(`${count(state.samples)} samples in the latest`);
  if (state.error !== null) parts.push(`mean error ${errorText(state.error)}`);
  if (state.epsilon !== null) parts.push(`explores ${percent(state.epsilon, 1)} of the time`);
  if (state.loss !== null) parts.push(`loss ${errorText(state.loss)}`);
  return `${parts.join("; ")}.`;
}

/** What is true of a strategy without figures of its learning; of one that nobody knows, nothing is said. */
export function learningWords(card: StrategyCard | undefined): string | null {
  if (card?.learns) return "This strategy learns, and gives no figures of how it is getting on.";
  // Whether one from elsewhere is told what came of its decisions is known once it races.
  if (card === undefined || (card.kind === "plugin" && !card.in_race)) return null;
  return "This strategy does not learn: what came of its decisions is not told to it.";
}

/** How a learning strategy is getting on, or that it does not learn. */
export function LearningNote({ name }: { name: string }) {
  const state = useLive((s) => s.update?.status.learning[name]);
  const words = learningWords(useFaces()(name).card);
  if (!state) return words === null ? null : <p>{words}</p>;
  return (
    <p data-learning={name}>
      {learningSentence(state)} {state.is_training && <span className="text-ml">Training now.</span>}
    </p>
  );
}
