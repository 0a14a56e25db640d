import { BrainCircuit, CircleAlert, Info, Shuffle } from "lucide-react";
import { Link } from "react-router";
import type { Notification } from "@/client/types";
import { wallTime } from "@/lib/format";
import { keyOf, noticeWords, useNewest } from "./news";

function Icon({ notice }: { notice: Notification }) {
  const look = { size: 15, className: "shrink-0", "aria-hidden": true } as const;
  if (notice.event === "model_retrained") return <BrainCircuit {...look} color="var(--ml)" />;
  if (notice.event === "workload_shifted") return <Shuffle {...look} color="var(--warn)" />;
  if (notice.level === "error") return <CircleAlert {...look} color="var(--bad)" />;
  if (notice.level === "warning") return <CircleAlert {...look} color="var(--warn)" />;
  return <Info {...look} color="var(--ml)" />;
}

/** The newest notice on a line of its own in the header: it has its room, so it never covers anything. */
export function Ticker() {
  const notice = useNewest();
  return (
    <div
      aria-live="polite"
      className={`${notice ? "flex" : "hidden xl:flex"} order-last h-6 w-full min-w-0 items-center text-xs xl:order-none xl:w-auto xl:flex-1 xl:justify-end`}
      data-ticker={notice?.event ?? ""}
    >
      {notice && (
        <Link
          key={keyOf(notice)}
          to="/?log=notices"
          title={`${noticeWords(notice)} (all notices are in the live log)`}
          className="flex min-w-0 items-center gap-2 rounded-full px-2.5 py-1 text-muted hover:text-ink max-sm:gap-1.5 max-sm:px-1 max-sm:text-[0.6875rem]"
          style={{ animation: "news 6s ease-out" }}
        >
          <Icon notice={notice} />
          <time className="figure max-sm:hidden" dateTime={notice.at}>
            {wallTime(notice.at)}
          </time>
          <span className="truncate text-ink">{noticeWords(notice)}</span>
        </Link>
      )}
    </div>
  );
}
