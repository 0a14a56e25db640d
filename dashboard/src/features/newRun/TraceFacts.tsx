import { Trash2 } from "lucide-react";
import { useState } from "react";
import type { UploadCard } from "@/client/types";
import { removeUpload } from "@/client/uploads";
import { clock, counted, tasksText } from "@/lib/format";

/** A note without the word that programs know it by. */
const spokenNote = (note: string): string => {
  const said = note.replace(/^\w+: /, "");
  return said.charAt(0).toUpperCase() + said.slice(1);
};

interface TraceFactsProps {
  card: UploadCard;
  onRemoved: () => void;
}

/** What was read from a trace, before it is raced. */
export function TraceFacts({ card, onRemoved }: TraceFactsProps) {
  const [said, setSaid] = useState<string | null>(null);
  const trace = card.trace;
  if (trace === null) return null;
  const remove = async (): Promise<void> => {
    try {
      await removeUpload(card.upload_id);
      onRemoved();
    } catch (error) {
      setSaid(error instanceof Error ? error.message : "The file could not be removed.");
    }
  };
  const rate =
    trace.arrival_rate == null ? "all at once" : `${Number(trace.arrival_rate.toPrecision(3))} a second`;
  const kinds =
    trace.kinds === 0 ? "no kinds of work" : counted(trace.kinds, "kind of work", "kinds of work");
  const notes = [...trace.left_out, ...trace.notes];
  return (
    <section
      aria-label={`What ${card.name} holds`}
      className="mt-3 rounded-xl border border-line p-3 text-sm"
    >
      <div className="flex items-start gap-2">
        <p className="min-w-0 flex-1">
          <span className="font-semibold break-all">{card.name}</span>: {tasksText(trace.tasks)}, {kinds},
          over {clock(trace.span_s)} ({rate})
          {trace.most_gpus > 1 && `, up to ${trace.most_gpus} GPUs at once`}
          {trace.dependencies > 0 && `, ${counted(trace.dependencies, "dependency", "dependencies")}`}.
        </p>
        <button
          type="button"
          className="icon-press"
          aria-label={`Remove ${card.name}`}
          title={card.runs.length > 0 ? "Stored runs need it" : "Remove this upload"}
          disabled={card.runs.length > 0}
          onClick={() => void remove()}
        >
          <Trash2 size={14} aria-hidden="true" />
        </button>
      </div>
      {trace.left_out.length > 0 && (
        <p className="mt-1 text-warn">{trace.left_out.map(spokenNote).join(" ")}</p>
      )}
      {notes.length > trace.left_out.length && (
        <details className="mt-1">
          <summary className="cursor-pointer text-muted">What was assumed ({trace.notes.length})</summary>
          <ul className="mt-1 list-disc pl-5 text-xs leading-relaxed text-muted">
            {trace.notes.map((note) => (
              <li key={note} className="break-words">
                {spokenNote(note)}
              </li>
            ))}
          </ul>
        </details>
      )}
      {said !== null && (
        <p role="alert" className="mt-1 text-xs text-warn">
          {said}
        </p>
      )}
    </section>
  );
}
