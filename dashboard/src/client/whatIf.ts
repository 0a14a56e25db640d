/** What other decisions would have done: asked for one task at a time, for each answer is a simulation. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { ask } from "./http";
import type { Costliest, WhatIfAnswer } from "./types";

export function useWhatIf(
  run: number | null,
  scheduler: string,
  task: number,
  isAsked: boolean,
): UseQueryResult<WhatIfAnswer> {
  return useQuery({
    queryKey: ["what-if", run, scheduler, task],
    queryFn: () =>
      ask<WhatIfAnswer>(
        `/api/runs/${run}/what_if?scheduler=${encodeURIComponent(scheduler)}&task_id=${task}`,
      ),
    enabled: isAsked && run !== null,
    staleTime: 60_000,
    retry: false,
  });
}

/** The decisions of a strategy that cost most; asked for when a person wants them. */
export function useCostliest(
  run: number | null,
  scheduler: string,
  isAsked: boolean,
): UseQueryResult<Costliest> {
  return useQuery({
    queryKey: ["costliest", run, scheduler],
    queryFn: () =>
      ask<Costliest>(`/api/runs/${run}/costliest?scheduler=${encodeURIComponent(scheduler)}&count=10`),
    enabled: isAsked && run !== null,
    staleTime: 30_000,
    retry: false,
  });
}
