import { useLedger, useMoment, useStoredRun } from "@/client/queries";
import type { LedgerPage } from "@/client/types";
import { Answer } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { count } from "@/lib/format";
import { termsOf } from "@/lib/glossary";
import { type RunWords, useRunWords } from "@/lib/runWords";
import { type Params, useView } from "@/lib/url";
import { useLive } from "@/live/store";
import { LedgerFilters } from "./LedgerFilters";
import { LedgerTable } from "./LedgerTable";
import {
  askOf,
  FIRST_PAGE,
  isFiltered,
  isNewest,
  type LedgerAsk,
  queryOf,
  SORTS,
  sortedBy,
  upTo,
} from "./ledger";

/** What the CSV of a page holds: everything that can be sorted by, and the numbers of row and run. */
const COLUMNS = ["result_id", "run_id", ...SORTS] as const;

interface PagesProps {
  page: LedgerPage | undefined;
  words: string;
  onTurn: (change: Params) => void;
}

/** What is seen of how much, and the way to the neighbouring pages. */
function Pages({ page, words, onTurn }: PagesProps) {
  const turn = (change: Params): void => onTurn({ ...FIRST_PAGE, ...change });
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="figure" data-ledger-total={page?.total ?? ""}>
        {words}
      </span>
      <span className="ml-auto flex flex-wrap gap-1.5" data-no-picture="true">
        <a
          className="press px-2 py-0.5 text-xs"
          href="/api/history/export?format=csv&table=scheduler_results"
          download
        >
          All rows of all runs as CSV
        </a>
        <button
          type="button"
          className="press px-2 py-0.5 text-xs"
          disabled={!page?.previous}
          onClick={() => turn({ before: page?.previous ?? null })}
        >
          Previous
        </button>
        <button
          type="button"
          className="press px-2 py-0.5 text-xs"
          disabled={!page?.next}
          onClick={() => turn({ after: page?.next ?? null })}
        >
          Next
        </button>
      </span>
    </div>
  );
}

function footOf(page: LedgerPage | undefined, ask: LedgerAsk, words: RunWords, moving: boolean): string {
  if (!page) return "–";
  if (page.rows.length === 0) return "No row matches.";
  const where = ask.run === "all" ? "all runs" : `run ${ask.run}`;
  const known =
    ask.run === "all" ? "" : `, tasks ${words.task(page.first_task)} to ${words.task(page.last_task)}`;
  const shown = `${count(page.rows.length)} of ${count(page.total)} rows of ${where}${known}.`;
  if (!moving) return shown;
  return `${shown} ${isNewest(ask) ? "Follows the race." : "Stands still while sorted or turned; press Task to follow again."}`;
}

/** The ledger: every decision and what came of it. Click a row to see that task from every side. */
export function LedgerWidget() {
  const [params, change] = useView();
  const present = useLive((s) => s.update?.status.run_id ?? null);
  const shownRun = useStoredRun() ?? present;
  const moving = useLive((s) => s.update?.status.state === "running");
  const moment = useMoment();
  const asked = askOf(params, shownRun);
  // A moment of a stored run ends its rows, unless an earlier task was asked for.
  const ask = moment === null || asked.run === "all" ? asked : { ...asked, to: upTo(asked.to, moment) };
  const words = useRunWords(ask.run === "all" ? null : shownRun);
  const ids = { task: words.idOf(ask.task), from: words.idOf(ask.from), to: words.idOf(ask.to) };
  const answer = useLedger(queryOf({ ...ask, ...ids }), isNewest(ask));
  const page = answer.data;
  const table = () => ({
    columns: COLUMNS,
    rows: (page?.rows ?? []).map((row) => COLUMNS.map((column) => row[column])),
  });
  return (
    <Widget
      title="Ledger"
      meaning="Every stored decision of every strategy with what came of it. Sorting, filters and the total are over all rows in the database, not only this page; rows that retention has removed are gone. Press a row to see the task from every side."
      terms={termsOf("time", "latency", "wait", "energy", "cost")}
      table={table}
      controls={<LedgerFilters ask={asked} onChange={change} />}
      foot={<Pages page={page} words={footOf(page, ask, words, moving)} onTurn={change} />}
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
