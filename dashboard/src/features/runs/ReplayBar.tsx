import { GitBranch, Pause, Play, SkipForward } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useFollows, useMoment } from "@/client/queries";
import type { RunCard } from "@/client/types";
import { clock, count } from "@/lib/format";
import { useView } from "@/lib/url";
import { useLive } from "@/live/store";
import { movedOn, REPLAY_EVERY_MS, REPLAY_SPEEDS, within } from "./replay";

const BranchDialog = lazy(async () => ({ default: (await import("./BranchDialog")).BranchDialog }));

export interface ReplayBarProps {
  card: RunCard;
  /** Whether the moment of the address is still being read: no further one is asked for before. */
  isReading: boolean;
}

/** Plays a stored run again from its rows, from any of its tasks on, and lets a new run leave it there. */
export function ReplayBar({ card, isReading }: ReplayBarProps) {
  const [, change] = useView();
  const moment = useMoment();
  const follows = useFollows();
  const simulated = useLive((s) => s.update?.simulated_time_s);
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(200);
  const [isBranching, setBranching] = useState(false);
  const movedAt = useRef(0);
  // The address follows a press a moment later: until it shows the first task, the end is not the replay's end.
  const isRewinding = useRef(false);
  const ends = { first: card.first_task_id ?? 0, last: card.last_task_id ?? 0 };
  const { first, last } = ends;
  const at = within(moment ?? last, ends);
  useEffect(() => {
    if (at < last) isRewinding.current = false;
    if (!isPlaying || isReading) return;
    if (at >= last) {
      if (!isRewinding.current) setPlaying(false);
      return;
    }
    const rest = Math.max(0, REPLAY_EVERY_MS - (performance.now() - movedAt.current));
    const timer = window.setTimeout(() => {
      const now = performance.now();
      const passed = movedAt.current === 0 ? REPLAY_EVERY_MS : now - movedAt.current;
      movedAt.current = now;
      change({ at: movedOn(at, { first, last }, speed, Math.min(passed, 4 * REPLAY_EVERY_MS)) });
    }, rest);
    return () => window.clearTimeout(timer);
  }, [isPlaying, isReading, at, first, last, speed, change]);
  const play = (): void => {
    movedAt.current = 0;
    isRewinding.current = !isPlaying && at >= last && first < last;
    if (isRewinding.current) change({ at: first });
    setPlaying(!isPlaying);
  };
  const done = at - first + 1;
  return (
    <fieldset className="flex w-full flex-wrap items-center gap-x-3 gap-y-2" data-replay={at}>
      <legend className="sr-only">Replay</legend>
      <button type="button" className="press min-w-20" onClick={play} aria-pressed={isPlaying}>
        {isPlaying ? <Pause size={14} aria-hidden="true" /> : <Play size={14} aria-hidden="true" />}
        {isPlaying ? "Pause" : "Replay"}
      </button>
      <select
        className="field h-8"
        aria-label="Speed of the replay"
        value={speed}
        onChange={(event) => setSpeed(Number(event.target.value))}
      >
        {REPLAY_SPEEDS.map((one) => (
          <option key={one.value} value={one.value}>
            {one.label}
          </option>
        ))}
      </select>
      <input
        type="range"
        className="min-w-32 flex-1 accent-rl"
        aria-label="Moment of the run"
        aria-valuetext={`Task ${count(done)} of ${count(last - first + 1)}`}
        min={first}
        max={last}
        step={1}
        value={at}
        onChange={(event) => {
          setPlaying(false);
          change({ at: Number(event.target.value) });
        }}
      />
      <span className="figure text-xs whitespace-nowrap text-muted" data-replay-words="true">
        {`Task ${count(done)} of ${count(last - first + 1)}, ${clock(simulated)}`}
      </span>
      <button
        type="button"
        className="icon-press size-8"
        aria-label="Show the end of the run"
        title="Show the end of the run"
        disabled={moment === null}
        onClick={() => {
          setPlaying(false);
          change({ at: null });
        }}
      >
        <SkipForward size={14} aria-hidden="true" />
      </button>
      {!follows && (
        <button
          type="button"
          className="press"
          title="Begin a new run that meets the same tasks from here on, with other strategies or another node"
          onClick={() => {
            setPlaying(false);
            setBranching(true);
          }}
        >
          <GitBranch size={14} aria-hidden="true" /> Branch from here
        </button>
      )}
      <Suspense fallback={null}>
        {isBranching && (
          <BranchDialog
            card={card}
            task={moment === null ? null : at + 1 > last ? null : at + 1}
            onClose={() => setBranching(false)}
          />
        )}
      </Suspense>
    </fieldset>
  );
}
