/** What keeps this page from the race, or the race from going on. */
import { useLive } from "@/live/store";

/** Why a service that follows does not hear the race; what is shown is then the last it heard. */
export const useOutOfSight = (): string | null => useLive((s) => s.update?.status.out_of_sight ?? null);

/** Why the race cannot go on. */
export const useProblem = (): string | null => useLive((s) => s.update?.status.problem ?? null);

/** Whether a command would be heard at all. */
export const useReached = (): boolean => useLive((s) => s.connection.phase === "live");

/** Whether the race could obey: of one that cannot go on, only a new run can be asked for. */
export function useSteerable(): boolean {
  const reached = useReached();
  return useProblem() === null && reached;
}
