/** Scales and ticks for the charts that are drawn by hand. */

export interface AxisScale {
  (value: number): number;
  ticks: number[];
}

const LOG_STEPS = [1, 2, 5];

/** Round numbers of a logarithmic axis between two values. */
export function logTicks(low: number, high: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of LOG_STEPS) {
      const tick = step * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

/** About `wanted` round numbers of a linear axis between two values. */
export function linearTicks(low: number, high: number, wanted = 5): number[] {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((s) => s * power >= raw) ?? 10) * power;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step)
    ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200];
const DAY_S = 86_400;

/** About `wanted` moments of a clock between two: whole seconds, minutes and hours, and decimals where the span is short. */
export function clockTicks(low: number, high: number, wanted = 5): number[] {
  const raw = (high - low) / wanted;
  const step = CLOCK_STEPS.find((one) => one >= raw);
  if (step === undefined) return linearTicks(low / DAY_S, high / DAY_S, wanted).map((days) => days * DAY_S);
  if (!(raw >= 1)) return linearTicks(low, high, wanted);
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  return ticks;
}

/** How many decimals tell these ticks apart. */
export function decimalsOf(ticks: readonly number[]): number {
  const least = Math.min(...ticks.slice(1).map((tick, i) => tick - (ticks[i] ?? tick)));
  return least > 0 && least < 1 ? Math.min(6, Math.ceil(-Math.log10(least) - 1e-9)) : 0;
}

export function logScale(low: number, high: number, from: number, to: number): AxisScale {
  const width = Math.log(high / low) || 1;
  const scale = (value: number): number => from + ((to - from) * Math.log(value / low)) / width;
  return Object.assign(scale, { ticks: logTicks(low, high) });
}

export function linearScale(low: number, high: number, from: number, to: number, wanted = 5): AxisScale {
  const width = high - low || 1;
  const scale = (value: number): number => from + ((to - from) * (value - low)) / width;
  return Object.assign(scale, { ticks: linearTicks(low, high, wanted) });
}

/** Ticks far enough apart that their labels do not touch. */
export function spaced(scale: AxisScale, leastPx: number): number[] {
  const kept: number[] = [];
  for (const tick of scale.ticks) {
    const last = kept.at(-1);
    if (last === undefined || Math.abs(scale(tick) - scale(last)) >= leastPx) kept.push(tick);
  }
  return kept;
}
