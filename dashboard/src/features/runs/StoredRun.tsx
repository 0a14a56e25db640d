import { lazy, type ReactNode, Suspense } from "react";
import { useMoment, useStoredRun } from "@/client/queries";
import { Loading } from "@/features/widgets/States";
import { useLive } from "@/live/store";

const PastRun = lazy(async () => ({ default: (await import("./PastRun")).PastRun }));

/** The views below show the race, or the stored run that the address names. */
export function StoredRun({ children }: { children: ReactNode }) {
  const run = useStoredRun();
  const at = useMoment();
  const present = useLive((s) => s.update?.status.run_id ?? null);
  if (run === null || (run === present && at === null)) return children;
  return (
    <Suspense fallback={<Loading title={`Reading run ${run}`} />}>
      <PastRun key={run} run={run}>
        {children}
      </PastRun>
    </Suspense>
  );
}
