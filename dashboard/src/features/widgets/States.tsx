import { CircleAlert, Inbox } from "lucide-react";
import type { ReactNode } from "react";
import { useStoredRun } from "@/client/queries";

interface StateProps {
  title: string;
  children?: ReactNode;
}

function Centre({ icon, title, children }: StateProps & { icon: ReactNode }) {
  return (
    <div className="flex h-full min-h-24 flex-col items-center justify-center gap-1.5 text-center">
      <span className="text-muted">{icon}</span>
      <p className="text-sm font-medium">{title}</p>
      {children && <div className="max-w-sm text-xs leading-relaxed text-muted">{children}</div>}
    </div>
  );
}

/** Nothing is there yet, and that is fine. */
export function Empty({ title, children }: StateProps) {
  return (
    <Centre icon={<Inbox size={22} aria-hidden="true" />} title={title}>
      {children}
    </Centre>
  );
}

const SHADES = ["62%", "84%", "46%", "71%", "38%"] as const;

/** It is on its way: the shape of what will come. */
export function Loading({ title = "Loading" }: { title?: string }) {
  return (
    <div role="status" className="flex h-full min-h-24 flex-col justify-center gap-3 overflow-hidden">
      {SHADES.map((width) => (
        <span key={width} aria-hidden="true" className="skeleton h-4 shrink-0" style={{ width }} />
      ))}
      <span className="text-xs text-muted">{title}…</span>
    </div>
  );
}

/** It could not be had; the sentence is the service's own. */
export function Trouble({ title, children }: StateProps) {
  return (
    <div role="alert" className="h-full">
      <Centre icon={<CircleAlert size={22} className="text-bad" aria-hidden="true" />} title={title}>
        {children}
      </Centre>
    </div>
  );
}

export interface AnswerProps<T> {
  data: T | undefined;
  error: Error | null;
  isEmpty?: (data: T) => boolean;
  empty: string;
  children: (data: T) => ReactNode;
}

/** What is not there yet will come; anything else that is not there will not. */
const FILLS = /\byet\b|^Fewer/;

/** Nothing yet; of a run of the past nothing more will come. */
function Nothing({ title }: { title: string }) {
  const isPast = useStoredRun() !== null;
  return (
    <Empty title={isPast ? title.replace(/ yet$/, " in this run") : title}>
      {!isPast && FILLS.test(title) && "The race fills this as tasks finish."}
    </Empty>
  );
}

/** The states of anything that is asked for: loading, trouble, empty, there. */
export function Answer<T>({ data, error, isEmpty, empty, children }: AnswerProps<T>) {
  if (data === undefined)
    return error ? <Trouble title="This could not be read">{error.message}</Trouble> : <Loading />;
  if (isEmpty?.(data)) return <Nothing title={empty} />;
  return children(data);
}
