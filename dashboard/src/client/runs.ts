/** Stored runs: what is read and what a person can change. */
import { keepPreviousData, queryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { obeyed } from "./commands";
import { ask } from "./http";
import { queryClient } from "./queries";
import type {
  BranchRequest,
  RunCard,
  RunComparison,
  RunList,
  RunPatch,
  SimulationStatus,
  Snapshot,
} from "./types";

export function useRuns(limit: number): UseQueryResult<RunList> {
  return useQuery({
    queryKey: ["runs", limit],
    queryFn: () => ask<RunList>(`/api/runs?limit=${limit}`),
    refetchInterval: ({ state }) => (state.data?.runs.some(isUnderWay) ? UNDER_WAY_MS : 10_000),
    placeholderData: keepPreviousData,
  });
}

/** A real run under way grows by the second. */
const UNDER_WAY_MS = 1_500;
const isUnderWay = (run: RunCard): boolean => run.measured?.is_running ?? false;

export const runQuery = (run: number) =>
  queryOptions({
    queryKey: ["run", run],
    queryFn: () => ask<RunCard>(`/api/runs/${run}`),
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data) ? UNDER_WAY_MS : false),
  });

export function useRun(run: number): UseQueryResult<RunCard> {
  return useQuery(runQuery(run));
}

/** What a stored run showed last, or how it stood at a task: neither changes any more, unless a real run is under way. */
export function useSnapshot(run: number, at: number | null): UseQueryResult<Snapshot> {
  const card = useRun(run).data;
  const grows = card !== undefined && isUnderWay(card);
  return useQuery({
    queryKey: ["snapshot", run, at, grows],
    queryFn: () => ask<Snapshot>(`/api/runs/${run}/snapshot${at === null ? "" : `?task_id=${at}`}`),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: grows ? UNDER_WAY_MS : false,
    placeholderData: keepPreviousData,
  });
}

export function useComparison(runs: readonly number[]): UseQueryResult<RunComparison> {
  return useQuery({
    queryKey: ["comparison", ...runs],
    queryFn: () => ask<RunComparison>(`/api/runs/compare?${runs.map((run) => `run=${run}`).join("&")}`),
    enabled: runs.length > 1,
    placeholderData: keepPreviousData,
  });
}

/** Begin a run that leaves a stored one; the caller has asked the person before. */
export async function branchRun(run: number, request: BranchRequest): Promise<SimulationStatus | null> {
  const status = await obeyed(() => ask<SimulationStatus>(`/api/runs/${run}/branch`, "POST", request));
  await readAgain();
  return status;
}

const CHANGED = new Set(["runs", "run", "comparison", "trend", "ledger"]);

const readAgain = (): Promise<void> =>
  queryClient.invalidateQueries({ predicate: ({ queryKey }) => CHANGED.has(String(queryKey[0])) });

/** Give a run a name or a note. */
export async function describeRun(run: number, patch: RunPatch): Promise<boolean> {
  const answer = await obeyed(() => ask<RunCard>(`/api/runs/${run}`, "PATCH", patch));
  await readAgain();
  return answer !== null;
}

/** Remove a run with all its rows; the caller has asked the person before. */
export async function removeRun(run: number): Promise<boolean> {
  const answer = await obeyed(() => ask<unknown>(`/api/runs/${run}`, "DELETE"));
  await readAgain();
  return answer !== null;
}
