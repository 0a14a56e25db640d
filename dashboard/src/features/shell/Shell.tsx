import { lazy, Suspense, useState } from "react";
import { Outlet, ScrollRestoration, useLocation, useNavigate, useNavigation } from "react-router";
import { StoredRun } from "@/features/runs/StoredRun";
import { useView } from "@/lib/url";
import { ControlBar } from "./ControlBar";
import { Header } from "./Header";
import { KeyPrompt } from "./KeyPrompt";
import { useNewRun } from "./newRun";
import { Situation } from "./Situation";

const AuditDrawer = lazy(async () => ({
  default: (await import("@/features/audit/AuditDrawer")).AuditDrawer,
}));
const NewRunDialog = lazy(async () => ({
  default: (await import("@/features/newRun/NewRunDialog")).NewRunDialog,
}));
const Tour = lazy(async () => ({ default: (await import("@/features/tour/Tour")).Tour }));

const TOUR_SEEN = "hms.tour-seen";

function taskOf(params: URLSearchParams): number | null {
  const text = params.get("task");
  return text !== null && /^-?\d+$/.test(text) ? Number(text) : null;
}

/** What stands around every view: header, controls, the situation, notices, the audit and the tour. */
export function Shell() {
  const [params, change] = useView();
  const navigation = useNavigation();
  const [tour, setTour] = useState<"first" | "asked" | null>(() =>
    localStorage.getItem(TOUR_SEEN) === null ? "first" : null,
  );
  // It explains the race, so it stands above the race alone.
  const isRace = useLocation().pathname === "/";
  const navigate = useNavigate();
  const askTour = (): void => {
    setTour("asked");
    if (!isRace) navigate("/");
  };
  const isAsked = useNewRun((s) => s.isAsked);
  const task = taskOf(params);
  const endTour = (): void => {
    localStorage.setItem(TOUR_SEEN, "yes");
    setTour(null);
  };
  return (
    <div className="mx-auto flex min-h-dvh max-w-[160rem] flex-col px-3 pb-10 sm:px-5">
      <a
        href="#view"
        className="press sr-only focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:z-50"
      >
        Skip to the view
      </a>
      <Header onTour={askTour} />
      <ControlBar />
      <KeyPrompt />
      <Situation />
      {tour !== null && isRace && (
        // Its room is kept while it is loaded, so that nothing below jumps.
        <Suspense fallback={<div className="glass mt-3 h-[7.9rem] max-sm:h-44" />}>
          <Tour onEnd={endTour} isAsked={tour === "asked"} />
        </Suspense>
      )}
      <main id="view" className="mt-3 flex-1" aria-busy={navigation.state === "loading"}>
        <StoredRun>
          <Outlet />
        </StoredRun>
      </main>
      <Suspense fallback={null}>
        {task !== null && <AuditDrawer taskId={task} onClose={() => change({ task: null })} />}
        {isAsked && <NewRunDialog />}
      </Suspense>
      <ScrollRestoration getKey={(location) => location.pathname} />
    </div>
  );
}
