/** Which node and which policy: asked for, followed, cancelled, removed. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { obeyed } from "./commands";
import { ask } from "./http";
import { queryClient } from "./queries";
import type { Recommendation, RecommendationDemand, RecommendationList } from "./types";

const KEY = ["recommendations"];
const readAgain = (): Promise<void> => queryClient.invalidateQueries({ queryKey: KEY });

/** All that are kept, newest first; asked for every second while one is searched for. */
export function useRecommendations(): UseQueryResult<RecommendationList> {
  return useQuery({
    queryKey: KEY,
    queryFn: () => ask<RecommendationList>("/api/recommendations"),
    refetchInterval: (query) =>
      query.state.data?.recommendations.some((one) => one.state === "running") ? 1000 : false,
  });
}

export async function askForRecommendation(demand: RecommendationDemand): Promise<Recommendation | null> {
  const answer = await obeyed(() => ask<Recommendation>("/api/recommendations", "POST", demand));
  await readAgain();
  return answer;
}

export async function cancelRecommendation(id: number): Promise<void> {
  await obeyed(() => ask<Recommendation>(`/api/recommendations/${id}/cancel`, "POST"));
  await readAgain();
}

export async function removeRecommendation(id: number): Promise<void> {
  await obeyed(() => ask<unknown>(`/api/recommendations/${id}`, "DELETE"));
  await readAgain();
}
