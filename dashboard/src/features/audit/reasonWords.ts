/** What the strategies' own words mean. A plugin's words that are not listed stand as they are. */
import type { Term } from "@/lib/glossary";

type Unit = "share" | "seconds" | "MB" | "plain";

interface ReasonWord extends Term {
  unit: Unit;
}

const word = (term: string, meaning: string, unit: Unit = "plain"): ReasonWord => ({ term, meaning, unit });

export const REASON_WORDS: Readonly<Record<string, ReasonWord>> = {
  gpu_fraction: word(
    "GPU share",
    "Share of the task that is sent to the GPU; the rest goes to the CPU.",
    "share",
  ),
  spread: word(
    "spread",
    "Standard deviation of the trees' predictions of the share: how much they disagree.",
    "share",
  ),
  confidence: word("confidence", "1 − 2 × spread, at least 0. Not a probability of being right.", "share"),
  size: word("size", "Problem size of the task, without a unit."),
  compute_intensity: word("intensity", "How much the task gains from parallel hardware, 0 to 1."),
  memory_required: word("memory", "What must cross the bus to the GPU.", "MB"),
  memory_per_size: word(
    "memory ÷ size",
    "Memory in MB for each unit of size: high when the transfer dominates.",
  ),
  compute_to_memory: word(
    "compute ÷ memory",
    "Size to the power 1.5 for each MB that must be moved: low when the transfer dominates.",
  ),
  gpu: word("GPU", "Number of the GPU that gets the share."),
  trained_on: word("trained on", "Labelled tasks that the present forest was fitted to."),
  generation: word("generation", "How often the forest has been fitted in this run."),
  contributions: word(
    "contributions",
    "How the predicted share comes about: the base (mean of the training labels) plus what each feature adds or takes away; the sum is the prediction.",
  ),
  action: word("action", "The device with the highest Q-value."),
  belief: word(
    "believed durations",
    "What the strategy has learned of this kind of work on each type of device when it decided.",
  ),
  q_values: word(
    "Q values",
    "The network's estimate of all future reward for each action, where reward is minus weighted time and energy; the highest one is taken.",
  ),
  q_behind: word(
    "Q behind the best",
    "How much less future reward the network expects of each action than of the best one. 0 is the best; only differences of Q-values mean something.",
  ),
  expected_now: word(
    "expected now",
    "The part of the Q-value that the estimates give for this task alone, before anything learned about the future.",
  ),
  exploring: word("exploring", "Whether this action was tried at random instead of taken by its value."),
  epsilon: word("ε, exploration", "Share of decisions that are taken at random to learn from.", "share"),
  loss: word("loss", "Error of the network's own predictions in its latest update; smaller is steadier."),
  updates: word("updates", "Gradient steps of the network so far."),
  completion_s: word(
    "completion",
    "Estimated time from now until the task is finished with this choice, queues included.",
    "seconds",
  ),
  whole_device_completion_s: word(
    "completion on each whole device",
    "Estimated seconds from now until the task would be finished if one device took all of it, queues included.",
    "seconds",
  ),
  foresight: word(
    "foresight",
    "How far the learned price of the future counts here, 0 to 1: little at low load and among unfamiliar tasks.",
    "share",
  ),
  familiar: word("familiar", "How much the tasks resemble those that were learned from, 0 to 1.", "share"),
  charge: word(
    "charge",
    "Completion time plus foresight × the learned price of what the choice does to the queues, in seconds.",
    "seconds",
  ),
  whole_device_charge: word(
    "charge of each whole device",
    "The same charge if one device took the whole task.",
    "seconds",
  ),
  grid: word("grid", "Execution time for every share on the oracle's grid, as if the devices were free."),
  execution_s: word("execution time", "Time the task runs as if its devices were free.", "seconds"),
};

/** The meanings of those words that a reason uses, for the “i” of a widget. */
export function knownReasons(reason: Readonly<Record<string, unknown>>): readonly Term[] {
  const inner = typeof reason.features === "object" && reason.features ? Object.keys(reason.features) : [];
  const shown = Object.keys(reason).map((key) => (key === "q_values" ? "q_behind" : key));
  return [...shown, ...inner].flatMap((key) => REASON_WORDS[key] ?? []);
}
