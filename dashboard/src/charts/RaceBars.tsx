import { Link } from "react-router";
import { gap as gapText, tidy } from "@/lib/format";
import { useSize } from "@/lib/useSize";
import { type Grade, grades, lengthOf, type Placed, placed, type Racer, type Scale } from "./race";

export interface RaceBarsProps {
  racers: readonly Racer[];
  scale: Scale;
  bound: number | null;
  /** The bound's value with its unit. */
  boundText: string;
  valueLabel: string;
  /** The value as the axis writes it. */
  format: (value: number) => string;
  /** Whether a bound is proven for this very metric, so that a gap to it can stand beside the value. */
  hasGap: boolean;
  hrefOf: (name: string) => string;
}

const LEAST_ROW = { wide: 28, plain: 28, narrow: 36 } as const;
const HEAD = 26;
const FOOT = 24;

/** Columns that the head, the rows and the bound's line share: names, bars, figures. */
const SHAPES = {
  wide: { columns: "9.5rem 1fr 5.2rem 6rem", left: "10.5rem", right: "13.2rem" },
  plain: { columns: "9.5rem 1fr 5.2rem", left: "10.5rem", right: "6.2rem" },
  narrow: { columns: "8.6rem 1fr 4.3rem", left: "9.6rem", right: "5.3rem" },
} as const;

type Shape = keyof typeof SHAPES;

function Head({ shape, valueLabel }: { shape: Shape; valueLabel: string }) {
  return (
    <div
      aria-hidden="true"
      className="eyebrow grid items-end gap-x-3 px-1 whitespace-nowrap"
      style={{ gridTemplateColumns: SHAPES[shape].columns, height: HEAD }}
    >
      <span className="pl-7">Strategy</span>
      <span />
      <span className="text-right">{valueLabel}</span>
      {shape === "wide" && <span className="text-right">Above bound</span>}
    </div>
  );
}

function Bar({ racer }: { racer: Placed }) {
  const style = {
    width: `${(racer.length ?? 0) * 100}%`,
    background: `linear-gradient(90deg, color-mix(in oklab, ${racer.colour} 35%, transparent), ${racer.colour})`,
    boxShadow: `0 0 20px -5px ${racer.colour}`,
  };
  return (
    <div
      className="h-full min-w-[3px] rounded-md transition-[width] duration-500 ease-out"
      style={style}
      data-bar={racer.name}
    />
  );
}

function Figures({ racer, shape, hasGap }: Pick<RowProps, "racer" | "shape" | "hasGap">) {
  if (shape === "narrow")
    return (
      <span className="figure text-right leading-tight">
        <span className="block text-sm font-semibold">{racer.text}</span>
        {hasGap && <span className="block text-[0.6875rem] text-muted">{gapText(racer.gap)}</span>}
      </span>
    );
  return (
    <>
      <span className="figure text-right text-sm font-semibold">{racer.text}</span>
      {shape === "wide" && (
        <span className="figure text-right text-xs text-muted" data-gap={racer.gap ?? ""}>
          {gapText(racer.gap)}
        </span>
      )}
    </>
  );
}

interface RowProps {
  racer: Placed;
  top: number;
  height: number;
  href: string;
  shape: Shape;
  hasGap: boolean;
}

function Row({ racer, top, height, href, shape, hasGap }: RowProps) {
  const above = hasGap && racer.gap !== null ? `, ${gapText(racer.gap)} above the bound` : "";
  return (
    <li
      className="absolute inset-x-0 top-0 flex items-center transition-transform duration-500 ease-out"
      style={{ transform: `translateY(${top}px)`, height }}
    >
      <Link
        to={href}
        aria-label={`${racer.rank}. ${racer.label}: ${racer.text}${above}`}
        data-racer={racer.name}
        data-value={racer.value ?? ""}
        className="group/row grid h-full w-full items-center gap-x-3 rounded-lg px-1 hover:bg-raised"
        style={{ gridTemplateColumns: SHAPES[shape].columns }}
      >
        <span
          className={`flex min-w-0 items-center ${shape === "narrow" ? "gap-1.5 text-[0.8125rem]" : "gap-2 text-sm"}`}
        >
          <span
            className={`figure shrink-0 text-right text-xs text-muted ${shape === "narrow" ? "w-4" : "w-5"}`}
          >
            {racer.rank}
          </span>
          <span className="size-2 shrink-0 rounded-full" style={{ background: racer.colour }} />
          <span className="truncate font-medium group-hover/row:underline">{racer.label}</span>
        </span>
        <span className="relative block rounded-md bg-raised" style={{ height: Math.min(24, height - 10) }}>
          <Bar racer={racer} />
        </span>
        <Figures racer={racer} shape={shape} hasGap={hasGap} />
      </Link>
    </li>
  );
}

/** Thin lines with their values, behind the bars. */
function Axis({
  steps,
  shape,
  format,
}: {
  steps: readonly Grade[];
  shape: Shape;
  format: (v: number) => string;
}) {
  const { left, right } = SHAPES[shape];
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute"
      style={{ left, right, top: HEAD, bottom: 0 }}
    >
      {steps.map(({ value, at }) => (
        <div
          key={value}
          className="absolute inset-y-0 border-l border-line"
          style={{ left: `${at * 100}%`, bottom: FOOT - 8 }}
        >
          <span className="figure absolute top-full mt-0.5 -translate-x-1/2 text-[0.6875rem] whitespace-nowrap text-muted">
            {tidy(format(value))}
          </span>
        </div>
      ))}
    </div>
  );
}

function BoundLine({ at, text, shape }: { at: number; text: string; shape: Shape }) {
  const { left, right } = SHAPES[shape];
  return (
    <div
      className="pointer-events-none absolute z-10"
      style={{ left, right, top: HEAD - 20, bottom: FOOT - 8 }}
    >
      <div
        className="absolute inset-y-0 border-l-2 border-dashed border-gold"
        style={{ left: `${at * 100}%` }}
      >
        <span
          className={`figure absolute top-0 font-semibold whitespace-nowrap text-gold ${shape === "narrow" ? "text-[0.6875rem]" : "text-xs"} ${at > (shape === "narrow" ? 0.25 : 0.6) ? "right-2" : "left-1.5"}`}
        >
          {text}
        </span>
      </div>
    </div>
  );
}

/** Horizontal bars, shorter is better, in the order of the race; the dashed line is what nobody can beat. */
export function RaceBars(props: RaceBarsProps) {
  const { racers, scale, bound, boundText, valueLabel, format, hasGap, hrefOf } = props;
  const [ref, size] = useSize<HTMLDivElement>();
  const rows = placed(racers, scale, bound);
  const shape: Shape = size.width > 0 && size.width < 560 ? "narrow" : hasGap ? "wide" : "plain";
  const height = Math.max(
    LEAST_ROW[shape],
    Math.min(54, (size.height - HEAD - FOOT - 2) / Math.max(1, rows.length)),
  );
  const values = [...racers.map((r) => r.value), bound];
  const toLength = lengthOf(values, scale);
  const steps = grades(values, scale, shape === "narrow" ? 2 : 6);
  // A stable order in the document lets every row glide to its new place.
  const stable = [...rows].sort((a, b) => (a.name < b.name ? -1 : 1));
  return (
    <div ref={ref} className="h-full overflow-x-hidden overflow-y-auto">
      <div className="relative" style={{ paddingBottom: FOOT }}>
        <Axis steps={steps} shape={shape} format={format} />
        <Head shape={shape} valueLabel={valueLabel} />
        {bound !== null && (
          <BoundLine
            at={toLength(bound)}
            text={`${shape === "narrow" ? "bound" : "proven bound"} ${boundText}`}
            shape={shape}
          />
        )}
        <ol aria-label="Race, best first" className="relative" style={{ height: height * rows.length }}>
          {stable.map((racer) => (
            <Row
              key={racer.name}
              racer={racer}
              top={racer.place * height}
              height={height}
              href={hrefOf(racer.name)}
              shape={shape}
              hasGap={hasGap}
            />
          ))}
        </ol>
      </div>
    </div>
  );
}
