/** What every figure on the screen means: its unit, its window, its formula in words. One place, so that all views agree. */
import { metricOf } from "./catalogue";

export interface Term {
  term: string;
  meaning: string;
}

const SAME_STREAM =
  "Mean over the tasks of the chosen window that every strategy has finished that is not behind.";
const SAME_TASKS =
  "Over the same tasks as the means; over more than 1,000 tasks it is within half a per cent.";

/** A metric as the catalogue explains it, and which tasks it is of. */
function termOf(key: string, scope = ""): Term {
  const metric = metricOf(key);
  return { term: metric.short, meaning: scope ? `${metric.meaning} ${scope}` : metric.meaning };
}

export const TERMS = {
  time: termOf("mean_time_s", SAME_STREAM),
  latency: termOf("mean_latency_s", SAME_STREAM),
  p95: termOf("p95_latency_s", SAME_TASKS),
  wait: termOf("mean_wait_s", SAME_STREAM),
  waiting: {
    term: "Waiting",
    meaning: `Latency minus execution time: what queues, and parents that were not ready, added. ${SAME_STREAM}`,
  },
  work: {
    term: "Work for every second",
    meaning:
      "Seconds of work that a strategy gives to a device in each simulated second of the window. Above 1 the device cannot keep up and its queue grows.",
  },
  energy: termOf("mean_energy_j", SAME_STREAM),
  cost: termOf("mean_cost_usd", SAME_STREAM),
  makespan: {
    term: "Makespan",
    meaning:
      "When the last task so far finishes, in simulated seconds from the beginning of the chosen window.",
  },
  timeGap: termOf("time_gap"),
  makespanGap: termOf("makespan_gap"),
  bound: {
    term: "Proven bound",
    meaning:
      "A value that no strategy can beat on these tasks and this cluster, however clever; computed from the tasks alone and renewed every few seconds.",
  },
  efficiency: termOf("efficiency"),
  oom: termOf("oom_count"),
  tasks: { term: "Tasks", meaning: "Tasks of this run that every strategy has decided." },
  simulated: { term: "Simulated", meaning: "The clock of the simulation: hours, minutes and seconds." },
  pace: {
    term: "Pace",
    meaning:
      "Tasks for each second of your time, as measured over the last seconds; Speed is what was asked for.",
  },
  speed: {
    term: "Speed",
    meaning: "How many tasks are raced in a second of your time. It changes no result.",
  },
  load: {
    term: "Load",
    meaning: "How many tasks arrive in a second of simulated time, on average (a Poisson process).",
  },
  busy60: {
    term: "Busy, last 60 s",
    meaning: "Share of the last 60 simulated seconds in which the device worked.",
  },
  busyRun: { term: "Busy, whole run", meaning: "Share of the whole run in which the device worked." },
  queue: { term: "In queue", meaning: "Parts of tasks that wait or run on the device now." },
  backlog: {
    term: "Free in",
    meaning:
      "Simulated seconds until the device has done all that is promised to it, as far as the strategy knows.",
  },
  spread: {
    term: "Spread",
    meaning:
      "Standard deviation of the 100 trees' predictions: how much they disagree about the share. Shown after ±.",
  },
  confidence: {
    term: "Confidence",
    meaning: "1 − 2 × spread, at least 0: 100 % when all trees agree. Not a probability of being right.",
  },
} as const satisfies Record<string, Term>;

export type TermKey = keyof typeof TERMS;

export const termsOf = (...keys: TermKey[]): readonly Term[] => keys.map((key) => TERMS[key]);
