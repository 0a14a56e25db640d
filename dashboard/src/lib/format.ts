/** Numbers as people read them. `null` is an en dash: nothing is known, which is not zero. */

export const NOTHING = "–";

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

type Value = number | null | undefined;

const DAY_S = 86_400;
/** From here on seconds are read as days. */
const LONG_S = 1e6;

const absent = (value: Value): value is null | undefined =>
  value === null || value === undefined || !Number.isFinite(value);

const RAISED = ["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"] as const;

/** What has more digits than can be read: `4.74·10¹⁰`. */
function inPowers(value: number, significant: number): string {
  const [mantissa, power] = value.toExponential(significant - 1).split("e+");
  return `${mantissa?.replace("-", "−")}·10${[...(power ?? "")].map((one) => RAISED[Number(one)]).join("")}`;
}

/** Three significant digits, without an exponent where one can be avoided. */
export function digits(value: number, significant = 3): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e8) return inPowers(value, significant);
  if (size >= 1000) return whole.format(value);
  if (size < 1e-4) return value.toExponential(1).replace("-", "−").replace("e−", "e−");
  const decimals = Math.max(0, significant - 1 - Math.floor(Math.log10(size)));
  return value.toFixed(Math.min(6, decimals)).replace("-", "−");
}

export function count(value: Value): string {
  return absent(value) ? NOTHING : whole.format(value);
}

/** `1 part`, `2 parts`. */
export function counted(value: Value, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export const tasksText = (value: Value): string => counted(value, "task");

/** Below that there is only the rounding of floating point numbers, on a clock that counts years. */
export const LEAST_S = 5e-8;

export function seconds(value: Value): string {
  if (absent(value)) return NOTHING;
  const size = Math.abs(value);
  if (size < LEAST_S) return "0 s";
  if (size < 1e-3) return `${digits(value * 1e6)} µs`;
  if (size < 1) return `${digits(value * 1e3)} ms`;
  return size < LONG_S ? `${digits(value)} s` : `${digits(value / DAY_S)} d`;
}

/** A stretch of time as it is chosen: `30 s`, `30 min`, `30 h`, `30 d`. */
export function spanText(spanS: number): string {
  for (const [unit, seconds] of [
    ["d", DAY_S],
    ["h", 3600],
    ["min", 60],
  ] as const)
    if (spanS >= 10 * seconds && spanS % seconds === 0) return `${spanS / seconds} ${unit}`;
  return tidy(`${digits(spanS)} s`);
}

/** Simulated time as a clock, with as many decimals of a second as tell one moment from the next. */
export function clock(value: Value, decimals = 0): string {
  if (absent(value)) return NOTHING;
  const parts = 10 ** decimals;
  const all = Math.floor(value * parts + 1e-6);
  const total = Math.floor(all / parts);
  const two = (n: number): string => String(n).padStart(2, "0");
  const rest = decimals > 0 ? `.${String(all % parts).padStart(decimals, "0")}` : "";
  const days = total >= DAY_S ? `${whole.format(Math.floor(total / DAY_S))} d ` : "";
  if (days !== "" && all % (DAY_S * parts) === 0) return days.trim();
  const hours = Math.floor((total % DAY_S) / 3600);
  return `${days}${hours}:${two(Math.floor(total / 60) % 60)}:${two(total % 60)}${rest}`;
}

export function joules(value: Value): string {
  if (absent(value)) return NOTHING;
  return Math.abs(value) >= 1e4 ? `${digits(value / 1e3)} kJ` : `${digits(value)} J`;
}

/** Money per task is tiny: micro-dollars keep the digits in sight. */
export function dollars(value: Value): string {
  if (absent(value)) return NOTHING;
  if (value === 0) return "$0";
  return Math.abs(value) < 0.01 ? `${digits(value * 1e6)} µ$` : `$${digits(value)}`;
}

export function percent(value: Value, decimals = 0): string {
  return absent(value) ? NOTHING : `${(value * 100).toFixed(decimals).replace("-", "−")} %`;
}

/** How much above a bound: `+12.3 %`. What would round to nothing and is not nothing says so. */
export function gap(value: Value): string {
  if (absent(value)) return NOTHING;
  const share = value * 100;
  if (share > 0 && share < 0.005) return "< 0.01 %";
  const text = Math.abs(share) >= 1000 ? whole.format(share) : share.toFixed(Math.abs(share) < 1 ? 2 : 1);
  return `${share >= 0 ? "+" : ""}${text.replace("-", "−")} %`;
}

/** A number of a task: a name, not an amount, so without separators. */
export function taskNumber(value: Value): string {
  return absent(value) ? NOTHING : String(value);
}

/** The label of a tick: round numbers need no trailing zeros. */
export function tidy(text: string): string {
  return text.replace(/(\d)\.0+(?=\D|$)/, "$1").replace(/(\.\d*?[1-9])0+(?=\D|$)/, "$1");
}

/** 1,046 as `1.0k`, for axes with little room. */
export function brief(value: number): string {
  return value < 1000 ? whole.format(value) : `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)}k`;
}

export function wallTime(iso: string): string {
  return new Date(iso).toLocaleTimeString("en-GB", { hour12: false });
}

/** Day and minute: `16 Nov 2026, 09:30`. */
export function wallDay(iso: string): string {
  const day = new Date(iso).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return `${day}, ${wallTime(iso).slice(0, 5)}`;
}
