import { ChefHat, Moon, Sun } from "lucide-react";
import { NavLink } from "react-router";
import { switchTheme, useTheme } from "@/lib/theme";
import { useWindowSearch } from "@/lib/window";
import { ConnectionPill } from "./ConnectionPill";
import { Ticker } from "./Ticker";

const VIEWS = [
  { to: "/", label: "Race" },
  { to: "/strategies", label: "Strategies" },
  { to: "/node", label: "Node" },
  { to: "/tasks", label: "Tasks" },
  { to: "/learning", label: "Learning" },
  { to: "/history", label: "History" },
  { to: "/runs", label: "Runs" },
  { to: "/recommend", label: "Recommend" },
] as const;

function Mark() {
  return (
    <svg viewBox="0 0 32 32" className="size-8 shrink-0 max-[24rem]:size-6" aria-hidden="true">
      <defs>
        <linearGradient id="mark" x1="0" y1="0" x2="1" y2="1">
          <stop stopColor="var(--ml)" />
          <stop offset="1" stopColor="var(--rl)" />
        </linearGradient>
      </defs>
      <g stroke="url(#mark)" strokeWidth="2.2" strokeLinecap="round" fill="none">
        <path d="M5 16h8M13 16c4.5 0 3.5-9 8-9h5M13 16c4.5 0 3.5-3 8-3h5M13 16c4.5 0 3.5 3 8 3h5M13 16c4.5 0 3.5 9 8 9h5" />
      </g>
      <circle cx="5" cy="16" r="2.6" fill="var(--gold)" />
    </svg>
  );
}

/** Name, views, connection, tour and theme. */
export function Header({ onTour }: { onTour: () => void }) {
  const theme = useTheme((s) => s.theme);
  const search = useWindowSearch();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header className="head -mx-3 flex flex-wrap items-center gap-x-2 gap-y-1.5 px-3 pt-3 pb-2 sm:-mx-5 sm:gap-x-4 sm:px-5 lg:sticky lg:top-0 lg:z-30 lg:pb-3">
      <div className="flex items-center gap-2 sm:gap-2.5">
        <Mark />
        <h1 className="text-[0.9375rem] font-semibold tracking-tight whitespace-nowrap max-[24rem]:text-[0.8125rem] sm:text-[1.0625rem]">
          Hybrid <span className="bg-gradient-to-r from-ml to-rl bg-clip-text text-transparent">ML</span>{" "}
          Scheduler
        </h1>
      </div>
      <nav aria-label="Views" className="order-last flex w-full flex-wrap gap-1 lg:order-none lg:w-auto">
        {VIEWS.map((view) => (
          <NavLink
            key={view.to}
            to={{ pathname: view.to, search }}
            end={view.to === "/"}
            className="press border-transparent bg-transparent px-3 lg:px-2 xl:px-3"
          >
            {view.label}
          </NavLink>
        ))}
      </nav>
      <Ticker />
      <div className="ml-auto flex items-center gap-0.5 sm:gap-1.5 xl:ml-0">
        <ConnectionPill />
        <button
          type="button"
          className="icon-press"
          onClick={onTour}
          aria-label="Explain this with a kitchen"
          title="Explain this with a kitchen"
        >
          <ChefHat size={17} aria-hidden="true" />
        </button>
        <button
          type="button"
          className="icon-press"
          onClick={switchTheme}
          aria-label={`Switch to the ${other} theme`}
          title={`Switch to the ${other} theme`}
        >
          {theme === "dark" ? <Sun size={17} aria-hidden="true" /> : <Moon size={17} aria-hidden="true" />}
        </button>
      </div>
    </header>
  );
}
