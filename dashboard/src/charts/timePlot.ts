/** uPlot's options for the time charts: lines or stacked bands, linear or logarithmic, with markers. */
import uPlot from "uplot";
import type { Stretch } from "@/lib/along";
import { faded } from "@/lib/colour";
import { tidy } from "@/lib/format";
import { inks, type Theme } from "@/lib/theme";
import { logTicks } from "./axes";
import { type Marker, wordsBeside } from "./series";

export interface LineName {
  key: string;
  label: string;
  colour: string;
  dash?: string | undefined;
}

export interface PlotLook {
  names: readonly LineName[];
  theme: Theme;
  stack: boolean;
  /** Values are drawn by their logarithm; zero and less become gaps. */
  log: boolean;
  /** Lines that are not drawn. */
  hidden: ReadonlySet<string>;
  /** What the value axis measures. */
  axisTitle: string;
  /** The stretch of the axis that is shown when uPlot asks. */
  shown: () => Stretch;
  top: number | undefined;
  format: (value: number | null | undefined) => string;
}

const LETTER_PX = 6;
const LINE_PX = 16;
const MOST_LINES = 3;

/** A dashed line for every marker inside the axis, and then the words, so that no line runs through them. */
function markerPlugin(markers: { current: readonly Marker[] }, theme: Theme): uPlot.Plugin {
  const { warn, panel } = inks(theme);
  const draw = (plot: uPlot): void => {
    const { ctx, bbox } = plot;
    const ratio = uPlot.pxRatio;
    const right = bbox.left + bbox.width;
    const seen = markers.current
      .map((marker) => ({ at: plot.valToPos(marker.x, "x", true), text: marker.text }))
      .filter(({ at }) => at >= bbox.left && at <= right);
    ctx.save();
    ctx.font = `${11 * ratio}px 'Inter Variable', sans-serif`;
    ctx.strokeStyle = warn;
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    for (const { at } of seen) {
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
    }
    const bounds = { left: bbox.left, right, lines: MOST_LINES, gap: 6 * ratio };
    for (const word of wordsBeside(seen, (text) => ctx.measureText(text).width, bounds)) {
      if (word.line === null) continue;
      const top = bbox.top + word.line * LINE_PX * ratio;
      ctx.fillStyle = panel;
      ctx.fillRect(
        word.left - 3 * ratio,
        top + 2 * ratio,
        ctx.measureText(word.text).width + 6 * ratio,
        15 * ratio,
      );
      ctx.fillStyle = warn;
      ctx.fillText(word.text, word.left, top + 13 * ratio);
    }
    ctx.restore();
  };
  return { hooks: { draw } };
}

function axis(theme: Theme, values: (value: number) => string, size: number, space: number): uPlot.Axis {
  const ink = inks(theme);
  return {
    stroke: ink.muted,
    font: "11px 'Inter Variable', sans-serif",
    grid: { stroke: ink.grid, width: 1 },
    ticks: { show: false },
    size: (_, words) =>
      Math.max(size, 14 + LETTER_PX * Math.max(0, ...(words ?? []).map((text) => text.length))),
    space,
    gap: 4,
    values: (_, splits) => splits.map(values),
  };
}

function valueAxis(look: PlotLook): uPlot.Axis {
  const title = {
    label: look.axisTitle,
    labelSize: 16,
    labelFont: "11px 'Inter Variable', sans-serif",
    labelGap: 0,
  };
  if (!look.log) return { ...axis(look.theme, (value) => tidy(look.format(value)), 50, 40), ...title };
  const decades = (low: number, high: number): number[] => {
    const all = logTicks(10 ** low, 10 ** high);
    const kept =
      all.length > 7 ? all.filter((tick) => Number.isInteger(Number(Math.log10(tick).toFixed(9)))) : all;
    return kept.map((tick) => Math.log10(tick));
  };
  return {
    ...axis(look.theme, (value) => tidy(look.format(10 ** value)), 50, 24),
    ...title,
    splits: (_plot, _index, low, high) => decades(low, high),
  };
}

function valueRange(look: PlotLook): uPlot.Range.Function {
  if (look.log) return (_, low, high) => (Number.isFinite(low) ? [low - 0.15, high + 0.25] : [-1, 1]);
  return (_, _low, high) => [0, look.top ?? (high > 0 ? high * 1.12 : 1)];
}

function seriesOf(look: PlotLook): uPlot.Series[] {
  const lines = look.names.map((name, i) => ({
    show: !look.hidden.has(name.key),
    stroke: name.colour,
    width: look.stack ? 1 : 2,
    points: { show: false },
    ...(look.stack && i === 0 ? { fill: faded(name.colour, 0.5) } : {}),
    ...(name.dash ? { dash: name.dash.split(" ").map(Number) } : {}),
  }));
  return [{}, ...lines];
}

function bandsOf(look: PlotLook): uPlot.Band[] {
  if (!look.stack) return [];
  return look.names.slice(1).map((name, i) => ({ series: [i + 2, i + 1], fill: faded(name.colour, 0.5) }));
}

const AGO_UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
] as const;
/** Steps between ticks, whole in the unit that they are read in. */
const AGO_STEPS = [
  ...[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200],
  ...[1, 2, 4, 8, 12, 24, 48, 120, 240, 480, 1200, 2400, 12_000, 24_000, 120_000].map(
    (hours) => hours * 3600,
  ),
];

/** How long before the newest, in the unit that the stretch is told in; with a decimal where it is short. */
const agoIn =
  (look: PlotLook) =>
  (value: number): string => {
    const [low, high] = look.shown();
    if (value === 0) return "newest";
    const [unit, seconds] = AGO_UNITS.find(([, one]) => high - low >= 10 * one) ?? ["s", 1];
    return `−${tidy((-value / seconds).toFixed(high - low < 6 * seconds ? 1 : 0))} ${unit}`;
  };

export interface PlotHands {
  /** The place under the pointer; null when it has left. */
  onPoint: (at: number | null) => void;
  /** A stretch was drawn over the chart. */
  onBrush: (stretch: Stretch) => void;
}

/** A drag shorter than this is a click that shook. */
const LEAST_BRUSH_PX = 6;

function brushed(plot: uPlot, hands: PlotHands): void {
  const { left, width } = plot.select;
  if (width >= LEAST_BRUSH_PX) hands.onBrush([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

function pointed(plot: uPlot, hands: PlotHands): void {
  const left = plot.cursor.left ?? -1;
  hands.onPoint(left < 0 ? null : plot.posToVal(left, "x"));
}

/** Everything uPlot needs to know, for one look. */
export function plotOptions(
  look: PlotLook,
  size: { width: number; height: number },
  markers: { current: readonly Marker[] },
  hands: PlotHands,
): uPlot.Options {
  return {
    ...size,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: !look.stack } },
    scales: {
      x: { time: false, range: () => [...look.shown()] as [number, number] },
      y: { range: valueRange(look) },
    },
    axes: [{ ...axis(look.theme, agoIn(look), 26, 80), size: 26, incrs: AGO_STEPS }, valueAxis(look)],
    series: seriesOf(look),
    bands: bandsOf(look),
    plugins: [markerPlugin(markers, look.theme)],
    hooks: {
      setCursor: [(plot) => pointed(plot, hands)],
      setSelect: [(plot) => brushed(plot, hands)],
    },
  };
}
