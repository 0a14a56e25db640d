import { ArrowLeft } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { Link } from "react-router";
import { createStore } from "zustand";
import { useMoment } from "@/client/queries";
import { useRun, useSnapshot } from "@/client/runs";
import { Loading } from "@/features/widgets/States";
import { tasksText } from "@/lib/format";
import { presetLabel } from "@/lib/presets";
import { useView } from "@/lib/url";
import { reduce } from "@/live/reducer";
import { type LiveState, START } from "@/live/state";
import { ShownRun } from "@/live/store";
import { MeasuredNote } from "./MeasuredNote";
import { ReplayBar } from "./ReplayBar";
import { SourceChip } from "./SourceChip";
import { branchWords, runTitle } from "./words";

export interface PastRunProps {
  run: number;
  children: ReactNode;
}

/** A stored run stands still: nothing more is heard of it. */
const STILL: LiveState = { ...START, connection: { ...START.connection, phase: "live" } };

interface BarProps {
  run: number;
  problem: string | null;
  isReading: boolean;
}

function Bar({ run, problem, isReading }: BarProps) {
  const card = useRun(run).data;
  const [, change] = useView();
  return (
    <section
      aria-label="Stored run"
      className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2 rounded-xl border border-rl/60 px-4 py-2.5 text-sm"
      style={{ background: "var(--panel-solid)" }}
      data-stored-run={run}
    >
      <p className="mr-auto">
        <span className="font-semibold">{card ? runTitle(card) : `Run ${run}`}</span>
        {card && <SourceChip source={card.source} running={card.measured?.is_running ?? false} />}{" "}
        {card && (
          <span className="text-muted">
            seed {card.seed}, {presetLabel(card.workload)}, {tasksText(card.tasks)}. Everything below is as it
            was stored; the controls above are those of the present race.{branchWords(card)}
          </span>
        )}
        {problem && <span className="block text-warn">{problem}</span>}
        {card?.measured && <MeasuredNote facts={card.measured} standings={card.standings} />}
        {card?.note && <span className="block text-muted">{card.note}</span>}
      </p>
      <Link className="press" to="/runs">
        All runs
      </Link>
      <button type="button" className="press" onClick={() => change({ run: null, at: null })}>
        <ArrowLeft size={14} aria-hidden="true" /> Back to the race
      </button>
      {card && card.tasks > 0 && card.source === "simulated" && (
        <ReplayBar card={card} isReading={isReading} />
      )}
    </section>
  );
}

/** Everything below shows a stored run. */
export function PastRun({ run, children }: PastRunProps) {
  const at = useMoment();
  const answer = useSnapshot(run, at);
  // There is nothing to show of a moment that the run never had: widgets would wait for it for ever.
  const isWrongMoment = at !== null && answer.isError;
  const isThere = !useRun(run).isError;
  const snapshot = answer.data;
  const store = useMemo(
    () =>
      createStore<LiveState>(() =>
        snapshot ? reduce(STILL, { kind: "message", message: snapshot }) : STILL,
      ),
    [snapshot],
  );
  if (answer.isPending) return <Loading title={`Reading run ${run}`} />;
  return (
    <ShownRun value={store}>
      <Bar
        run={run}
        problem={answer.error?.message ?? null}
        isReading={answer.isPlaceholderData || answer.isFetching}
      />
      {isThere && !isWrongMoment && children}
    </ShownRun>
  );
}
