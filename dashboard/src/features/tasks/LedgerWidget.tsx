import { useLedger } from "@/client/queries";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count } from "@/lib/format";
import { termsOf } from "@/lib/glossary";
import { useView } from "@/lib/url";
import { LedgerFilters } from "./LedgerFilters";
import { LedgerTable } from "./LedgerTable";
import { askOf, isFiltered, PAGE_ROWS, queryOf, SORTS, sortedBy } from "./ledger";

/** What the CSV of a page holds: everything that can be sorted by, and the numbers of row and run. */
const COLUMNS = ["result_id", "run_id", ...SORTS] as const;

/** The ledger: every decision and what came of it. Click a row to see that task from every side. */
export function LedgerWidget() {
  const [params, change] = useView();
  const ask = askOf(params);
  const newestFirst = ask.page === 1 && ask.sort === "task_id" && ask.order === "desc";
  const answer = useLedger(queryOf(ask), newestFirst);
  const page = answer.data;
  const first = (ask.page - 1) * PAGE_ROWS + 1;
  const last = first - 1 + (page?.rows.length ?? 0);
  const total = page ? `${page.total_is_exact ? "" : "more than "}${count(page.total)}` : "–";
  const more = page ? last < page.total || !page.total_is_exact : false;
  const table = () => ({
    columns: COLUMNS,
    rows: (page?.rows ?? []).map((row) => COLUMNS.map((column) => row[column])),
  });
  const foot = (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="figure" data-ledger-total={page?.total ?? ""}>
        {last < first ? "No rows." : `Rows ${count(first)}–${count(last)} of ${total}.`}{" "}
        {newestFirst
          ? "Follows the race."
          : "Stands still while sorted or turned; press Task to follow again."}
      </span>
      <span className="ml-auto flex gap-1.5" data-no-picture="true">
        <a
          className="press px-2 py-0.5 text-xs"
          href="/api/history/export?format=csv&table=scheduler_results"
          download
        >
          All rows as CSV
        </a>
        <button
          type="button"
          className="press px-2 py-0.5 text-xs"
          disabled={ask.page === 1}
          onClick={() => change({ page: ask.page === 2 ? null : ask.page - 1 })}
        >
          Previous
        </button>
        <button
          type="button"
          className="press px-2 py-0.5 text-xs"
          disabled={!more}
          onClick={() => change({ page: ask.page + 1 })}
        >
          Next
        </button>
      </span>
    </div>
  );
  return (
    <Widget
      title="Ledger"
      meaning="Every stored decision of every strategy with what came of it, over all runs. Sorting and filters work on all rows in the database, not on this page. Press a row to see the task from every side."
      terms={termsOf("time", "latency", "wait", "energy", "cost")}
      table={table}
      controls={<LedgerFilters ask={ask} onChange={change} />}
      foot={foot}
    >
      <Answer
        data={page}
        error={answer.error}
        isEmpty={(p) => p.rows.length === 0}
        empty={isFiltered(ask) ? "No decision matches" : "No decision yet"}
      >
        {(p) => (
          <LedgerTable
            rows={p.rows}
            ask={ask}
            onSort={(column) => change(sortedBy(ask, column))}
            onOpen={(id) => change({ task: id }, true)}
          />
        )}
      </Answer>
    </Widget>
  );
}
