import type { GpuTypeCard, StrategyCard } from "@/client/types";
import { NumberField } from "@/features/widgets/Fields";
import { StrategyChecks } from "@/features/widgets/StrategyChecks";
import { priceOf } from "./demand";

export interface TermsProps {
  types: readonly GpuTypeCard[];
  /** What was typed for each type; a type without an entry has its example's price. */
  prices: Readonly<Record<string, string>>;
  onPrice: (type: string, text: string) => void;
  cards: readonly StrategyCard[];
  policies: ReadonlySet<string>;
  onPolicy: (name: string) => void;
}

/** What may differ from the usual: own prices, and which policies are considered. */
export function Terms({ types, prices, onPrice, cards, policies, onPolicy }: TermsProps) {
  return (
    <details className="col-span-full">
      <summary className="cursor-pointer text-sm">Your own prices, other policies</summary>
      <fieldset className="mt-2">
        <legend className="eyebrow">Dollars an hour for one GPU</legend>
        <div className="mt-1 grid grid-cols-2 gap-3 sm:grid-cols-4 lg:grid-cols-6">
          {types.map((one) => (
            <NumberField
              key={one.name}
              label={one.title}
              value={prices[one.name] ?? String(one.price_usd_h)}
              isWrong={prices[one.name] !== undefined && priceOf(prices[one.name]) === null}
              title="A node then costs this times its GPUs. As it stands there, it is an example's price, and the rent of the CPU is added."
              onChange={(text) => onPrice(one.name, text)}
            />
          ))}
        </div>
      </fieldset>
      <StrategyChecks legend="Policies" cards={cards} chosen={policies} onToggle={onPolicy} />
      <p className="mt-1 text-xs text-muted">
        Policies that learn are trained for every node; a search with them takes longer.
      </p>
    </details>
  );
}
