import { ArrowDown } from "lucide-react";
import type { ReactNode } from "react";
import { useMore } from "@/lib/useMore";

export interface ScrollRegionProps {
  /** What a screen reader calls the region, which can be scrolled by keyboard. */
  label: string;
  /** How tall it is; as its widget where nothing is said. */
  height?: string;
  /** Whether a button says in words that more stands below. */
  hasButton?: boolean;
  children: ReactNode;
}

/** A region that scrolls, and whose edges fade where its content goes on out of sight. */
export function ScrollRegion({ label, height = "h-full", hasButton = false, children }: ScrollRegionProps) {
  const [ref, more] = useMore<HTMLElement>();
  const region = (
    <section
      ref={ref}
      aria-label={label}
      className={`edges overflow-auto ${height}`}
      data-more={more.join(" ")}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
    >
      {children}
    </section>
  );
  if (!hasButton) return region;
  const goOn = (): void => ref.current?.scrollBy({ top: 0.8 * ref.current.clientHeight });
  return (
    <div className={`relative ${height}`}>
      {region}
      {more.includes("bottom") && (
        <button
          type="button"
          className="press absolute bottom-0 left-1/2 -translate-x-1/2 px-2 py-0.5 text-xs"
          style={{ background: "var(--panel-solid)" }}
          data-no-picture="true"
          onClick={goOn}
        >
          <ArrowDown size={13} aria-hidden="true" /> More below
        </button>
      )}
    </div>
  );
}
