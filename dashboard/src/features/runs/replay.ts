/** Replaying a stored run: the moment that is shown is a task of it, kept in the address as `at`. */

export const REPLAY_SPEEDS: readonly { value: number; label: string }[] = [
  { value: 10, label: "10 tasks/s" },
  { value: 50, label: "50 tasks/s" },
  { value: 200, label: "200 tasks/s" },
  { value: 1000, label: "1,000 tasks/s" },
  { value: 5000, label: "5,000 tasks/s" },
];

/** While it plays, another moment is shown this often. */
export const REPLAY_EVERY_MS = 500;

export interface Ends {
  first: number;
  last: number;
}

/** The task of a moment, within the run. */
export const within = (task: number, { first, last }: Ends): number =>
  Math.min(last, Math.max(first, Math.round(task)));

/** The moment after some time; at the end it stays there. */
export function movedOn(at: number, ends: Ends, tasksPerS: number, passedMs: number): number {
  return within(at + Math.max(1, (tasksPerS * passedMs) / 1000), ends);
}
