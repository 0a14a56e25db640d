import type { ReactNode } from "react";
import { deviceLabel } from "@/live/devices";
import { REASON_WORDS } from "./reasonWords";
import { type Bars, type Curve, type Fact, measured, shapesOf, spokenKey, type Words } from "./shapes";

interface Drawn<T> {
  shape: T;
  colour: string;
}

const isDevice = (name: string): boolean => /^(cpu|gpu_\d+)$/.test(name);
const nameOf = (name: string): string => (isDevice(name) ? deviceLabel(name) : spokenKey(name));
const meaningOf = (name: string): string =>
  (isDevice(name) ? undefined : REASON_WORDS[name]?.meaning) ?? name;

/** Values of one sign that differ little: bars from zero would all look alike, so each is a dot between least and most. */
function isClose(values: readonly number[]): boolean {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low * high > 0 && high - low < 0.5 * Math.max(Math.abs(low), Math.abs(high));
}

function Dot({ value, values, colour }: { value: number; values: readonly number[]; colour: string }) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const at = high > low ? (value - low) / (high - low) : 0.5;
  return (
    <span
      className="absolute top-1/2 size-2.5 -translate-x-1/2 -translate-y-1/2 rounded-full"
      style={{ left: `${4 + at * 92}%`, background: colour }}
    />
  );
}

/** A value that is nothing beside the others: its digits would only be noise. */
function isSmall(value: number, values: readonly number[]): boolean {
  return value !== 0 && Math.abs(value) < 0.001 * Math.max(...values.map(Math.abs));
}

/** Signed bars around a common zero; the number stands beside each. */
function BarList({ shape, colour }: Drawn<Bars>) {
  const values = shape.entries.map((entry) => entry.value);
  const low = Math.min(0, ...values);
  const span = Math.max(0, ...values) - low || 1;
  const close = isClose(values);
  return (
    <figure className="mt-3">
      <figcaption className="mb-1 text-[0.6875rem] text-muted" title={REASON_WORDS[shape.key]?.meaning}>
        <span className="eyebrow">{spokenKey(shape.key)}</span>
        {shape.note && ` ${shape.note}`}
        {close && ": the dot of the least is at the left end, of the most at the right"}
      </figcaption>
      <ul className="space-y-1">
        {shape.entries.map((entry) => (
          <li key={entry.name} className="grid grid-cols-[7.5rem_1fr_4.5rem] items-center gap-2 text-xs">
            <span className="truncate text-muted" title={meaningOf(entry.name)}>
              {nameOf(entry.name)}
            </span>
            <span className="relative block h-2.5 rounded bg-raised" aria-hidden="true">
              {close ? (
                <Dot value={entry.value} values={values} colour={colour} />
              ) : (
                <span
                  className="absolute inset-y-0 rounded"
                  style={{
                    left: `${((Math.min(0, entry.value) - low) / span) * 100}%`,
                    width: `${Math.max(0.5, (Math.abs(entry.value) / span) * 100)}%`,
                    background: colour,
                    opacity: entry.value < 0 ? 0.55 : 1,
                  }}
                />
              )}
            </span>
            <span className="figure text-right">
              {isSmall(entry.value, values) ? "≈ 0" : measured(shape.key, entry.value)}
            </span>
          </li>
        ))}
      </ul>
    </figure>
  );
}

/** A small curve with its least point marked: for grids of splits. */
function MiniCurve({ shape, colour }: Drawn<Curve>) {
  const [width, height] = [320, 70];
  const xs = shape.points.map((p) => p.x);
  const ys = shape.points.map((p) => p.y);
  const x = (v: number): number =>
    4 + ((v - Math.min(...xs)) / (Math.max(...xs) - Math.min(...xs) || 1)) * (width - 8);
  const y = (v: number): number =>
    height - 6 - ((v - Math.min(...ys)) / (Math.max(...ys) - Math.min(...ys) || 1)) * (height - 14);
  const least = shape.points.reduce((best, p) => (p.y < best.y ? p : best));
  const words = `least ${spokenKey(shape.y)} ${measured(shape.y, least.y)} at ${spokenKey(shape.x)} ${measured(shape.x, least.x)}`;
  return (
    <figure className="mt-3">
      <figcaption className="mb-1 text-[0.6875rem] text-muted" title={REASON_WORDS[shape.key]?.meaning}>
        <span className="eyebrow">{spokenKey(shape.key)}</span> {words}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} className="w-full max-w-md" role="img" aria-label={words}>
        <polyline
          points={shape.points.map((p) => `${x(p.x)},${y(p.y)}`).join(" ")}
          fill="none"
          stroke={colour}
          strokeWidth="2"
        />
        <circle cx={x(least.x)} cy={y(least.y)} r="4" fill="var(--gold)" />
      </svg>
      <div className="figure flex max-w-md justify-between text-[0.6875rem] text-muted" aria-hidden="true">
        <span>{measured(shape.x, Math.min(...xs))}</span>
        <span>{`${spokenKey(shape.x)} →`}</span>
        <span>{measured(shape.x, Math.max(...xs))}</span>
      </div>
    </figure>
  );
}

function Sentences({ shape }: { shape: Words }) {
  return (
    <figure className="mt-3">
      <figcaption className="eyebrow mb-1" title={REASON_WORDS[shape.key]?.meaning}>
        {spokenKey(shape.key)}
      </figcaption>
      <ul className="space-y-0.5 text-xs">
        {shape.lines.map((line) => (
          <li key={line.name}>{`${line.text.charAt(0).toUpperCase()}${line.text.slice(1)}`}</li>
        ))}
      </ul>
    </figure>
  );
}

function Facts({ facts }: { facts: readonly Fact[] }) {
  if (facts.length === 0) return null;
  return (
    <dl className="mt-3 grid grid-cols-[repeat(auto-fill,minmax(7.5rem,1fr))] gap-x-4 gap-y-1.5">
      {facts.map((fact) => (
        <div key={fact.key} className="min-w-0">
          <dt className="truncate text-[0.6875rem] text-muted" title={REASON_WORDS[fact.key]?.meaning}>
            {spokenKey(fact.key)}
          </dt>
          <dd className="figure text-sm font-medium break-words">{fact.text}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface ReasonsProps {
  reason: Readonly<Record<string, unknown>>;
  colour: string;
  /** What is said where there is nothing to draw. */
  none?: ReactNode;
}

/** A strategy's own reasons, whatever they are: facts as figures, tables of numbers as bars, grids as curves. */
export function Reasons({ reason, colour, none = "This strategy gives no further reasons." }: ReasonsProps) {
  const shapes = shapesOf(reason);
  if (shapes.length === 0) return none && <div className="mt-3 text-xs text-muted">{none}</div>;
  return (
    <div data-reasons={shapes.length}>
      <Facts facts={shapes.filter((shape) => shape.kind === "fact")} />
      {shapes.map((shape) => {
        if (shape.kind === "words") return <Sentences key={shape.key} shape={shape} />;
        if (shape.kind === "bars") return <BarList key={shape.key} shape={shape} colour={colour} />;
        return shape.kind === "curve" ? <MiniCurve key={shape.key} shape={shape} colour={colour} /> : null;
      })}
    </div>
  );
}
