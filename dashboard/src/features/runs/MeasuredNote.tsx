import type { RunCard } from "@/client/types";
import { count, counted, joules, seconds } from "@/lib/format";
import { useFaces } from "@/lib/useStrategy";

interface MeasuredNoteProps {
  facts: NonNullable<RunCard["measured"]>;
  standings: RunCard["standings"];
}

/** What the machine is, in words; what a program of another version has said stands behind. */
function machineWords({ cpu, cores, gpu, ...more }: Readonly<Record<string, string>>): string {
  const known = [
    cpu,
    cores && counted(Number(cores), "core"),
    gpu === "none" ? "no CUDA GPU" : gpu,
    ...Object.values(more),
  ];
  return known.filter((one) => one).join(", ");
}

/** Why no energy is known. */
const metersWords = (meters: string): string => (meters.startsWith("not read") ? `energy ${meters}` : meters);

/** The machine of a real run, what no placement could have beaten there, its meters and its alarms. */
export function MeasuredNote({ facts, standings }: MeasuredNoteProps) {
  const face = useFaces();
  const progress = standings
    .filter(({ source }) => facts.is_running && source === "measured")
    .map(({ name, tasks }) => `${face(name).label} ${count(tasks)} of ${count(facts.tasks)} tasks`);
  const energy = Object.entries(facts.energy_j).map(
    ([name, value]) => `${face(name).label} ${joules(value)}`,
  );
  const lines = [
    machineWords(facts.machine),
    facts.bound_s === null ? "" : `No placement could have ended before ${seconds(facts.bound_s)}.`,
    energy.length > 0
      ? `Energy of the whole machine: ${energy.join(", ")}. ${facts.meters}`
      : metersWords(facts.meters),
  ].filter((line) => line !== "");
  return (
    <>
      {progress.length > 0 && <span className="block">{progress.join(" · ")}</span>}
      <span className="block text-muted">{lines.join(" · ")}</span>
      {facts.alarms.map((alarm) => (
        <span key={alarm} className="block text-warn">
          {alarm.replaceAll("`", "")}
        </span>
      ))}
    </>
  );
}
