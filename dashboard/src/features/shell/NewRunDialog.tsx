import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { start } from "@/client/commands";
import { useStrategies } from "@/client/queries";
import type { StrategyCard } from "@/client/types";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { useLive } from "@/live/store";
import { forgetNewRun, requestOf, seedOf } from "./newRun";

interface StrategiesProps {
  cards: readonly StrategyCard[];
  chosen: ReadonlySet<string>;
  onToggle: (name: string) => void;
}

function Strategies({ cards, chosen, onToggle }: StrategiesProps) {
  const face = useFaces();
  return (
    <fieldset className="mt-4">
      <legend className="eyebrow">Strategies</legend>
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
              <span className="truncate">{card.label}</span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

/** Asks what the new run shall be, and begins it. */
export function NewRunDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const cards = useStrategies();
  const racers = useRacers();
  const seed = useLive((s) => s.update?.status.seed ?? null);
  // Until something is picked, those of the present race are: the list may come later than the dialog.
  const [picked, setPicked] = useState<ReadonlySet<string> | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const chosen = picked ?? new Set(cards.filter((card) => card.in_race).map((card) => card.name));
  const seedText = typed ?? (seed === null ? "" : String(seed));
  const wishedSeed = typed === null ? null : seedOf(typed);
  const isWrongSeed = typed !== null && typed !== "" && wishedSeed === null;
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  const toggle = (name: string): void => {
    const next = new Set(chosen);
    if (!next.delete(name)) next.add(name);
    setPicked(next);
  };
  const begin = (event: FormEvent): void => {
    event.preventDefault();
    dialog.current?.close();
    void start(requestOf({ cards, chosen, racers, seed, wishedSeed }));
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onClose={forgetNewRun}
      className="m-auto max-h-[calc(100dvh-2rem)] w-[calc(100%-2rem)] max-w-lg overflow-auto rounded-2xl border border-line p-6 text-ink shadow-2xl backdrop:bg-black/60"
      style={{ background: "var(--panel-solid)" }}
    >
      <form onSubmit={begin}>
        <h2 id={heading} className="text-base font-semibold">
          Begin a new run?
        </h2>
        <p className="mt-2 text-sm leading-relaxed text-muted">
          The clock goes back to zero and the learners start afresh. The present run stays in the history.
        </p>
        <Strategies cards={cards} chosen={chosen} onToggle={toggle} />
        <label className="mt-3 block text-sm">
          <span className="eyebrow block">Seed</span>
          <input
            className="field figure mt-1 h-8 w-full max-w-44"
            inputMode="numeric"
            autoComplete="off"
            value={seedText}
            aria-invalid={isWrongSeed}
            title="The same seed draws the same tasks"
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <p role="status" className="mt-2 min-h-5 text-xs text-warn">
          {cards.length > 0 && chosen.size === 0 && "Choose at least one strategy. "}
          {isWrongSeed && "A seed is a whole number."}
        </p>
        <div className="mt-3 flex justify-end gap-2">
          <button type="button" className="press" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button
            type="submit"
            className="press font-semibold"
            data-on="true"
            disabled={isWrongSeed || (cards.length > 0 && chosen.size === 0)}
          >
            Begin
          </button>
        </div>
      </form>
    </dialog>
  );
}
