import { percent, tasksText } from "@/lib/format";
import { placementColour } from "@/lib/palette";
import type { Theme } from "@/lib/theme";
import { PLACES } from "./BestDeviceMap";

export interface SplitBarProps {
  decisions: Readonly<Record<string, number>>;
  theme: Theme;
  /** What the device beside the CPU is called. */
  far?: string;
}

/** Where the tasks went: CPU alone, one GPU alone, or a split of both. */
export function SplitBar({ decisions, theme, far = "GPU" }: SplitBarProps) {
  const total = PLACES.reduce((sum, place) => sum + (decisions[place.key] ?? 0), 0);
  return (
    <div>
      <div className="flex h-7 overflow-hidden rounded-lg bg-raised" aria-hidden="true">
        {PLACES.map((place) => {
          const share = total > 0 ? (decisions[place.key] ?? 0) / total : 0;
          return (
            <div
              key={place.key}
              className="transition-[width] duration-500"
              style={{ width: `${share * 100}%`, background: placementColour(place.key, theme) }}
            />
          );
        })}
      </div>
      <dl className="mt-3 grid grid-cols-3 gap-2">
        {PLACES.map((place) => (
          <div key={place.key}>
            <dt className="flex items-center gap-1.5 text-xs text-muted">
              <span
                aria-hidden="true"
                className="size-2 rounded-full"
                style={{ background: placementColour(place.key, theme) }}
              />
              {place.key === "split" ? "Split over both" : `${place.key === "gpu" ? far : place.label} alone`}
            </dt>
            <dd
              className="figure text-lg font-semibold whitespace-nowrap max-sm:text-base"
              data-place={place.key}
            >
              {total > 0 ? percent((decisions[place.key] ?? 0) / total, 1) : "–"}
              <span className="block text-xs font-normal text-muted">
                {tasksText(decisions[place.key] ?? 0)}
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
