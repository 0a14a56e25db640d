import type { ClusterLoad, Comparison } from "@/client/types";
import { Empty, Loading } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { digits, seconds } from "@/lib/format";
import { TERMS, termsOf } from "@/lib/glossary";
import { useRunWords } from "@/lib/runWords";
import { isModelled, useFaces } from "@/lib/useStrategy";
import { useWindow } from "@/lib/window";
import { devicesOf } from "@/live/devices";
import { useLive } from "@/live/store";
import { type Burden, burdenOf, heaviest } from "./load";

const TONES = { calm: "var(--good)", busy: "var(--warn)", over: "var(--bad)" } as const;
const JAM_S = 60;
const WORDS = { calm: "keeps up", busy: "nearly full", over: "overloaded" } as const;

function Bar({ label, value, most }: { label: string; value: number; most: number }) {
  const burden = burdenOf(value);
  return (
    <div className="grid grid-cols-[2.4rem_1fr_6.4rem] items-center gap-2 text-xs @max-2xl:col-span-2">
      <span className="text-muted">{label}</span>
      <span className="relative block h-3 rounded bg-raised" aria-hidden="true">
        <span
          className="absolute inset-y-0 left-0 rounded transition-[width] duration-500"
          style={{ width: `${Math.min(1, value / most) * 100}%`, background: TONES[burden] }}
        />
        <span className="absolute inset-y-[-2px] w-0.5 bg-ink" style={{ left: `${(1 / most) * 100}%` }} />
      </span>
      <span className="figure text-right whitespace-nowrap">
        <span className="font-semibold">{digits(value)}</span>
        {burden === "over" && <span className="text-bad"> overloaded</span>}
      </span>
    </div>
  );
}

/** How long the most promised device is promised; beyond a minute that is a jam, whatever the load is now. */
function Promised({ name }: { name: string }) {
  const cluster = useLive((s) => s.update?.clusters[name] as ClusterLoad | undefined);
  const { isMeasured } = useRunWords();
  const longest = Math.max(0, ...devicesOf(cluster).map(([, device]) => device.backlog_s));
  return (
    <span
      className={`figure text-right text-xs whitespace-nowrap @max-2xl:col-start-2 @max-2xl:row-start-1 ${longest > JAM_S ? "font-semibold text-bad" : "text-muted"}`}
      title={TERMS.backlog.meaning}
    >
      {isMeasured ? "" : `free in ${seconds(longest)}`}
    </span>
  );
}

function Row({ row, most }: { row: Comparison; most: number }) {
  const { label, colour } = useFaces()(row.name);
  const burden: Burden = burdenOf(heaviest(row));
  return (
    <li
      className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-1 border-t border-line py-1.5 first:border-t-0 @2xl:grid-cols-[11.5rem_1fr_1fr_6.5rem]"
      data-load={row.name}
      data-burden={burden}
    >
      <span className="flex items-center gap-2 text-sm font-medium">
        <span aria-hidden="true" className="size-2 shrink-0 rounded-full" style={{ background: colour }} />
        <span className="line-clamp-2 min-w-0 leading-tight [overflow-wrap:anywhere]">{label}</span>
        <span className="sr-only">{WORDS[burden]}</span>
      </span>
      <Bar label="CPU" value={row.cpu_load ?? 0} most={most} />
      <Bar label={useRunWords().far.all} value={row.gpu_load ?? 0} most={most} />
      <Promised name={row.name} />
    </li>
  );
}

/** Load ÷ capacity of every strategy: beyond the line at 1 a queue grows without end. */
export function LoadWidget() {
  const { rows, words, window } = useWindow();
  const isAtOnce = window !== undefined && window.tasks > 1 && window.end_s <= window.begin_s;
  const known = (rows ?? []).filter((row) => row.cpu_load !== null && row.tasks > 0);
  const most = Math.max(1.25, ...known.map(heaviest));
  const over = known.filter((row) => heaviest(row) > 1).length;
  const table = () => ({
    columns: ["scheduler", "cpu_load", "gpu_load"],
    rows: known.map((row) => [row.name, row.cpu_load, row.gpu_load]),
  });
  return (
    <Widget
      title="Load ÷ capacity"
      meaning="Seconds of work that a strategy gives to its CPU, and to each of its GPUs on average, in every simulated second of the chosen window. At 1 a device has no pause left; above 1 it is given more than it can do, and its queue grows as long as that lasts. The same tasks load a node differently, because strategies place them differently."
      terms={termsOf("work", "backlog")}
      table={table}
      controls={<WindowChoice />}
      foot={
        known.length === 0
          ? undefined
          : isAtOnce
            ? "All tasks came at once, so this is the work in every second until a strategy's last finish: 1 is a device without a pause."
            : over > 0
              ? `${over} of ${known.length} strategies overload a device ${words}: what arrives there waits ever longer.`
              : `No device is overloaded ${words}.`
      }
    >
      {rows === undefined ? (
        <Loading title="Waiting for the race" />
      ) : known.length === 0 ? (
        <Empty title="No tasks yet" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section aria-label="Load of every strategy" className="@container h-full overflow-auto" tabIndex={0}>
          <ul>
            {[...known]
              .sort(
                (a, b) =>
                  Number(isModelled(a.name)) - Number(isModelled(b.name)) ||
                  heaviest(a) - heaviest(b) ||
                  (a.name < b.name ? -1 : 1),
              )
              .map((row) => (
                <Row key={row.name} row={row} most={most} />
              ))}
          </ul>
        </section>
      )}
    </Widget>
  );
}
