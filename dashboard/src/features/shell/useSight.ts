/** What keeps this page from the race, or the race from going on. */
import { useEffect, useState } from "react";
import { isMoving } from "@/live/stand";
import { silentForS, useLive } from "@/live/store";

/** Updates come twice a second; a machine with much to do may be late, but not by this much. */
const SILENT_S = 5;

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

/** Whole seconds in which nothing was heard of a race that should move; 0 while it is heard. */
export function useSilence(): number {
  const moves = useLive((s) => s.connection.phase === "live" && s.update !== null && isMoving(s.update));
  const [silentS, setSilentS] = useState(0);
  useEffect(() => {
    const look = (): void => setSilentS(moves && silentForS() >= SILENT_S ? Math.floor(silentForS()) : 0);
    look();
    const timer = setInterval(look, 1000);
    return () => clearInterval(timer);
  }, [moves]);
  return silentS;
}
