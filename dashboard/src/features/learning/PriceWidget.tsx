import { Empty, Loading } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { digits, seconds } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";
import { useWindow } from "@/lib/window";
import { useLive } from "@/live/store";
import { type Level, type Price, prices } from "./price";

const LEVELS = ["exact", "learned", "nominal"] as const;
const WORDS: Record<Level, string> = {
  exact: "Told the truth",
  learned: "Learns it",
  nominal: "Believes the formula",
};

const factor = (value: number | undefined): string => (value === undefined ? "–" : `×${digits(value)}`);

function Row({ one, label, most }: { one: Price; label: string; most: number }) {
  return (
    <li className="py-2" data-strategy={one.strategy}>
      <p className="flex items-baseline justify-between gap-3 text-sm">
        <span className="font-medium">{label}</span>
        <span className="figure text-xs text-muted">
          learned ÷ exact <span className="text-sm font-semibold text-ink">{factor(one.price.learned)}</span>
        </span>
      </p>
      <dl className="figure mt-1 grid grid-cols-[8.5rem_1fr_8rem] items-center gap-x-3 gap-y-1 text-xs">
        {LEVELS.map((level) => {
          const value = one.latency[level];
          if (value === undefined) return null;
          const share = level === "exact" ? undefined : one.price[level];
          return (
            <div key={level} className="contents">
              <dt className="text-muted">{WORDS[level]}</dt>
              <dd aria-hidden="true" className="h-2 overflow-hidden rounded-full bg-raised">
                <span
                  className={`block h-full rounded-full ${level === "exact" ? "bg-gold" : level === "learned" ? "bg-ml" : "bg-muted"}`}
                  style={{ width: `${Math.max(1, (100 * value) / most)}%` }}
                />
              </dd>
              <dd className="text-right" data-level={level}>
                {seconds(value)}
                {share !== undefined && <span className="text-muted"> {factor(share)}</span>}
              </dd>
            </div>
          );
        })}
      </dl>
    </li>
  );
}

/** The price of not knowing: the same strategy, told the truth, learning it, or believing the formula. */
export function PriceWidget() {
  const { rows, key, words } = useWindow();
  const face = useFaces();
  const ofRun = useLive((s) => s.update?.status.knowledge ?? "exact");
  const found = prices(rows ?? [], ofRun);
  const most = Math.max(0, ...found.flatMap((one) => Object.values(one.latency)));
  const table = () => ({
    columns: [
      "scheduler",
      "window",
      ...LEVELS.map((level) => `${level}_latency_s`),
      "learned_price",
      "nominal_price",
    ],
    rows: found.map((one) => [
      one.strategy,
      key,
      ...LEVELS.map((level) => one.latency[level]),
      one.price.learned,
      one.price.nominal,
    ]),
  });
  return (
    <Widget
      title="The price of not knowing"
      meaning="Mean latency of the same strategy at different levels of knowledge on the same tasks: told the true durations (exact), learning them from what it has seen finish (learned), or believing the formula (nominal). The price is the latency at a level ÷ at exact: ×1 costs nothing. Only strategies that race at exact and at another level stand here."
      table={table}
      controls={<WindowChoice />}
      foot={found.length > 0 ? `Mean latencies ${words}. ×1 would cost nothing.` : undefined}
    >
      {rows === undefined ? (
        <Loading title="Waiting for the race" />
      ) : found.length === 0 ? (
        <Empty title="No strategy races at two levels">
          Begin a new run with a strategy and the same one told the truth, such as earliest_finish and
          earliest_finish@exact.
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section aria-label="Price of not knowing" className="h-full overflow-auto" tabIndex={0}>
          <ul className="divide-y divide-line">
            {found.map((one) => (
              <Row
                key={one.strategy}
                one={one}
                label={face(one.strategy).label.replace(/ \((exact|learned|nominal)\)$/, "")}
                most={most}
              />
            ))}
          </ul>
        </section>
      )}
    </Widget>
  );
}
