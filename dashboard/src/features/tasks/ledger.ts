/** The ledger's question to the service, kept in the URL. */

import { pathsApiHistoryLedgerGetParametersQuerySortValues as SORTS } from "@/client/schema";

/** The columns that the service can sort by: its own list, generated from its description. */
export { SORTS };

export type LedgerSort = (typeof SORTS)[number];

export interface LedgerAsk {
  sort: LedgerSort;
  order: "asc" | "desc";
  scheduler: string;
  device: string;
  task: string;
  page: number;
}

export const PAGE_ROWS = 50;

/** What the URL asks for; anything odd falls back to the newest first. */
export function askOf(params: URLSearchParams): LedgerAsk {
  const sort = SORTS.find((name) => name === params.get("sort")) ?? "task_id";
  const page = Number(params.get("page") ?? 1);
  const task = params.get("find") ?? "";
  return {
    sort,
    order: params.get("order") === "asc" ? "asc" : "desc",
    scheduler: params.get("by") ?? "",
    device: params.get("on") ?? "",
    task: /^\d{1,15}$/.test(task) ? task : "",
    page: Number.isInteger(page) && page >= 1 && page <= 1_000_000 ? page : 1,
  };
}

/** Whether only some of all rows are asked for. */
export const isFiltered = (ask: LedgerAsk): boolean =>
  ask.scheduler !== "" || ask.device !== "" || ask.task !== "" || ask.page > 1;

/** The question as the API takes it. */
export function queryOf(ask: LedgerAsk): string {
  const query = new URLSearchParams({
    limit: String(PAGE_ROWS),
    offset: String((ask.page - 1) * PAGE_ROWS),
    sort: ask.sort,
    order: ask.order,
  });
  if (ask.scheduler) query.set("scheduler", ask.scheduler);
  if (ask.device) query.set("device", ask.device);
  if (ask.task) query.set("task_id", ask.task);
  return query.toString();
}

/** The change of the URL when a column's head is pressed: first descending, then ascending. */
export function sortedBy(ask: LedgerAsk, column: LedgerSort): { sort: string; order: string; page: null } {
  const order = ask.sort === column && ask.order === "desc" ? "asc" : "desc";
  return { sort: column, order, page: null };
}
