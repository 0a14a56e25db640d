/** What every figure on the screen means: its unit, its window, its formula in words. One place, so that all views agree. */

export interface Term {
  term: string;
  meaning: string;
}

const SAME_STREAM = "Mean over the finished tasks of the chosen window";

export const TERMS = {
  time: {
    term: "Time",
    meaning: `Execution time: how long a task runs as if its devices were free; for a split, the longer of the two parts. ${SAME_STREAM}.`,
  },
  latency: {
    term: "Latency",
    meaning: `Finish minus arrival, in simulated time: waiting for parents and queues included. ${SAME_STREAM}.`,
  },
  p95: {
    term: "p95",
    meaning:
      "95 of 100 tasks had a shorter latency, in the same window as the means. Over more than 1,000 tasks it is within half a per cent.",
  },
  wait: {
    term: "Wait",
    meaning: `Finish minus ready minus execution time: what queues added. ${SAME_STREAM}.`,
  },
  waiting: {
    term: "Waiting",
    meaning: `Latency minus execution time: what queues, and parents that were not ready, added. ${SAME_STREAM}.`,
  },
  work: {
    term: "Work for every second",
    meaning:
      "Seconds of work that a strategy gives to a device in each simulated second of the window. Above 1 the device cannot keep up and its queue grows.",
  },
  energy: {
    term: "Energy",
    meaning: `Busy seconds of each device times its power while busy, in joules for each task. ${SAME_STREAM}.`,
  },
  cost: {
    term: "Cost",
    meaning: `Busy device time at the plan's rates. 1 µ$ is a millionth of a dollar. ${SAME_STREAM}.`,
  },
  makespan: {
    term: "Makespan",
    meaning:
      "When the last task so far finishes, in simulated seconds from the beginning of the chosen window.",
  },
  timeGap: {
    term: "Time gap",
    meaning:
      "Sum of this strategy's execution times ÷ the proven least sum − 1. The least time of a task is the best split, with any share, on free devices.",
  },
  makespanGap: {
    term: "Makespan gap",
    meaning:
      "This strategy's makespan ÷ the proven bound − 1. Under light load everybody ends with the last arrival, and the gap is nearly nothing.",
  },
  bound: {
    term: "Proven bound",
    meaning:
      "A value that no strategy can beat on these tasks and this cluster, however clever; computed from the tasks alone and renewed every few seconds.",
  },
  efficiency: {
    term: "Efficiency",
    meaning:
      "The oracle's execution time ÷ this strategy's. 100 % is the oracle; its grid has 5 % steps, so a little more is possible.",
  },
  oom: {
    term: "OOM",
    meaning: "Tasks whose share did not fit a GPU's memory and were handled by the plan's rule for that.",
  },
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
    meaning: "Simulated seconds until the device has done all that is promised to it.",
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
