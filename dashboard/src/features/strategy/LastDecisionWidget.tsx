import { useFollows, useStoredRun } from "@/client/queries";
import { GpuShare } from "@/features/audit/GpuShare";
import { Reasons } from "@/features/audit/Reasons";
import { knownReasons } from "@/features/audit/reasonWords";
import { ScrollRegion } from "@/features/widgets/ScrollRegion";
import { Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { percent, taskNumber } from "@/lib/format";
import { TERMS } from "@/lib/glossary";
import { useView } from "@/lib/url";
import { useFaces } from "@/lib/useStrategy";
import { deviceLabel } from "@/live/devices";
import { useLive } from "@/live/store";
import { LearningNote } from "./LearningNote";

/** A fast race explains a few tasks of each second; the reasons of any other can still be asked for. */
function Unexplained({ onAsk }: { onAsk: (() => void) | undefined }) {
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-2">
      This task was not explained at this speed.
      {onAsk && (
        <button type="button" className="press" onClick={onAsk}>
          Ask for the reasons now
        </button>
      )}
    </p>
  );
}

/** Decision audit: why the last decision was taken as it was. */
export function LastDecisionWidget({ name }: { name: string }) {
  const audit = useLive((s) => s.update?.audit[name]);
  const [, change] = useView();
  const face = useFaces();
  const { card } = face(name);
  const follows = useFollows();
  const isPast = useStoredRun() !== null;
  const open = (): void => {
    if (audit) change({ task: audit.task_id }, true);
  };
  const table = () => ({
    columns: ["scheduler", "task_id", "device", "gpu_fraction", "confidence", "reason_text", "reason"],
    rows: audit
      ? [
          [
            name,
            audit.task_id,
            audit.device,
            audit.gpu_fraction,
            audit.confidence,
            audit.reason_text,
            JSON.stringify(audit.reason),
          ],
        ]
      : [],
  });
  return (
    <Widget
      title="Decision audit: latest task"
      meaning="The latest decision whose reasons were recorded, as the strategy itself explains it; a fast race records a few of each second. It says what the strategy saw, what it weighed and what it chose. Point at a word for its meaning; press the task to see what every other strategy did with it."
      terms={audit ? knownReasons(audit.reason) : []}
      table={table}
      foot={<LearningNote name={name} />}
    >
      {!audit ? (
        <Empty title={isPast ? "The reasons are not kept" : "No decision yet"}>
          {isPast && "What was decided for each task is in the ledger."}
        </Empty>
      ) : (
        <ScrollRegion label="Why the latest decision" hasButton>
          <div className="flex flex-wrap items-center gap-2 text-sm">
            <button type="button" className="press" onClick={open}>
              Task {taskNumber(audit.task_id)}
            </button>
            <span className="font-semibold">{deviceLabel(audit.device)}</span>
            <GpuShare share={audit.gpu_fraction} reason={audit.reason} />
            {audit.confidence !== null && (
              <span className="chip figure" title={TERMS.confidence.meaning}>
                confidence {percent(audit.confidence)}
              </span>
            )}
          </div>
          <p className="mt-2 text-sm leading-relaxed">{audit.reason_text}</p>
          <Reasons
            reason={audit.reason}
            colour={face(name).colour}
            none={card?.explains && <Unexplained onAsk={follows ? undefined : open} />}
          />
        </ScrollRegion>
      )}
    </Widget>
  );
}
