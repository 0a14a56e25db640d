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
  /** The run whose rows are shown: its number, or "all". */
  run: string;
  /** The first and last task of a range, as typed. */
  from: string;
  to: string;
  /** Where the page begins or ends: words that the service has given. */
  after: string;
  before: string;
}

export const PAGE_ROWS = 50;

const whole = (text: string | null): string => (text !== null && /^\d{1,15}$/.test(text) ? text : "");

/** What the URL asks for; anything odd falls back to the newest rows first. */
export function askOf(params: URLSearchParams, shownRun: number | null): LedgerAsk {
  const sort = SORTS.find((name) => name === params.get("sort")) ?? "task_id";
  const own = shownRun === null ? "all" : String(shownRun);
  return {
    sort,
    order: params.get("order") === "asc" ? "asc" : "desc",
    scheduler: params.get("by") ?? "",
    device: params.get("on") ?? "",
    task: whole(params.get("find")),
    run: params.get("rows") === "all" ? "all" : own,
    from: whole(params.get("from")),
    to: whole(params.get("to")),
    after: params.get("after") ?? "",
    before: params.get("before") ?? "",
  };
}

/** The last task of a range, no later than a moment. */
export const upTo = (to: string, moment: number): string =>
  String(to === "" ? moment : Math.min(Number(to), moment));

/** Whether only some of all rows are asked for. */
export const isFiltered = (ask: LedgerAsk): boolean =>
  [ask.scheduler, ask.device, ask.task, ask.from, ask.to].some((text) => text !== "");

/** Whether the page is the first one of the newest tasks, which follows the race. */
export const isNewest = (ask: LedgerAsk): boolean =>
  ask.sort === "task_id" && ask.order === "desc" && ask.after === "" && ask.before === "";

/** The question as the API takes it. */
export function queryOf(ask: LedgerAsk): string {
  const query = new URLSearchParams({ limit: String(PAGE_ROWS), sort: ask.sort, order: ask.order });
  const filters: [string, string][] = [
    ["run_id", ask.run === "all" ? "" : ask.run],
    ["scheduler", ask.scheduler],
    ["device", ask.device],
    ["task_id", ask.task],
    ["first_task", ask.from],
    ["last_task", ask.to],
    ["after", ask.after],
    ["before", ask.after === "" ? ask.before : ""],
  ];
  for (const [key, value] of filters) if (value !== "") query.set(key, value);
  return query.toString();
}

/** Back to the first page, as after every other question. */
export const FIRST_PAGE = { after: null, before: null } as const;

/** The change of the URL when a column's head is pressed: first descending, then ascending. */
export function sortedBy(ask: LedgerAsk, column: LedgerSort): Record<string, string | null> {
  const order = ask.sort === column && ask.order === "desc" ? "asc" : "desc";
  return { sort: column, order, ...FIRST_PAGE };
}
