import { useEffect, useRef, useState } from "react";
import { Pick } from "@/features/widgets/Choice";
import { useRunWords } from "@/lib/runWords";
import type { Params } from "@/lib/url";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { useLive } from "@/live/store";
import { FIRST_PAGE, type LedgerAsk } from "./ledger";

/** Every place a task can go on a node with this many GPUs. */
export function placesOf(gpus: number): string[] {
  const numbers = Array.from({ length: gpus }, (_, i) => i);
  return ["cpu", ...numbers.map((i) => `gpu_${i}`), ...numbers.map((i) => `cpu+gpu_${i}`)];
}

interface NumberFilterProps {
  label: string;
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
}

/** The address follows what is typed, a moment later; meanwhile the field keeps its own text. */
function NumberFilter({ label, placeholder, value, onChange }: NumberFilterProps) {
  const [text, setText] = useState(value);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (document.activeElement !== field.current) setText(value);
  }, [value]);
  const typed = (raw: string): void => {
    const digits = raw.replace(/\D/g, "").slice(0, 15);
    setText(digits);
    onChange(digits);
  };
  return (
    <input
      ref={field}
      className="field w-20 py-0.5 text-xs"
      inputMode="numeric"
      placeholder={placeholder}
      aria-label={label}
      value={text}
      onChange={(event) => typed(event.target.value)}
    />
  );
}

/** Which rows are shown: of which run, strategy and device, and of which tasks. */
export function LedgerFilters({ ask, onChange }: { ask: LedgerAsk; onChange: (change: Params) => void }) {
  const racers = useRacers();
  const face = useFaces();
  const words = useRunWords();
  const gpus = useLive((s) => s.update?.status.num_gpus ?? 4);
  const shown = useLive((s) => s.update?.status.run_id ?? null);
  const known = ask.scheduler === "" || racers.includes(ask.scheduler) ? racers : [...racers, ask.scheduler];
  const strategies = [
    { key: "", label: "All strategies" },
    ...known.map((name) => ({ key: name, label: face(name).label })),
  ];
  const devices = [
    { key: "", label: "All devices" },
    ...placesOf(gpus).map((place) => ({ key: place, label: words.device(place) })),
  ];
  const runs = [
    { key: "own", label: shown === null ? "This run" : `Run ${shown}` },
    { key: "all", label: "All runs" },
  ];
  const pick = (change: Params): void => onChange({ ...change, ...FIRST_PAGE });
  return (
    <>
      <NumberFilter
        label="Filter by task id"
        placeholder="Task id"
        value={ask.task}
        onChange={(find) => pick({ find })}
      />
      <NumberFilter
        label="From this task on"
        placeholder="From task"
        value={ask.from}
        onChange={(from) => pick({ from })}
      />
      <NumberFilter
        label="Up to this task"
        placeholder="To task"
        value={ask.to}
        onChange={(to) => pick({ to })}
      />
      <Pick
        label="Filter by run"
        value={ask.run === "all" ? "all" : "own"}
        options={runs}
        onChange={(rows) => pick({ rows: rows === "all" ? "all" : null })}
      />
      <Pick
        label="Filter by strategy"
        value={ask.scheduler}
        options={strategies}
        onChange={(by) => pick({ by })}
      />
      <Pick label="Filter by device" value={ask.device} options={devices} onChange={(on) => pick({ on })} />
    </>
  );
}
