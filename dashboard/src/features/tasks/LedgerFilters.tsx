import { Search } from "lucide-react";
import { Pick } from "@/features/widgets/Choice";
import type { Params } from "@/lib/url";
import { useFaces, useRacers } from "@/lib/useStrategy";
import { deviceLabel } from "@/live/devices";
import { useLive } from "@/live/store";
import type { LedgerAsk } from "./ledger";

/** Every place a task can go on a node with this many GPUs. */
export function placesOf(gpus: number): string[] {
  const numbers = Array.from({ length: gpus }, (_, i) => i);
  return ["cpu", ...numbers.map((i) => `gpu_${i}`), ...numbers.map((i) => `cpu+gpu_${i}`)];
}

export function LedgerFilters({ ask, onChange }: { ask: LedgerAsk; onChange: (change: Params) => void }) {
  const racers = useRacers();
  const face = useFaces();
  const gpus = useLive((s) => s.update?.status.num_gpus ?? 4);
  const strategies = [
    { key: "", label: "All strategies" },
    ...racers.map((name) => ({ key: name, label: face(name).label })),
  ];
  const devices = [
    { key: "", label: "All devices" },
    ...placesOf(gpus).map((place) => ({ key: place, label: deviceLabel(place) })),
  ];
  return (
    <>
      <label className="field flex items-center gap-1.5 py-0.5 text-xs">
        <Search size={13} className="text-muted" aria-hidden="true" />
        <input
          className="w-20 bg-transparent outline-none"
          inputMode="numeric"
          placeholder="Task id"
          aria-label="Filter by task id"
          value={ask.task}
          onChange={(event) => onChange({ find: event.target.value.replace(/\D/g, ""), page: null })}
        />
      </label>
      <Pick
        label="Filter by strategy"
        value={ask.scheduler}
        options={strategies}
        onChange={(by) => onChange({ by, page: null })}
      />
      <Pick
        label="Filter by device"
        value={ask.device}
        options={devices}
        onChange={(on) => onChange({ on, page: null })}
      />
    </>
  );
}
