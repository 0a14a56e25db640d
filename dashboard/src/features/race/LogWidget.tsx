import { useMemo } from "react";
import { Choice } from "@/features/widgets/Choice";
import { Empty } from "@/features/widgets/States";
import { Widget } from "@/features/widgets/Widget";
import { wallTime } from "@/lib/format";
import { useView } from "@/lib/url";
import { KEEP } from "@/live/state";
import { useLive } from "@/live/store";

interface Line {
  key: string;
  at: string;
  level: string;
  message: string;
}

const TONES: Record<string, string> = {
  error: "text-bad",
  warning: "text-warn",
  success: "text-good",
  debug: "text-muted",
};

const KINDS = [
  { key: "all", label: "All" },
  { key: "notices", label: "Notices" },
] as const;

/** The words of a line; its task can be looked at, and a long list of choices is cut after two lines. */
function LogWords({ line, onTask }: { line: Line; onTask: (id: number) => void }) {
  const task = /^Task (\d+)/.exec(line.message);
  const tone = TONES[line.level] ?? "";
  if (!task) return <span className={tone}>{line.message}</span>;
  return (
    <span className={`line-clamp-2 ${tone}`} title={line.message}>
      <button type="button" className="text-ml hover:underline" onClick={() => onTask(Number(task[1]))}>
        {task[0]}
      </button>
      {line.message.slice(task[0].length)}
    </span>
  );
}

/** The live log: what the service says, newest first. */
export function LogWidget() {
  const log = useLive((s) => s.log);
  const notices = useLive((s) => s.notifications);
  const [params, change] = useView();
  const kind = params.get("log") === "notices" ? "notices" : "all";
  const lines = useMemo<Line[]>(() => {
    const spoken = notices.map((n) => ({
      key: `n${n.id}${n.at}`,
      at: n.at,
      level: n.level,
      message: n.message,
    }));
    // A notice is also written to the log; it is shown once, as the notice.
    const told = new Set(notices.map((n) => n.message));
    const written =
      kind === "notices"
        ? []
        : log
            .filter((l) => !told.has(l.message))
            .map((l) => ({ key: `l${l.id}${l.at}`, at: l.at, level: l.level, message: l.message }));
    return [...spoken, ...written].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, KEEP.log);
  }, [log, notices, kind]);
  const table = () => ({
    columns: ["at", "level", "message"],
    rows: lines.map((line) => [line.at, line.level, line.message]),
  });
  return (
    <Widget
      title="Live log"
      meaning={`What the service says, newest first: decisions are a sample, notices (retrainings, shifts) are complete. Keeps ${KEEP.log} lines. Click a task for its decisions.`}
      table={table}
      controls={
        <Choice
          label="What is shown"
          value={kind}
          options={KINDS}
          onChange={(key) => change({ log: key === "all" ? null : key })}
        />
      }
    >
      {lines.length === 0 ? (
        <Empty title="Nothing to report" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section aria-label="Log lines" className="h-full overflow-auto" tabIndex={0}>
          <ol className="space-y-1 font-mono text-[0.6875rem] leading-snug">
            {lines.map((line) => (
              <li key={line.key} className="flex gap-2">
                <time className="shrink-0 text-muted" dateTime={line.at}>
                  {wallTime(line.at)}
                </time>
                <LogWords line={line} onTask={(id) => change({ task: id }, true)} />
              </li>
            ))}
          </ol>
        </section>
      )}
    </Widget>
  );
}
