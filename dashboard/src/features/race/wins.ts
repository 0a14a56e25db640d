/** The order of the win/loss matrix. */
import type { WinMatrix } from "@/client/types";
import { isModelled } from "@/lib/useStrategy";

/** Rows and columns by wins minus losses, so that green gathers above the diagonal; names break ties, what has no shares and what is modelled come last. */
export function bestFirst(matrix: WinMatrix): Pick<WinMatrix, "schedulers" | "share" | "tasks"> {
  const lead = (i: number): number =>
    matrix.schedulers.reduce(
      (sum, _, j) => sum + (matrix.share[i]?.[j] ?? 0) - (matrix.share[j]?.[i] ?? 0),
      0,
    );
  const leads = matrix.schedulers.map((_, i) => lead(i));
  const below = (i: number): number =>
    2 * Number(isModelled(matrix.schedulers[i] ?? "")) +
    Number((matrix.share[i] ?? []).every((share) => share === null));
  const order = matrix.schedulers
    .map((_, i) => i)
    .sort((a, b) => below(a) - below(b) || (leads[b] ?? 0) - (leads[a] ?? 0) || a - b);
  return {
    tasks: matrix.tasks,
    schedulers: order.map((i) => matrix.schedulers[i] as string),
    share: order.map((i) => order.map((j) => matrix.share[i]?.[j] ?? null)),
  };
}
