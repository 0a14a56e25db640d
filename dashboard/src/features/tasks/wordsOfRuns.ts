/** The words of several runs: the ledger of all runs holds rows of real ones, too. */
import { useQueries } from "@tanstack/react-query";
import { runQuery } from "@/client/runs";
import { type RunWords, wordsOf } from "@/lib/runWords";

export function useWordsOfRuns(runs: readonly number[]): ReadonlyMap<number, RunWords> {
  return useQueries({
    queries: runs.map((run) => ({ ...runQuery(run), staleTime: 5000 })),
    combine: (answers) => new Map(runs.map((run, i) => [run, wordsOf(answers[i]?.data)])),
  });
}
