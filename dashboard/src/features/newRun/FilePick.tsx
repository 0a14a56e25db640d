import { type ChangeEvent, useId, useState } from "react";
import { ServiceProblem } from "@/client/http";
import type { UploadCard } from "@/client/types";
import { sendUpload } from "@/client/uploads";
import { KeyField } from "@/features/shell/KeyField";
import { columnsOf } from "@/features/shell/newRun";
import { PickField } from "@/features/widgets/Fields";

/** What the columns of a task mean to somebody who has a table of jobs. */
const COLUMNS: readonly { key: string; label: string; title: string }[] = [
  { key: "arrival_time", label: "Arrival", title: "When the job was submitted, in seconds" },
  { key: "duration", label: "Seconds on a CPU", title: "How long the job ran, on the CPU" },
  { key: "gpu_time", label: "Seconds on a GPU", title: "How long the job ran, on a GPU" },
  {
    key: "kind",
    label: "Kind of work",
    title: "The program, function or user: durations are learned by kind",
  },
  { key: "gpus_required", label: "GPUs at once", title: "How many GPUs the job holds at once" },
  { key: "memory_required", label: "Memory, MB", title: "What must cross the bus" },
];

const LOOKED_AT = 65_536;

interface ColumnsProps {
  theirs: readonly string[];
  onRead: (columns: Record<string, string>) => void;
}

/** Asks which column of a foreign CSV is which. */
function Columns({ theirs, onRead }: ColumnsProps) {
  const [chosen, setChosen] = useState<Record<string, string>>({});
  const named = Object.entries(chosen).filter(([, name]) => name !== "");
  return (
    <fieldset className="mt-2">
      <legend className="eyebrow">Which column is which?</legend>
      <div className="mt-1 grid grid-cols-2 gap-2 sm:grid-cols-3">
        {COLUMNS.map((one) => (
          <PickField
            key={one.key}
            label={one.label}
            title={one.title}
            value={chosen[one.key] ?? ""}
            options={[{ key: "", label: "–" }, ...theirs.map((name) => ({ key: name, label: name }))]}
            onChange={(name) => setChosen({ ...chosen, [one.key]: name })}
          />
        ))}
      </div>
      <button
        type="button"
        className="press mt-2"
        disabled={named.length === 0}
        onClick={() => onRead(Object.fromEntries(named))}
      >
        Read it
      </button>
    </fieldset>
  );
}

export interface FilePickProps {
  label: string;
  use: UploadCard["use"];
  title: string;
  onKept: (card: UploadCard) => void;
}

/** A file that is sent when it is picked: read completely by the service, or refused in one sentence. */
export function FilePick({ label, use, title, onKept }: FilePickProps) {
  const input = useId();
  const [file, setFile] = useState<File | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const [needsKey, setNeedsKey] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [theirs, setTheirs] = useState<readonly string[]>([]);
  const send = async (one: File, columns?: Record<string, string>): Promise<void> => {
    setBusy(true);
    setSaid(null);
    try {
      onKept(await sendUpload(one, use, columns));
      setTheirs([]);
    } catch (error) {
      setSaid(error instanceof Error ? error.message : "The file could not be sent.");
      setNeedsKey(error instanceof ServiceProblem && error.status === 401);
      const foreign = use === "trace" && error instanceof ServiceProblem && error.status === 422;
      setTheirs(foreign ? columnsOf(await one.slice(0, LOOKED_AT).text()) : []);
    } finally {
      setBusy(false);
    }
  };
  const pick = (event: ChangeEvent<HTMLInputElement>): void => {
    const one = event.target.files?.[0] ?? null;
    event.target.value = ""; // so that the same file can be picked again
    setFile(one);
    if (one !== null) void send(one);
  };
  return (
    <div className="mt-3 text-sm">
      <label htmlFor={input} className="eyebrow block">
        {label}
      </label>
      <input
        id={input}
        type="file"
        title={title}
        className="field mt-1 w-full min-w-0 file:mr-2 file:cursor-pointer file:rounded file:border-0 file:bg-transparent file:text-ink"
        disabled={isBusy}
        onChange={pick}
      />
      <p role="status" className="mt-1 text-xs text-warn">
        {isBusy ? `Reading ${file?.name ?? ""} …` : said}
      </p>
      {needsKey && (
        <KeyField
          onKnown={() => {
            setNeedsKey(false);
            if (file !== null) void send(file);
          }}
        />
      )}
      {file !== null && theirs.length > 0 && !needsKey && (
        <Columns theirs={theirs} onRead={(columns) => void send(file, columns)} />
      )}
    </div>
  );
}
