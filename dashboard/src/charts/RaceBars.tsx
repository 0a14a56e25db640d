import { Link } from "react-router";
import { gap as gapText } from "@/lib/format";
import { useSize } from "@/lib/useSize";
import { lengthOf, type Placed, placed, type Racer, type Scale } from "./race";

export interface RaceBarsProps {
  racers: readonly Racer[];
  scale: Scale;
  bound: number | null;
  boundText: string;
  hrefOf: (name: string) => string;
}

const LEAST_ROW = 34;

interface RowProps {
  racer: Placed;
  top: number;
  height: number;
  href: string;
  narrow: boolean;
}

function Bar({ racer }: { racer: Placed }) {
  const style = {
    width: `${(racer.length ?? 0) * 100}%`,
    background: `linear-gradient(90deg, color-mix(in oklab, ${racer.colour} 38%, transparent), ${racer.colour})`,
    boxShadow: `0 0 18px -6px ${racer.colour}`,
  };
  return (
    <div className="h-full min-w-[3px] rounded-md transition-[width] duration-500 ease-out" style={style} />
  );
}

function Row({ racer, top, height, href, narrow }: RowProps) {
  const label = `${racer.rank}. ${racer.label}: ${racer.text}${racer.gap === null ? "" : `, ${gapText(racer.gap)} above the bound`}`;
  return (
    <li
      className="absolute inset-x-0 flex items-center transition-transform duration-500 ease-out"
      style={{ transform: `translateY(${top}px)`, height }}
    >
      <Link
        to={href}
        aria-label={label}
        data-racer={racer.name}
        data-value={racer.value ?? ""}
        className="group grid h-full w-full items-center gap-x-3 rounded-lg px-1 hover:bg-raised"
        style={{ gridTemplateColumns: narrow ? "6.6rem 1fr 4.3rem" : "9.5rem 1fr 5.2rem 5.2rem" }}
      >
        <span className="flex min-w-0 items-center gap-2 text-sm">
          <span className="figure w-5 shrink-0 text-right text-xs text-muted">{racer.rank}</span>
          <span className="size-2 shrink-0 rounded-full" style={{ background: racer.colour }} />
          <span className="truncate font-medium group-hover:underline">{racer.label}</span>
        </span>
        <span className="relative block" style={{ height: Math.min(22, height - 12) }}>
          <span className="absolute inset-0 rounded-md bg-raised" />
          <span className="absolute inset-0 block">
            <Bar racer={racer} />
          </span>
        </span>
        <span className="figure text-right text-sm font-semibold">{racer.text}</span>
        {!narrow && (
          <span className="figure text-right text-xs text-muted">
            {racer.gap === null ? "" : gapText(racer.gap)}
          </span>
        )}
      </Link>
    </li>
  );
}

function BoundLine({ at, text, narrow }: { at: number; text: string; narrow: boolean }) {
  const left = narrow ? "6.85rem" : "9.75rem";
  const right = narrow ? "5.3rem" : "12.15rem";
  return (
    <div
      className="pointer-events-none absolute inset-y-0 z-10"
      style={{ left: `calc(${left} + 0.75rem)`, right }}
    >
      <div
        className="absolute inset-y-0 border-l-2 border-dashed border-gold"
        style={{ left: `${at * 100}%` }}
      >
        <span
          className="chip figure absolute -top-1 left-1 border-gold/40 bg-panel text-[0.6875rem] text-gold"
          style={{ background: "var(--panel-solid)" }}
        >
          {text}
        </span>
      </div>
    </div>
  );
}

/** Horizontal bars, shorter is better, in the order of the race; the dashed line is what nobody can beat. */
export function RaceBars({ racers, scale, bound, boundText, hrefOf }: RaceBarsProps) {
  const [ref, size] = useSize<HTMLDivElement>();
  const rows = placed(racers, scale, bound);
  const inset = bound === null ? 0 : 22;
  const height = Math.max(LEAST_ROW, Math.min(52, (size.height - inset) / Math.max(1, rows.length)));
  const narrow = size.width > 0 && size.width < 560;
  const toLength = lengthOf([...racers.map((r) => r.value), bound], scale);
  // A stable order in the document lets every row glide to its new place.
  const stable = [...rows].sort((a, b) => (a.name < b.name ? -1 : 1));
  return (
    <div ref={ref} className="h-full overflow-y-auto overflow-x-hidden">
      <div className="relative" style={{ height: height * rows.length + inset }}>
        {bound !== null && <BoundLine at={toLength(bound)} text={boundText} narrow={narrow} />}
        <ol aria-label="Race, best first" className="absolute inset-x-0 bottom-0" style={{ top: inset }}>
          {stable.map((racer) => (
            <Row
              key={racer.name}
              racer={racer}
              top={(racer.rank - 1) * height}
              height={height}
              href={hrefOf(racer.name)}
              narrow={narrow}
            />
          ))}
        </ol>
      </div>
    </div>
  );
}
