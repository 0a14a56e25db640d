import type { StrategyCard } from "@/client/types";
import { useFaces } from "@/lib/useStrategy";

export interface StrategyChecksProps {
  cards: readonly StrategyCard[];
  chosen: ReadonlySet<string>;
  onToggle: (name: string) => void;
  legend?: string;
}

/** The strategies of a run that is to begin, each to be ticked. */
export function StrategyChecks({ cards, chosen, onToggle, legend = "Strategies" }: StrategyChecksProps) {
  const face = useFaces();
  return (
    <fieldset className="mt-4">
      <legend className="eyebrow">{legend}</legend>
      <ul className="mt-1.5 grid grid-cols-[repeat(auto-fill,minmax(8.5rem,1fr))] gap-x-3">
        {cards.map((card) => (
          <li key={card.name}>
            <label
              className="flex min-h-8 cursor-pointer items-center gap-2 text-sm"
              title={card.description}
            >
              <input
                type="checkbox"
                className="size-4 shrink-0 accent-ml"
                checked={chosen.has(card.name)}
                onChange={() => onToggle(card.name)}
              />
              <span
                aria-hidden="true"
                className="size-2 shrink-0 rounded-full"
                style={{ background: face(card.name).colour }}
              />
              <span className="min-w-0 leading-tight">{face(card.name).label}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}
