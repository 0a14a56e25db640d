import { useEffect } from "react";
import { Link, NavLink, useNavigate, useNavigation, useParams } from "react-router";
import { useStrategies } from "@/client/queries";
import { Loading } from "@/features/widgets/States";
import { WidgetGrid, type WidgetSpec } from "@/features/widgets/WidgetGrid";
import { WindowChoice } from "@/features/widgets/WindowChoice";
import { useMore } from "@/lib/useMore";
import { type StrategyFace, useFaces, useRacers } from "@/lib/useStrategy";
import { useWindowSearch } from "@/lib/window";
import { focusOn, useLive } from "@/live/store";
import { ClusterLoadWidget } from "./ClusterLoadWidget";
import { CostliestWidget } from "./CostliestWidget";
import { DevicesWidget } from "./DevicesWidget";
import { EfficiencyWidget } from "./EfficiencyWidget";
import { LastDecisionWidget } from "./LastDecisionWidget";
import { PlacementWidget } from "./PlacementWidget";
import { RadarWidget } from "./RadarWidget";

const FIRST = "hybrid_ml";

/** On a narrow screen the row of tabs scrolls: the chosen one must be in sight. */
function intoView(tab: HTMLElement | null): void {
  const row = tab?.parentElement;
  if (tab && row) row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.clientWidth) / 2;
}

function Tabs({ names, chosen }: { names: readonly string[]; chosen: string }) {
  const face = useFaces();
  const search = useWindowSearch();
  const [row, more] = useMore<HTMLElement>();
  return (
    <nav
      ref={row}
      data-more={more.join(" ")}
      aria-label="Strategies"
      className="edges mb-3 flex gap-1.5 max-lg:overflow-x-auto max-lg:pb-1 lg:flex-wrap"
    >
      {names.map((name) => (
        <NavLink
          key={name}
          to={`/strategies/${name}${search}`}
          className="press shrink-0"
          ref={name === chosen ? intoView : null}
        >
          <span
            aria-hidden="true"
            className="size-2 rounded-full"
            style={{ background: face(name).colour }}
          />
          {face(name).label}
        </NavLink>
      ))}
    </nav>
  );
}

function Portrait({ face }: { face: StrategyFace }) {
  const { card } = face;
  return (
    <div className="mb-3 flex flex-wrap items-baseline gap-x-3 gap-y-1 px-1">
      <h2
        className="min-w-0 text-2xl font-semibold tracking-tight break-words"
        style={{ color: face.colour }}
      >
        {face.label}
      </h2>
      <code className="min-w-0 font-mono text-xs break-all text-muted">{face.name}</code>
      {card && <span className="chip">{card.kind}</span>}
      {card?.learns && card.kind !== "learner" && <span className="chip">learns</span>}
      <span className="ml-auto">
        <WindowChoice />
      </span>
      {card && (
        <div className="w-full">
          <p className="max-w-4xl text-sm leading-relaxed text-muted">{`${card.description.charAt(0).toUpperCase()}${card.description.slice(1)}`}</p>
        </div>
      )}
      {face.name === "oracle" && (
        <div className="w-full">
          <p className="max-w-4xl text-sm leading-relaxed text-gold">
            Its limits: it tries every split on a grid and takes the one with the least execution time, as if
            the devices were free. It does not look at queues, so it is the reference for execution time only
            and often loses in latency and makespan.
          </p>
        </div>
      )}
    </div>
  );
}

/** A strategy that neither races nor could be asked for here. */
function Unknown({ name }: { name: string }) {
  return (
    <div className="glass mx-auto mt-12 max-w-md p-8 text-center">
      <title>No such strategy · Hybrid ML Scheduler</title>
      <p className="text-lg font-semibold break-words">{`There is no strategy ${name} here`}</p>
      <p className="mt-2 text-sm text-muted">
        It may have raced in an earlier run: what it did then is in the ledger.
      </p>
      <Link className="press mt-4" to={`/tasks?by=${encodeURIComponent(name)}`}>
        Look in the ledger
      </Link>
    </div>
  );
}

function widgetsOf(name: string): readonly WidgetSpec[] {
  return [
    {
      place: { i: "load", x: 0, y: 0, w: 8, h: 8, minW: 4, minH: 5 },
      title: "Cluster load",
      body: <ClusterLoadWidget name={name} />,
      grows: true,
    },
    {
      place: { i: "radar", x: 8, y: 0, w: 4, h: 8, minW: 3, minH: 6 },
      title: "Against the oracle",
      body: <RadarWidget name={name} />,
    },
    {
      place: { i: "decision", x: 0, y: 8, w: 5, h: 14, minW: 4, minH: 6 },
      title: "Decision audit",
      body: <LastDecisionWidget name={name} />,
      grows: true,
    },
    {
      place: { i: "efficiency", x: 5, y: 8, w: 3, h: 6, minW: 2, minH: 4 },
      title: "Efficiency",
      body: <EfficiencyWidget name={name} />,
      grows: true,
    },
    {
      place: { i: "placement", x: 8, y: 8, w: 4, h: 6, minW: 3, minH: 4 },
      title: "CPU/GPU split",
      body: <PlacementWidget name={name} />,
      grows: true,
    },
    {
      place: { i: "devices", x: 5, y: 14, w: 7, h: 8, minW: 4, minH: 4 },
      title: "Devices and queues",
      body: <DevicesWidget name={name} />,
      grows: true,
    },
    {
      place: { i: "costliest", x: 0, y: 22, w: 12, h: 7, minW: 4, minH: 4 },
      title: "Decisions that cost most",
      body: <CostliestWidget name={name} />,
      grows: true,
    },
  ];
}

/** Scheduler details: one strategy and its own cluster. */
export function StrategyView() {
  const params = useParams();
  const navigate = useNavigate();
  // Who is already on the way to another view must not be called back here.
  const settled = useNavigation().state === "idle";
  const racers = useRacers();
  const face = useFaces();
  const name = params.name ?? (racers.includes(FIRST) ? FIRST : racers[0]);
  useEffect(() => {
    if (name) focusOn(name);
    if (settled && name && !params.name)
      navigate(`/strategies/${name}${window.location.search}`, { replace: true });
  }, [settled, name, params.name, navigate]);
  const isHeard = useLive((s) => s.update !== null);
  const known = useStrategies().length > 0 && isHeard;
  if (!name) return <Loading title="Waiting for the race" />;
  if (known && !racers.includes(name) && face(name).card === undefined)
    return (
      <>
        <Tabs names={racers} chosen="" />
        <Unknown name={name} />
      </>
    );
  return (
    <>
      <title>{`${face(name).label} · Hybrid ML Scheduler`}</title>
      <Tabs names={racers.includes(name) ? racers : [...racers, name]} chosen={name} />
      <Portrait face={face(name)} />
      {!racers.includes(name) && racers.length > 0 && (
        <p role="status" className="mb-3 rounded-xl border border-line bg-raised px-4 py-2 text-sm">
          {face(name).label} does not take part in this run, so there is nothing to measure.
        </p>
      )}
      <WidgetGrid key={name} view="strategy" widgets={widgetsOf(name)} />
    </>
  );
}
