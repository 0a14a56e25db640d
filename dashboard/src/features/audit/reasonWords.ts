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
  requested_s: word("requested time", "Run time that the user asked for, which may be too long.", "seconds"),
  requested_gpus: word("requested GPUs", "GPUs that the task asked for."),
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
  way: word(
    "rule in force",
    "The simple rule that would have served the latest tasks best; the strategy decides as that rule does, with the seconds that it believes.",
  ),
  mean_latency_of_ways: word(
    "mean latency of each rule",
    "How long the latest tasks would have taken on average, waiting included, had each of these rules placed them.",
    "seconds",
  ),
  believed_s: word(
    "believed seconds",
    "How long the task would take on each device alone, as learned from earlier tasks of its kind.",
    "seconds",
  ),
  corrected_s: word(
    "corrected seconds",
    "The believed seconds after what the forest makes of this task's features.",
    "seconds",
  ),
  forest_share: word(
    "weight of the forest",
    "How much of the forest's correction counts, 0 to 1; nothing where it did not help on tasks that it was not grown on.",
    "share",
  ),
  kind: word("kind number", "Which kind of work this is, as a number that the forest can use."),
  log_nominal_s: word(
    "formula, log s",
    "The natural logarithm of the seconds that the formula gives for this device.",
  ),
  device_type: word("device type", "Which device these features are about: 0 is the CPU."),
  fastest_s: word("fastest execution", "The least time the task can run if its devices are free.", "seconds"),
  held: word("tasks held", "Ready tasks that the strategy keeps until a device is free."),
  held_before_it: word("held before it", "How many of the held tasks go first."),
  overdue: word("overdue", "How many held tasks have been passed over for so long that they go first."),
  splits: word("may split", "Whether a task may be shared between the CPU and a GPU."),
  price: word("price of a device", "What one second of a device counts against finishing sooner."),
  low: word(
    "limit of the first GPU",
    "The first GPU takes nothing longer than this many mean tasks, so that short ones find it free; – is no limit.",
  ),
  ratio: word("step of the limits", "By how much the limit of each further GPU is higher."),
  cpu: word("limit of the CPU", "The CPU takes nothing longer than this many mean tasks; – is no limit."),
  slowest: word(
    "slowest that is accepted",
    "Above 0 nothing is planned: a free device takes waiting tasks, but none that another does more than so many times as fast.",
  ),
  affinity: word(
    "affinity",
    "How much a free device leaves alone what is quicker elsewhere; 0 looks at its own seconds only.",
  ),
  patience: word("patience", "How long a task may be passed over; 0 is first come, first served."),
  soonest: word("soonest first", "Whether what any device can end soonest goes first, as Min-Min has it."),
  reviews: word("reviews", "How often the strategy has reviewed its settings so far."),
  gate_acted: word(
    "vetoes",
    "How often the best of the plain rules took over, because the chosen setting did worse on the latest tasks.",
  ),
  grid: word("grid", "Execution time for every share on the oracle's grid, as if the devices were free."),
  execution_s: word("execution time", "Time the task runs as if its devices were free.", "seconds"),
};

/** The meanings of those words that a reason uses, for the “i” of a widget. */
export function knownReasons(reason: Readonly<Record<string, unknown>>): readonly Term[] {
  const inner = [reason.features, reason.setting].flatMap((one) =>
    typeof one === "object" && one ? Object.keys(one) : [],
  );
  const shown = Object.keys(reason).map((key) => (key === "q_values" ? "q_behind" : key));
  return [...shown, ...inner].flatMap((key) => REASON_WORDS[key] ?? []);
}
