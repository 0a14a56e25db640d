import type { CSSProperties } from "react";
import type { HeatMap } from "@/client/types";
import { brief, count, digits, percent, tasksText } from "@/lib/format";
import { placementColour } from "@/lib/palette";
import type { Theme } from "@/lib/theme";
import { Legend } from "./Legend";

export type Place = "cpu" | "gpu" | "split";

export const PLACES: readonly { key: Place; label: string; letter: string }[] = [
  { key: "cpu", label: "CPU", letter: "C" },
  { key: "gpu", label: "GPU", letter: "G" },
  { key: "split", label: "Split", letter: "S" },
];

type HeatCell = HeatMap["cells"][number];

function sentence(cell: HeatCell): string {
  const where = `size ${count(cell.size_low)}–${count(cell.size_high)}, intensity ${digits(cell.intensity_low, 2)}–${digits(cell.intensity_high, 2)}`;
  if (!cell.best_device || cell.tasks === 0) return `${where}: no tasks yet`;
  return `${where}: ${cell.best_device} for most of ${tasksText(cell.tasks)}, mean GPU share ${percent(cell.optimal_gpu_fraction)}`;
}

const shareText = (cell: HeatCell): string =>
  cell.optimal_gpu_fraction === null ? "" : String(Math.round(cell.optimal_gpu_fraction * 100));

/** The look of a cell: an empty one is an outline, a filled one never so strong that its letter would be hard to read. */
function styleOf(cell: HeatCell | undefined, most: number, theme: Theme): CSSProperties {
  const place = PLACES.find((entry) => entry.key === cell?.best_device);
  if (!cell || !place || cell.tasks === 0) return { boxShadow: "inset 0 0 0 1px var(--raised)" };
  const weight = 16 + 28 * Math.sqrt(cell.tasks / most);
  return {
    background: `color-mix(in oklab, ${placementColour(place.key, theme)} ${weight}%, var(--panel-solid))`,
  };
}

function CellBox({ cell, most, theme }: { cell: HeatCell | undefined; most: number; theme: Theme }) {
  const place = cell && cell.tasks > 0 ? PLACES.find((entry) => entry.key === cell.best_device) : undefined;
  return (
    <td
      {...(cell ? { title: sentence(cell) } : {})}
      {...(place ? { "data-place": place.key } : {})}
      className="overflow-hidden rounded-md p-0 text-center text-[0.6875rem] leading-none font-semibold whitespace-nowrap"
      style={styleOf(cell, most, theme)}
    >
      {cell && place && (
        <>
          <span aria-hidden="true">
            {place.letter}
            {place.key === "split" && <span className="font-normal"> {shareText(cell)}</span>}
          </span>
          <span className="sr-only">{sentence(cell)}</span>
        </>
      )}
    </td>
  );
}

/** Size by intensity to the device that the oracle chose most often; stronger colour means more tasks. */
export function BestDeviceMap({ map, theme }: { map: HeatMap; theme: Theme }) {
  const columns = map.size_bounds.slice(0, -1);
  const rows = map.intensity_bounds
    .slice(0, -1)
    .map((low, i) => ({ low, high: map.intensity_bounds[i + 1] ?? 1 }));
  const most = Math.max(1, ...map.cells.map((cell) => cell.tasks));
  const find = (size: number, intensity: number): HeatCell | undefined =>
    map.cells.find((cell) => cell.size_low === size && cell.intensity_low === intensity);
  return (
    <div className="flex h-full min-h-0 flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-x-4 text-xs text-muted">
        <Legend
          entries={PLACES.map((place) => ({
            key: place.key,
            label: `${place.letter} = ${place.label}`,
            colour: placementColour(place.key, theme),
            patch: true,
          }))}
        />
        <span className="text-[0.6875rem]">↑ intensity, size → (log)</span>
      </div>
      <table className="figure min-h-0 w-full flex-1 table-fixed border-separate border-spacing-[3px]">
        <caption className="sr-only">
          Best device by task size and compute intensity, according to the oracle
        </caption>
        <tbody>
          {[...rows].reverse().map((row) => (
            <tr key={row.low}>
              <th scope="row" className="w-9 pr-1 text-right text-[0.6875rem] font-normal text-muted">
                {row.low.toFixed(1)}
              </th>
              {columns.map((size) => (
                <CellBox key={size} cell={find(size, row.low)} most={most} theme={theme} />
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td className="text-right text-[0.6875rem] text-muted">size</td>
            {columns.map((size) => (
              <th key={size} scope="col" className="h-4 truncate text-[0.6875rem] font-normal text-muted">
                {brief(size)}
              </th>
            ))}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}
