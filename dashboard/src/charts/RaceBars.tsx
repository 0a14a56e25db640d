import { Link } from "react-router";
import { tidy } from "@/lib/format";
import { useSize } from "@/lib/useSize";
import {
  type Extra,
  type Grade,
  grades,
  lengthOf,
  type Placed,
  placed,
  type Racer,
  type Scale,
} from "./race";

export interface RaceBarsProps {
  racers: readonly Racer[];
  scale: Scale;
  bound: number | null;
  /** The bound's value with its unit. */
  boundText: string;
  valueLabel: string;
  /** The value as the axis writes it. */
  format: (value: number) => string;
  hrefOf: (name: string) => string;
}

/** Room for the name and the counts of tasks under it. */
const LEAST_ROW = { wide: 32, narrow: 50 } as const;
const ROOMY = 640;
const HEAD = 26;
const FOOT = 24;
/** What the words of a grade take, and some air. */
const GRADE_PX = 48;
/** Between what was measured and what would have been. */
const DIVIDE = 26;

/** Columns that the head, the rows and the bound's line share: names, bars, figures. */
interface Shape {
  isWide: boolean;
  /** Whether the longest name has room in one line; otherwise it takes two. */
  isRoomy: boolean;
  /** How many figures stand beside the value. */
  extras: number;
  columns: string;
  left: string;
  right: string;
}

const WIDE = { value: 5.2, extra: 5.6, gap: 0.75 } as const;

function shapeOf(width: number, extras: number): Shape {
  if (width > 0 && width < 560)
    return {
      isWide: false,
      isRoomy: false,
      extras: 1,
      columns: "7.4rem 1fr 4.3rem",
      left: "8.4rem",
      right: "5.3rem",
    };
  const figures = WIDE.value + extras * (WIDE.extra + WIDE.gap);
  const isRoomy = width >= ROOMY;
  const names = isRoomy ? 13.5 : 9.5;
  return {
    isWide: true,
    isRoomy,
    extras,
    columns: `${names}rem 1fr ${WIDE.value}rem${` ${WIDE.extra}rem`.repeat(extras)}`,
    left: `${names + 1}rem`,
    right: `${figures + WIDE.gap + 0.25}rem`,
  };
}

interface HeadProps {
  shape: Shape;
  valueLabel: string;
  extras: readonly Extra[];
}

function Head({ shape, valueLabel, extras }: HeadProps) {
  return (
    <div
      aria-hidden="true"
      className="eyebrow grid items-end gap-x-3 px-1 whitespace-nowrap"
      style={{ gridTemplateColumns: shape.columns, height: HEAD }}
    >
      <span className="pl-7">Strategy</span>
      <span />
      <span className="text-right">{valueLabel}</span>
      {shape.isWide &&
        extras.map((extra) => (
          <span key={extra.key} className="text-right">
            {extra.label}
          </span>
        ))}
    </div>
  );
}

/** The part of a bar that is running; the rest is hatched: it is waiting. */
function runningShare(racer: Racer): number {
  return racer.running === null || !racer.value ? 1 : Math.min(1, racer.running / racer.value);
}

/** A bar; one that is only a lower end is open: it fades out where the end is not known. */
function Bar({ racer }: { racer: Placed }) {
  const share = runningShare(racer) * 100;
  const { colour } = racer;
  if (racer.isLeast)
    return (
      <div
        className="h-full min-w-[3px] rounded-l-md border border-r-0 border-dashed"
        style={{
          width: `${(racer.length ?? 0) * 100}%`,
          borderColor: colour,
          background: `linear-gradient(90deg, color-mix(in oklab, ${colour} 30%, transparent), transparent)`,
        }}
        data-bar={racer.name}
        data-least=""
      />
    );
  return (
    <div
      className="flex h-full min-w-[3px] overflow-hidden rounded-md transition-[width] duration-500 ease-out"
      style={{ width: `${(racer.length ?? 0) * 100}%`, boxShadow: `0 0 20px -5px ${colour}` }}
      data-bar={racer.name}
    >
      <div
        className="h-full"
        data-running={share}
        style={{
          width: `${share}%`,
          background: `linear-gradient(90deg, color-mix(in oklab, ${colour} 45%, transparent), ${colour})`,
        }}
      />
      {share < 100 && (
        <div
          className="h-full flex-1"
          style={{
            backgroundColor: `color-mix(in oklab, ${colour} 22%, transparent)`,
            backgroundImage: `repeating-linear-gradient(135deg, color-mix(in oklab, ${colour} 50%, transparent) 0 3px, transparent 3px 7px)`,
          }}
        />
      )}
    </div>
  );
}

function Figures({ racer, shape }: Pick<RowProps, "racer" | "shape">) {
  if (!shape.isWide)
    return (
      <span className="figure text-right leading-tight">
        <span className="block text-sm font-semibold">{racer.text}</span>
        {(racer.isLeast ? [] : racer.extras.slice(-1)).map((extra) => (
          <span key={extra.key} className="block text-[0.6875rem] whitespace-nowrap text-muted">
            {extra.key === "waiting" ? `wait ${extra.text}` : extra.text}
          </span>
        ))}
      </span>
    );
  return (
    <>
      <span className="figure text-right text-sm font-semibold">{racer.text}</span>
      {racer.extras.slice(racer.extras.length - shape.extras).map((extra) => (
        <span
          key={extra.key}
          className="figure text-right text-xs text-muted"
          data-extra={extra.key}
          {...(extra.key === "gap" ? { "data-gap": extra.value ?? "" } : {})}
        >
          {extra.text}
        </span>
      ))}
    </>
  );
}

interface RowProps {
  racer: Placed;
  top: number;
  height: number;
  href: string;
  shape: Shape;
}

/** The row as a screen reader says it: all that the eye is given. */
function spokenRow(racer: Placed): string {
  const extras = racer.extras.map((extra) =>
    extra.key === "gap" ? `, ${extra.text} above the bound` : `, ${extra.label.toLowerCase()} ${extra.text}`,
  );
  const place =
    racer.rank === null ? (racer.isModelled ? "Modelled, not ranked" : "No place") : String(racer.rank);
  return `${place}. ${racer.label}: ${racer.text}${extras.join("")}, ${racer.counts.join(", ")}`;
}

/** Finished and waiting tasks under the name: beside each other where there is room. */
function Counts({ racer, shape }: Pick<RowProps, "racer" | "shape">) {
  const lines = shape.isRoomy ? [racer.counts.join(" · ")] : racer.counts;
  return (
    <span className="figure block text-[0.6875rem] leading-tight whitespace-nowrap text-muted" data-counts="">
      {lines.map((line, i) => (
        <span key={line} className={`block ${racer.isLeast && i === lines.length - 1 ? "text-warn" : ""}`}>
          {line}
        </span>
      ))}
    </span>
  );
}

function Row({ racer, top, height, href, shape }: RowProps) {
  return (
    <li
      className="absolute inset-x-0 top-0 flex items-center transition-transform duration-500 ease-out"
      style={{ transform: `translateY(${top}px)`, height }}
    >
      <Link
        to={href}
        aria-label={spokenRow(racer)}
        data-racer={racer.name}
        data-value={racer.value ?? ""}
        className="group/row grid h-full w-full items-center gap-x-3 rounded-lg px-1 hover:bg-raised"
        style={{ gridTemplateColumns: shape.columns }}
      >
        <span
          className={`flex min-w-0 items-center ${shape.isWide ? "gap-2 text-sm" : "gap-1.5 text-[0.8125rem]"}`}
        >
          <span className={`figure shrink-0 text-right text-xs text-muted ${shape.isWide ? "w-5" : "w-4"}`}>
            {racer.rank ?? (racer.isModelled ? "" : "–")}
          </span>
          <span className="size-2 shrink-0 rounded-full" style={{ background: racer.colour }} />
          <span className="min-w-0">
            <span
              className={`font-medium group-hover/row:underline ${shape.isRoomy ? "block truncate leading-tight" : "line-clamp-2 text-xs leading-none"}`}
            >
              {racer.label}
            </span>
            <Counts racer={racer} shape={shape} />
          </span>
        </span>
        <span className="relative block rounded-md bg-raised" style={{ height: Math.min(24, height - 8) }}>
          <Bar racer={racer} />
        </span>
        <Figures racer={racer} shape={shape} />
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
  const { left, right } = shape;
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
  const { left, right } = shape;
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
          className={`figure absolute top-0 font-semibold whitespace-nowrap text-gold ${shape.isWide ? "text-xs" : "text-[0.6875rem]"} ${at > (shape.isWide ? 0.6 : 0.25) ? "right-2" : "left-1.5"}`}
        >
          {text}
        </span>
      </div>
    </div>
  );
}

/** Horizontal bars, shorter is better, in the order of the race; the dashed line is what nobody can beat. */
export function RaceBars(props: RaceBarsProps) {
  const { racers, scale, bound, boundText, valueLabel, format, hrefOf } = props;
  const [ref, size] = useSize<HTMLDivElement>();
  const rows = placed(racers, scale, bound);
  // Where there is little room the bars need it: then the last figure alone stands beside the value.
  const extras = (racers[0]?.extras ?? []).slice(size.width < ROOMY ? -1 : 0);
  const shape = shapeOf(size.width, extras.length);
  const measured = rows.filter((racer) => !racer.isModelled).length;
  const divide = measured < rows.length ? DIVIDE : 0;
  const height = Math.max(
    LEAST_ROW[shape.isWide ? "wide" : "narrow"],
    Math.min(54, (size.height - HEAD - FOOT - divide - 2) / Math.max(1, rows.length)),
  );
  const values = [...racers.map((r) => r.value), bound];
  const toLength = lengthOf(values, scale);
  const room = size.width - (Number.parseFloat(shape.left) + Number.parseFloat(shape.right)) * 16;
  const steps = grades(
    values,
    scale,
    Math.max(2, Math.min(shape.isWide ? 5 : 2, Math.floor(room / GRADE_PX))),
  );
  // A stable order in the document lets every row glide to its new place.
  const stable = [...rows].sort((a, b) => (a.name < b.name ? -1 : 1));
  return (
    <div ref={ref} className="h-full overflow-x-hidden overflow-y-auto">
      <div className="relative" style={{ paddingBottom: FOOT }}>
        <Axis steps={steps} shape={shape} format={format} />
        <Head shape={shape} valueLabel={valueLabel} extras={extras} />
        {bound !== null && (
          <BoundLine
            at={toLength(bound)}
            text={shape.isWide ? `proven bound ${boundText}` : ""}
            shape={shape}
          />
        )}
        <ol
          aria-label="Race, best first"
          className="relative"
          style={{ height: height * rows.length + divide }}
        >
          {divide > 0 && (
            <li
              className="eyebrow absolute inset-x-0 flex items-end border-t border-line pb-1 pl-8 text-warn"
              style={{ top: height * measured + 2, height: divide - 2 }}
            >
              Modelled: what would have been
            </li>
          )}
          {stable.map((racer) => (
            <Row
              key={racer.name}
              racer={racer}
              top={racer.place * height + (racer.isModelled ? divide : 0)}
              height={height}
              href={hrefOf(racer.name)}
              shape={shape}
            />
          ))}
        </ol>
      </div>
    </div>
  );
}
