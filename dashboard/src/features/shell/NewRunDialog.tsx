import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { start } from "@/client/commands";
import { useGpuTypes, usePresets, useStrategies } from "@/client/queries";
import type { SimulationStatus, StrategyCard } from "@/client/types";
import { spoken, useFaces, useRacers } from "@/lib/useStrategy";
import { useLive } from "@/live/store";
import { forgetNewRun, gpusOf, MOST_GPUS, rateOf, requestOf, seedOf } from "./newRun";

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
              <span className="truncate">
                {card.name.includes("@") ? card.label : card.label.replace(/ \((learned|nominal)\)$/, "")}
              </span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

interface NumberFieldProps {
  label: string;
  value: string;
  isWrong: boolean;
  title: string;
  onChange: (text: string) => void;
}

function NumberField({ label, value, isWrong, title, onChange }: NumberFieldProps) {
  return (
    <label className="block text-sm">
      <span className="eyebrow block">{label}</span>
      <input
        className="field figure mt-1 h-8 w-full"
        inputMode="decimal"
        autoComplete="off"
        value={value}
        aria-invalid={isWrong}
        title={title}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

/** What was typed into a field, else what is there now; wrong where it means nothing. */
function useTyped(now: string, meaning: (text: string) => number | null) {
  const [typed, setTyped] = useState<string | null>(null);
  const wished = typed === null || typed === now ? null : meaning(typed);
  return {
    text: typed ?? now,
    set: setTyped,
    wished,
    isWrong: typed !== null && typed !== now && typed !== "" && wished === null,
  };
}

type Level = SimulationStatus["knowledge"];

const LEVELS: readonly { key: Level; label: string; title: string }[] = [
  {
    key: "learned",
    label: "Learned",
    title: "They begin with the formula and learn from what they see finish",
  },
  { key: "exact", label: "Exact", title: "They are told the true durations, without the noise" },
  { key: "nominal", label: "Nominal", title: "They believe the formula, whatever happens" },
];

interface PickFieldProps {
  label: string;
  value: string;
  title: string;
  options: readonly { key: string; label: string; title?: string }[];
  onChange: (key: string) => void;
}

function PickField({ label, value, title, options, onChange }: PickFieldProps) {
  return (
    <label className="block text-sm" title={title}>
      <span className="eyebrow block">{label}</span>
      <select
        className="field mt-1 h-8 w-full"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((one) => (
          <option key={one.key} value={one.key} title={one.title}>
            {one.label}
          </option>
        ))}
      </select>
    </label>
  );
}

const shown = (value: number | null | undefined): string =>
  value == null ? "" : String(Number(value.toPrecision(6)));

/** Asks what the new run shall be, and begins it. */
export function NewRunDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const cards = useStrategies();
  const presets = usePresets();
  const racers = useRacers();
  const status = useLive((s) => s.update?.status);
  const now = status?.workload.preset ?? "";
  // Until something is picked, those of the present race are: the list may come later than the dialog.
  const [picked, setPicked] = useState<ReadonlySet<string> | null>(null);
  const [preset, setPreset] = useState<string | null>(null);
  const [level, setLevel] = useState<Level | null>(null);
  const [type, setType] = useState("");
  const types = useGpuTypes();
  const chosen = picked ?? new Set(cards.filter((card) => card.in_race).map((card) => card.name));
  const seedNow = status?.seed ?? null;
  const seed = useTyped(seedNow === null ? "" : String(seedNow), seedOf);
  const gpus = useTyped(shown(status?.num_gpus || null), gpusOf);
  const usual = presets.find((one) => one.name === preset)?.arrival_rate;
  const rate = useTyped(shown(preset === null ? status?.workload.arrival_rate : usual), rateOf);
  const problems = [
    cards.length > 0 && chosen.size === 0 && "Choose at least one strategy.",
    seed.isWrong && "A seed is a whole number.",
    gpus.isWrong && `A node has 1 to ${MOST_GPUS} GPUs.`,
    rate.isWrong && "A load is a number of tasks per second above 0.",
  ].filter((one) => one !== false);
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
    const wish = { cards, chosen, racers, seed: seedNow, wishedSeed: seed.wished };
    // The plan of a new run is the present one's plan, which shifts have not changed: what is shown here is named.
    const named = preset ?? (rate.wished === null ? null : now);
    void start(
      requestOf({
        ...wish,
        gpus: gpus.wished,
        preset: named || null,
        rate: rate.wished,
        knowledge: level,
        gpuType: type || null,
      }),
    );
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
        <div className="mt-3 grid grid-cols-2 gap-3">
          <PickField
            label="Workload"
            title="What the stream of tasks is made of"
            value={preset ?? now}
            options={[
              ...(presets.some((one) => one.name === now) ? [] : [{ key: now, label: now || "–" }]),
              ...presets.map((one) => ({ key: one.name, label: spoken(one.name), title: one.description })),
            ]}
            onChange={setPreset}
          />
          <NumberField
            label="Load, tasks per second"
            value={rate.text}
            isWrong={rate.isWrong}
            title="How many tasks arrive in a second of simulated time, on average"
            onChange={rate.set}
          />
          <NumberField
            label="GPUs of the node"
            value={gpus.text}
            isWrong={gpus.isWrong}
            title="All GPUs are like the first one of the present node"
            onChange={gpus.set}
          />
          <PickField
            label="Type of the GPUs"
            title="The hardware of the new node; prices are examples"
            value={type}
            options={[
              { key: "", label: "As in the present run" },
              ...types.map((one) => ({
                key: one.name,
                label: one.title,
                title: `${one.fp32_tflops} TFLOPS, ${one.memory_mb / 1000} GB, $${one.price_usd_h} an hour`,
              })),
            ]}
            onChange={setType}
          />
          <PickField
            label="Strategies know durations"
            title="What strategies are told about how long a task takes"
            value={level ?? status?.knowledge ?? "exact"}
            options={LEVELS}
            onChange={(key) => setLevel(key as Level)}
          />
          <NumberField
            label="Seed"
            value={seed.text}
            isWrong={seed.isWrong}
            title="The same seed draws the same tasks"
            onChange={seed.set}
          />
        </div>
        <p role="status" className="mt-2 min-h-5 text-xs text-warn">
          {problems.join(" ")}
        </p>
        <div className="mt-3 flex justify-end gap-2">
          <button type="button" className="press" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" className="press font-semibold" data-on="true" disabled={problems.length > 0}>
            Begin
          </button>
        </div>
      </form>
    </dialog>
  );
}
