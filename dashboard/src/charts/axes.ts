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
