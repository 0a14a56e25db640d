import type { RunStanding } from "@/client/types";

const MEANINGS: Partial<Record<RunStanding["source"], string>> = {
  measured: "Real tasks ran on real devices; these are measured times",
  modelled: "What would have been: the model's times on the same arrivals",
};

/** Says where figures come from unless they are the usual, simulated ones. */
export function SourceChip({ source, running }: { source: RunStanding["source"]; running?: boolean }) {
  const meaning = MEANINGS[source];
  if (!meaning) return null;
  return (
    <span
      className={`chip ml-2 ${source === "measured" ? "text-good" : "text-warn"}`}
      title={running ? `${meaning}; it is under way` : meaning}
      data-source={source}
    >
      {running ? `${source} · running` : source}
    </span>
  );
}
