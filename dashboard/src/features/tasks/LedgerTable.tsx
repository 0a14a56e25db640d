import { createColumnHelper, rowSortingFeature, tableFeatures, useTable } from "@tanstack/react-table";
import { ArrowDown, ArrowUp } from "lucide-react";
import { useMemo } from "react";
import type { LedgerRow } from "@/client/types";
import { clock, count, digits, dollars, joules, NOTHING, percent, seconds } from "@/lib/format";
import { PLAIN, type RunWords } from "@/lib/runWords";
import { type FaceOf, useFaces } from "@/lib/useStrategy";
import type { LedgerAsk, LedgerSort } from "./ledger";
import { useWordsOfRuns } from "./wordsOfRuns";

export interface LedgerTableProps {
  rows: readonly LedgerRow[];
  ask: LedgerAsk;
  onSort: (column: LedgerSort) => void;
  onOpen: (taskId: number) => void;
}

const features = tableFeatures({ rowSortingFeature });
const helper = createColumnHelper<typeof features, LedgerRow>();

/** The numbers of tasks and the names of devices belong to the run of the row; a real run has its own. */
type WordsOf = (row: LedgerRow) => RunWords;

function columnsOf(face: FaceOf, of: WordsOf, onOpen: (id: number) => void) {
  return helper.columns([
    helper.accessor("task_id", {
      header: "Task",
      cell: (info) => (
        <button
          type="button"
          className="figure font-medium text-ml hover:underline"
          onClick={() => onOpen(info.getValue())}
          aria-label={`Decisions for task ${info.row.original.label || of(info.row.original).task(info.getValue())}`}
        >
          {info.row.original.label || of(info.row.original).task(info.getValue())}
        </button>
      ),
    }),
    helper.accessor("run_id", { header: "Run", cell: (info) => info.getValue() }),
    helper.accessor("scheduler", {
      header: "Strategy",
      cell: (info) => (
        <span className="inline-flex items-center gap-2">
          <span
            aria-hidden="true"
            className="size-2 rounded-full"
            style={{ background: face(info.getValue()).colour }}
          />
          {face(info.getValue()).label}
        </span>
      ),
    }),
    helper.accessor("device", {
      header: "Device",
      cell: (info) => of(info.row.original).device(info.getValue()),
    }),
    helper.accessor("gpu_fraction", { header: "GPU share", cell: (info) => percent(info.getValue()) }),
    helper.accessor("size", { header: "Size", cell: (info) => count(info.getValue()) }),
    helper.accessor("compute_intensity", {
      header: "Intensity",
      cell: (info) => (of(info.row.original).isMeasured ? NOTHING : digits(info.getValue(), 2)),
    }),
    helper.accessor("memory_required", {
      header: "Memory",
      cell: (info) => (of(info.row.original).isMeasured ? NOTHING : `${count(info.getValue())} MB`),
    }),
    helper.accessor("arrival_time", { header: "Arrived", cell: (info) => clock(info.getValue(), 2) }),
    helper.accessor("time", { header: "Time", cell: (info) => seconds(info.getValue()) }),
    helper.accessor("latency", { header: "Latency", cell: (info) => seconds(info.getValue()) }),
    helper.accessor("wait", { header: "Wait", cell: (info) => seconds(info.getValue()) }),
    helper.accessor("energy", { header: "Energy", cell: (info) => joules(info.getValue()) }),
    helper.accessor("cost", { header: "Cost", cell: (info) => dollars(info.getValue()) }),
  ]);
}

/** One sentence for each head: unit and meaning. */
const MEANINGS: Readonly<Record<LedgerSort | "run_id", string>> = {
  run_id: "Number of the run that the task belongs to; in order of task the runs follow each other",
  task_id: "Number of the task: continuous over all races, from 0 on in a real run",
  scheduler: "Who decided",
  device: "Where the task went",
  gpu_fraction: "Share of the task that was sent to a GPU",
  size: "Problem size, without a unit",
  compute_intensity: "How much the task gains from parallel hardware, 0 to 1",
  memory_required: "What must cross the bus to a GPU, in MB",
  arrival_time: "Simulated time at which the task arrived",
  time: "Execution time, as if the devices were free",
  latency: "Finish minus arrival, queues included",
  wait: "Finish minus ready minus execution time",
  energy: "Busy seconds times power, over its devices",
  cost: "Busy device time at the plan's rates; 1 µ$ is a millionth of a dollar",
};

const WORDS = new Set(["task_id", "run_id", "scheduler", "device"]);
const EMPTY: LedgerRow[] = [];

/** The rows as the service sorted them: the order holds over all pages, not only this one. */
export function LedgerTable({ rows, ask, onSort, onOpen }: LedgerTableProps) {
  const face = useFaces();
  const real = useMemo(
    () => [...new Set(rows.filter((row) => row.task_id < 0).flatMap((row) => row.run_id ?? []))],
    [rows],
  );
  const words = useWordsOfRuns(real);
  const columns = useMemo(
    () => columnsOf(face, (row) => (row.task_id < 0 && words.get(row.run_id ?? -1)) || PLAIN, onOpen),
    [face, words, onOpen],
  );
  const sorting = useMemo(() => [{ id: ask.sort, desc: ask.order === "desc" }], [ask.sort, ask.order]);
  const data = (rows as LedgerRow[]) ?? EMPTY;
  const table = useTable({
    features,
    columns,
    data,
    state: { sorting },
    manualSorting: true,
    getRowId: (row) => String(row.result_id),
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section aria-label="Ledger rows" className="h-full overflow-auto" tabIndex={0}>
      <table className="figure w-full text-xs">
        <thead className="sticky top-0 z-10" style={{ background: "var(--panel-solid)" }}>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => {
                const id = header.column.id as LedgerSort | "run_id";
                const on = ask.sort === id;
                if (id === "run_id")
                  return (
                    <th
                      key={id}
                      scope="col"
                      title={MEANINGS[id]}
                      className="px-1.5 py-1 text-left font-medium text-muted"
                    >
                      <table.FlexRender header={header} />
                    </th>
                  );
                return (
                  <th
                    key={header.id}
                    scope="col"
                    aria-sort={on ? (ask.order === "asc" ? "ascending" : "descending") : "none"}
                    className={`py-1 font-medium ${WORDS.has(id) ? "text-left" : "text-right"}`}
                  >
                    <button
                      type="button"
                      className={`inline-flex items-center min-h-6 gap-1 rounded px-1.5 py-0.5 whitespace-nowrap hover:bg-raised ${on ? "text-ml" : "text-muted"}`}
                      title={MEANINGS[id]}
                      onClick={() => onSort(id)}
                    >
                      <table.FlexRender header={header} />
                      {on &&
                        (ask.order === "asc" ? (
                          <ArrowUp size={12} aria-hidden="true" />
                        ) : (
                          <ArrowDown size={12} aria-hidden="true" />
                        ))}
                    </button>
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr
              key={row.id}
              className="cursor-pointer border-t border-line hover:bg-raised"
              data-task={row.original.task_id}
              onClick={() => onOpen(row.original.task_id)}
            >
              {row.getAllCells().map((cell) => (
                <td
                  key={cell.id}
                  data-column={cell.column.id}
                  className={`px-1.5 py-1.5 whitespace-nowrap ${WORDS.has(cell.column.id) ? "text-left" : "text-right"}`}
                >
                  <table.FlexRender cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
