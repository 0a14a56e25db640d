import type { FormEvent } from "react";
import { create } from "zustand";
import { askAbout, useCommands } from "@/client/commands";
import { useFollows, useStoredRun } from "@/client/queries";
import type { TaskAdvice } from "@/client/types";
import { NumberField } from "@/features/widgets/Fields";
import { Empty, Loading } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { dollars, joules, percent, seconds, taskNumber } from "@/lib/format";
import { termsOf } from "@/lib/glossary";
import { useView } from "@/lib/url";
import { useFaces } from "@/lib/useStrategy";
import { deviceLabel } from "@/live/devices";
import { adviceRows, FIELDS, type FieldKey, problemOf, START, type Typed, taskOf } from "./askTask";

interface FormProps {
  typed: Typed;
  onType: (key: FieldKey, text: string) => void;
  onAsk: (run: boolean) => void;
}

function TaskForm({ typed, onType, onAsk }: FormProps) {
  const busy = useCommands((s) => s.busy);
  const wrong = FIELDS.map((field) => problemOf(field, typed[field.key])).filter((one) => one !== null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onAsk(false);
  };
  return (
    <form className="flex flex-wrap items-end gap-3" onSubmit={submit} aria-label="A task of your own">
      {FIELDS.map((field) => (
        <div key={field.key} className="w-28">
          <NumberField
            label={field.label}
            title={field.meaning}
            value={typed[field.key]}
            isWrong={problemOf(field, typed[field.key]) !== null}
            onChange={(text) => onType(field.key, text)}
          />
        </div>
      ))}
      <button type="submit" className="press h-8 font-semibold" disabled={busy || wrong.length > 0}>
        Ask every strategy
      </button>
      <button
        type="button"
        className="press h-8"
        title="It becomes the next task of the race, for all strategies"
        disabled={busy || wrong.length > 0}
        onClick={() => onAsk(true)}
      >
        Put it into the race
      </button>
      <p role="status" className="w-full text-xs text-warn">
        {wrong.join(" ")}
      </p>
    </form>
  );
}

const HEADS = ["Strategy", "Where", "GPU share", "Latency", "Time", "Energy", "Cost", "Why"] as const;

function Answers({ advice, onOpen }: { advice: TaskAdvice; onOpen: (id: number) => void }) {
  const face = useFaces();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section aria-label="What every strategy would do" className="min-h-0 flex-1 overflow-auto" tabIndex={0}>
      {advice.task_id !== null && (
        <p className="mb-2 text-sm">
          It is task{" "}
          <button
            type="button"
            className="figure text-ml hover:underline"
            onClick={() => onOpen(advice.task_id ?? 0)}
          >
            {taskNumber(advice.task_id)}
          </button>{" "}
          of the race.
        </p>
      )}
      <table className="figure w-full text-xs">
        <thead className="text-muted">
          <tr>
            {HEADS.map((head) => (
              <th key={head} scope="col" className="py-1 pr-3 text-left font-medium whitespace-nowrap">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {adviceRows(advice).map((one) => (
            <tr key={one.scheduler} className="border-t border-line align-top" data-advice={one.scheduler}>
              <th scope="row" className="py-1.5 pr-3 text-left font-medium whitespace-nowrap">
                <span
                  aria-hidden="true"
                  className="mr-2 inline-block size-2 rounded-full"
                  style={{ background: face(one.scheduler).colour }}
                />
                {face(one.scheduler).label}
              </th>
              <td className="py-1.5 pr-3 whitespace-nowrap">{deviceLabel(one.device)}</td>
              <td className="py-1.5 pr-3 whitespace-nowrap">{percent(one.gpu_fraction)}</td>
              <td className="py-1.5 pr-3 font-semibold whitespace-nowrap">
                {seconds(one.predicted_latency)}
              </td>
              <td className="py-1.5 pr-3 whitespace-nowrap">{seconds(one.predicted_time)}</td>
              <td className="py-1.5 pr-3 whitespace-nowrap">{joules(one.predicted_energy)}</td>
              <td className="py-1.5 pr-3 whitespace-nowrap">{dollars(one.predicted_cost)}</td>
              <td className="min-w-56 py-1.5 text-muted">{one.reason_text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface Question {
  typed: Typed;
  advice: TaskAdvice | null;
  isAsking: boolean;
}

/** Kept beside the page, so that turning the phone or another view does not lose the answer. */
const useQuestion = create<Question>(() => ({ typed: START, advice: null, isAsking: false }));

/** What if: a task of one's own, and where every strategy would send it now. */
export function AskWidget() {
  const [, change] = useView();
  const { typed, advice, isAsking } = useQuestion();
  const follows = useFollows();
  const isPast = useStoredRun() !== null;
  const ask = async (run: boolean): Promise<void> => {
    useQuestion.setState({ isAsking: true });
    const answer = await askAbout(taskOf(typed), run);
    useQuestion.setState(answer ? { isAsking: false, advice: answer } : { isAsking: false });
  };
  const table = () => ({
    columns: ["scheduler", "device", "gpu_fraction", "predicted_latency", "predicted_time", "reason_text"],
    rows: (advice ? adviceRows(advice) : []).map((one) => [
      one.scheduler,
      one.device,
      one.gpu_fraction,
      one.predicted_latency,
      one.predicted_time,
      one.reason_text,
    ]),
  });
  const elsewhere = follows
    ? "Another service runs this race; ask there."
    : "A stored run cannot be asked any more; go back to the race.";
  return (
    <Widget
      title="What if: a task of your own"
      meaning="Every strategy of the present race says where it would send this task now, given its own queues, and what it expects of it. Nothing is changed by asking. Put into the race, the task becomes the next one for all strategies."
      terms={termsOf("latency", "time", "energy", "cost")}
      table={table}
      foot="Predictions are for this moment: queues change with every task of the race."
    >
      {follows || isPast ? (
        <Empty title="Nobody to ask here">{elsewhere}</Empty>
      ) : (
        <div className="flex h-full flex-col gap-3">
          <TaskForm
            typed={typed}
            onType={(key, text) => useQuestion.setState({ typed: { ...typed, [key]: text } })}
            onAsk={(run) => void ask(run)}
          />
          {isAsking && !advice && <Loading title="Asking every strategy" />}
          {!isAsking && !advice && (
            <p className="text-sm text-muted">
              Say what the task is like, and every strategy of the race tells where it would send it now, and
              why.
            </p>
          )}
          {advice && <Answers advice={advice} onOpen={(id) => change({ task: id }, true)} />}
        </div>
      )}
    </Widget>
  );
}
