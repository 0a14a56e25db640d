/** uPlot's options for the time charts: lines or stacked bands, linear or logarithmic, with markers. */
import uPlot from "uplot";
import { faded } from "@/lib/colour";
import { inks, type Theme } from "@/lib/theme";
import { logTicks } from "./axes";
import type { Marker } from "./series";

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
  spanS: number;
  top: number | undefined;
  format: (value: number | null | undefined) => string;
}

/** A dashed line with its words, for every marker inside the axis. */
function markerPlugin(markers: { current: readonly Marker[] }, theme: Theme): uPlot.Plugin {
  const { warn, panel } = inks(theme);
  const draw = (plot: uPlot): void => {
    const { ctx, bbox } = plot;
    const ratio = uPlot.pxRatio;
    ctx.save();
    ctx.font = `${11 * ratio}px 'Inter Variable', sans-serif`;
    ctx.strokeStyle = warn;
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    // Words that would cover each other go one line lower: the right end of the last word on each line.
    const ends: number[] = [];
    for (const marker of markers.current) {
      const x = plot.valToPos(marker.x, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const width = ctx.measureText(marker.text).width;
      const left = Math.min(x + 5 * ratio, bbox.left + bbox.width - width);
      const free = ends.findIndex((end) => end < left - 3 * ratio);
      const line = free === -1 ? ends.length : free;
      ends[line] = left + width + 3 * ratio;
      const top = bbox.top + line * 16 * ratio;
      ctx.fillStyle = panel;
      ctx.fillRect(left - 3 * ratio, top + 2 * ratio, width + 6 * ratio, 15 * ratio);
      ctx.fillStyle = warn;
      ctx.fillText(marker.text, left, top + 13 * ratio);
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
    size,
    space,
    gap: 4,
    values: (_, splits) => splits.map(values),
  };
}

function valueAxis(look: PlotLook): uPlot.Axis {
  if (!look.log) return axis(look.theme, (value) => look.format(value), 58, 40);
  const decades = (low: number, high: number): number[] => {
    const all = logTicks(10 ** low, 10 ** high);
    const kept =
      all.length > 7 ? all.filter((tick) => Number.isInteger(Number(Math.log10(tick).toFixed(9)))) : all;
    return kept.map((tick) => Math.log10(tick));
  };
  return {
    ...axis(look.theme, (value) => look.format(10 ** value), 58, 24),
    splits: (_plot, _index, low, high) => decades(low, high),
  };
}

function valueRange(look: PlotLook): uPlot.Range.Function {
  if (look.log) return (_, low, high) => (Number.isFinite(low) ? [low - 0.15, high + 0.25] : [-1, 1]);
  return (_, _low, high) => [0, look.top ?? (high > 0 ? high * 1.12 : 1)];
}

function seriesOf(look: PlotLook): uPlot.Series[] {
  const lines = look.names.map((name, i) => ({
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

const ago = (value: number): string => (value === 0 ? "now" : `${Math.round(value)} s`.replace("-", "−"));

/** Everything uPlot needs to know, for one look. */
export function plotOptions(
  look: PlotLook,
  size: { width: number; height: number },
  markers: { current: readonly Marker[] },
  onCursor: (index: number | null) => void,
): uPlot.Options {
  return {
    ...size,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: !look.stack } },
    scales: { x: { time: false, range: [-look.spanS, 0] }, y: { range: valueRange(look) } },
    axes: [axis(look.theme, ago, 26, 80), valueAxis(look)],
    series: seriesOf(look),
    bands: bandsOf(look),
    plugins: [markerPlugin(markers, look.theme)],
    hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)] },
  };
}
