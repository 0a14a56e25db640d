/** What is read over HTTP, each with its own pace; once more when the race comes to a stand, and then no more. */
import { keepPreviousData, QueryClient, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import type { WindowKey } from "@/lib/window";
import { isMoving } from "@/live/stand";
import { useLive } from "@/live/store";
import { ask, ServiceProblem } from "./http";
import type {
  Adaptation,
  Beliefs,
  GpuTypeCard,
  Health,
  LedgerPage,
  LoadHistory,
  Models,
  NodeMotion,
  Preset,
  ServiceCard,
  Stats,
  StrategyCard,
  TaskAudit,
  Trend,
} from "./types";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1000,
      gcTime: 60_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && !(error instanceof ServiceProblem && error.status >= 400),
    },
  },
});

/** A pace that stops when the race is paused or the connection is gone. */
function usePace(everyMs: number): number | false {
  const moving = useLive((s) => s.connection.phase === "live" && s.update !== null && isMoving(s.update));
  return moving ? everyMs : false;
}

/** The number of the stored run that is looked at; null where it is the race itself. */
export function useStoredRun(): number | null {
  const text = useSearchParams()[0].get("run");
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The task whose moment of a stored run is looked at; null where it is the end. */
export function useMoment(): number | null {
  const [params] = useSearchParams();
  const text = params.has("run") ? params.get("at") : null;
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The strategies, asked for anew with every run: another one may race others. Empty until they are known. */
export function useStrategies(): readonly StrategyCard[] {
  const run = useLive((s) => s.update?.status.run_id ?? null);
  return (
    useQuery({
      queryKey: ["strategies", run],
      queryFn: () => ask<StrategyCard[]>("/api/strategies"),
      staleTime: 60_000,
      placeholderData: keepPreviousData,
    }).data ?? []
  );
}

export function usePresets(): readonly Preset[] {
  return (
    useQuery({
      queryKey: ["presets"],
      queryFn: () => ask<Preset[]>("/api/presets"),
      staleTime: Number.POSITIVE_INFINITY,
    }).data ?? []
  );
}

/** The types of GPU that a new run's node can have. */
export function useGpuTypes(): readonly GpuTypeCard[] {
  return (
    useQuery({
      queryKey: ["gpu-types"],
      queryFn: () => ask<GpuTypeCard[]>("/api/gpu_types"),
      staleTime: Number.POSITIVE_INFINITY,
    }).data ?? []
  );
}

/** Whether this service only shows a race that another one runs; then nothing can be steered here. */
export function useFollows(): boolean {
  const card = useQuery(
    {
      queryKey: ["settings"],
      queryFn: () => ask<ServiceCard>("/api/settings"),
      staleTime: 60_000,
    },
    queryClient,
  ).data;
  return card?.follows ?? false;
}

/** What the service says of its engine; asked for where nothing is heard of the race. */
export function useEngineWords(): string {
  const health = useQuery(
    { queryKey: ["health"], queryFn: () => ask<Health>("/api/health"), refetchInterval: 3000, retry: false },
    queryClient,
  ).data;
  return health && health.engine.status !== "ok" ? health.engine.detail : "";
}

/** `&run_id=3` where a stored run is looked at, and the moment of it; of the race itself the service knows. */
const ofRun = (run: number | null, at: number | null = null): string =>
  run === null ? "" : `&run_id=${run}${at === null ? "" : `&last_task=${at}`}`;

export function useStats(window: WindowKey, scheduler: string): UseQueryResult<Stats> {
  const asked = window === "latest" ? 1000 : window;
  const run = useStoredRun();
  const at = useMoment();
  return useQuery({
    queryKey: ["stats", window, scheduler, run, at],
    queryFn: () =>
      ask<Stats>(`/api/stats?window=${asked}&scheduler=${encodeURIComponent(scheduler)}${ofRun(run, at)}`),
    refetchInterval: usePace(4000),
    placeholderData: keepPreviousData,
  });
}

/** The devices of two strategies around now; asked for every second while the race moves. */
export function useNode(names: readonly [string, string] | null, spanS: number): UseQueryResult<NodeMotion> {
  const chosen = [...new Set(names ?? [])].map((name) => `scheduler=${encodeURIComponent(name)}`).join("&");
  const run = useStoredRun();
  const at = useMoment();
  return useQuery({
    queryKey: ["node", chosen, spanS, run, at],
    queryFn: () => ask<NodeMotion>(`/api/node?${chosen}&seconds=${spanS}${ofRun(run, at)}`),
    enabled: names !== null,
    refetchInterval: usePace(1000),
    placeholderData: keepPreviousData,
  });
}

export function useLedger(query: string, follow: boolean): UseQueryResult<LedgerPage> {
  const pace = usePace(2500);
  return useQuery({
    queryKey: ["ledger", query],
    queryFn: () => ask<LedgerPage>(`/api/history/ledger?${query}`),
    refetchInterval: follow ? pace : false,
    placeholderData: keepPreviousData,
  });
}

/** The trend of the whole run, or of its `latest` tasks, from what is stored. */
export function useTrend(points: number, latest?: number): UseQueryResult<Trend> {
  const run = useStoredRun();
  const at = useMoment();
  const newest = latest === undefined ? "" : `&latest=${latest}`;
  return useQuery({
    queryKey: ["trend", points, latest, run, at],
    queryFn: () => ask<Trend>(`/api/history/trend?points=${points}${newest}${ofRun(run, at)}`),
    refetchInterval: usePace(latest === undefined ? 5000 : 2500),
    placeholderData: keepPreviousData,
  });
}

/** How busy the devices of a strategy were over the last simulated seconds, from what is stored. */
export function useLoadHistory(scheduler: string, spanS: number): UseQueryResult<LoadHistory> {
  const run = useStoredRun();
  const at = useMoment();
  return useQuery({
    queryKey: ["load", scheduler, spanS, run, at],
    queryFn: () =>
      ask<LoadHistory>(
        `/api/history/load?scheduler=${encodeURIComponent(scheduler)}&span_s=${spanS}${ofRun(run, at)}`,
      ),
    refetchInterval: usePace(2500),
    placeholderData: keepPreviousData,
  });
}

/** Those retrainings that had happened when a task arrived. */
function upTo(found: Models, at: number): Models {
  const models = found.models.filter((one) => one.task_id <= at);
  return { models, total: found.total - (found.models.length - models.length) };
}

/** The retrainings of the run that is shown. */
export function useModels(limit: number): UseQueryResult<Models> {
  const present = useLive((s) => s.update?.status.run_id ?? null);
  const run = useStoredRun() ?? present;
  const at = useMoment();
  return useQuery({
    queryKey: ["models", limit, run],
    queryFn: () => ask<Models>(`/api/models?limit=${limit}${ofRun(run)}`),
    refetchInterval: usePace(5000),
    placeholderData: keepPreviousData,
    select: (found) => (at === null ? found : upTo(found, at)),
  });
}

/** The run around one of its changes, the last one unless the first task of another is named. */
export function useAdaptation(change: number | null): UseQueryResult<Adaptation> {
  const run = useStoredRun();
  const which = change === null ? "" : `&change=${change}`;
  return useQuery({
    queryKey: ["adaptation", change, run],
    queryFn: () => ask<Adaptation>(`/api/learning/adaptation?tasks=2000${which}${ofRun(run)}`),
    refetchInterval: usePace(4000),
    placeholderData: keepPreviousData,
  });
}

/** What a strategy believed of durations against what happened. */
export function useBeliefs(scheduler: string | null): UseQueryResult<Beliefs> {
  const run = useStoredRun();
  return useQuery({
    queryKey: ["beliefs", scheduler, run],
    queryFn: () =>
      ask<Beliefs>(`/api/learning/beliefs?scheduler=${encodeURIComponent(scheduler ?? "")}${ofRun(run)}`),
    enabled: scheduler !== null,
    refetchInterval: usePace(4000),
    placeholderData: keepPreviousData,
  });
}

export function useAudit(taskId: number): UseQueryResult<TaskAudit> {
  return useQuery({
    queryKey: ["audit", taskId],
    queryFn: () => ask<TaskAudit>(`/api/tasks/${taskId}`),
    staleTime: 30_000,
  });
}
