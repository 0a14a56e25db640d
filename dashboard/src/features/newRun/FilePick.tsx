import { type ChangeEvent, useEffect, useId, useRef, useState } from "react";
import { ServiceProblem } from "@/client/http";
import type { UploadCard } from "@/client/types";
import { sendUpload, sendWithTable } from "@/client/uploads";
import { KeyField } from "@/features/shell/KeyField";
import { columnsOf, guessedColumns, withoutFlags } from "@/features/shell/newRun";
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
  guessed: Readonly<Record<string, string>>;
  onRead: (columns: Record<string, string>) => void;
}

/** Asks which column of a foreign CSV is which. */
function Columns({ theirs, guessed, onRead }: ColumnsProps) {
  const [chosen, setChosen] = useState<Record<string, string>>({ ...guessed });
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

interface FileFieldProps {
  label: string;
  title: string;
  isBusy: boolean;
  onPick: (file: File) => void;
}

/** A labelled field for one file. */
function FileField({ label, title, isBusy, onPick }: FileFieldProps) {
  const input = useId();
  const pick = (event: ChangeEvent<HTMLInputElement>): void => {
    const one = event.target.files?.[0];
    event.target.value = ""; // so that the same file can be picked again
    if (one) onPick(one);
  };
  return (
    <>
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
    </>
  );
}

/** The file that must lie beside a Gavel stream; the service's refusal names it. */
const TABLE = "simulation_throughputs.json";

export interface FilePickProps {
  label: string;
  use: UploadCard["use"];
  title: string;
  onKept: (card: UploadCard) => void;
}

/** A file that is sent when it is picked: read completely by the service, or refused in one sentence. */
export function FilePick({ label, use, title, onKept }: FilePickProps) {
  const [file, setFile] = useState<File | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const [needsKey, setNeedsKey] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [theirs, setTheirs] = useState<readonly string[]>([]);
  const [guessed, setGuessed] = useState<Readonly<Record<string, string>>>({});
  const [lacksTable, setLacksTable] = useState(false);
  const send = async (one: File, columns?: Record<string, string>, table?: File): Promise<void> => {
    setBusy(true);
    setSaid(null);
    try {
      onKept(await (table ? sendWithTable(one, table) : sendUpload(one, use, columns)));
      setTheirs([]);
      setLacksTable(false);
    } catch (error) {
      const sentence = error instanceof Error ? error.message : "The file could not be sent.";
      setSaid(withoutFlags(sentence));
      setGuessed(guessedColumns(sentence, COLUMNS));
      setNeedsKey(error instanceof ServiceProblem && error.status === 401);
      const foreign = use === "trace" && error instanceof ServiceProblem && error.status === 422;
      const gavel = foreign && error.message.includes(TABLE);
      setLacksTable(gavel || table !== undefined);
      setTheirs(foreign && !gavel && !table ? columnsOf(await one.slice(0, LOOKED_AT).text()) : []);
    } finally {
      setBusy(false);
    }
  };
  const part = useRef<HTMLDivElement>(null);
  // What was said, and what can be done about it, may lie below the edge of the dialog.
  useEffect(() => {
    if (said !== null || theirs.length > 0) part.current?.scrollIntoView({ block: "nearest" });
  }, [said, theirs]);
  const pick = (one: File): void => {
    setFile(one);
    void send(one);
  };
  return (
    <div ref={part} className="mt-3 scroll-mb-4 text-sm">
      <FileField label={label} title={title} isBusy={isBusy} onPick={pick} />
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
      {file !== null && lacksTable && !needsKey && (
        <FileField
          label={`Its table, ${TABLE}`}
          title="Steps per second of every job type on every type of GPU; also packed with gzip"
          isBusy={isBusy}
          onPick={(table) => void send(file, undefined, table)}
        />
      )}
      {file !== null && theirs.length > 0 && !needsKey && (
        <Columns
          key={theirs.join()}
          theirs={theirs}
          guessed={guessed}
          onRead={(columns) => void send(file, columns)}
        />
      )}
    </div>
  );
}
