/** Which tasks the statistics are about; part of the URL, shared by all widgets that show them. */
import { useView, wholeParam } from "@/lib/url";

export const WINDOWS = [200, 1000, 5000, 10_000] as const;

export interface StatsScope {
  window: number;
  scheduler: string;
}

export function useStatsScope(): StatsScope {
  const [params] = useView();
  return {
    window: wholeParam(params, "window", 1000, 10, 10_000),
    scheduler: params.get("of") ?? "hybrid_ml",
  };
}
