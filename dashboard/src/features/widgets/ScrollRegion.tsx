import { ArrowDown } from "lucide-react";
import type { ReactNode } from "react";
import { useMore } from "@/lib/useMore";

export interface ScrollRegionProps {
  /** What a screen reader calls the region, which can be scrolled by keyboard. */
  label: string;
  className?: string;
  /** Whether a button says in words that more stands below. */
  hasButton?: boolean;
  children: ReactNode;
}

/** A region that scrolls, and whose edges fade where its content goes on out of sight. */
export function ScrollRegion({
  label,
  className = "h-full",
  hasButton = false,
  children,
}: ScrollRegionProps) {
  const [ref, more] = useMore<HTMLElement>();
  const on = (): void => ref.current?.scrollBy({ top: 0.8 * ref.current.clientHeight });
  return (
    <div className={`relative min-h-0 ${className}`}>
      <section
        ref={ref}
        aria-label={label}
        className="edges h-full max-h-[inherit] overflow-auto"
        data-more={more.join(" ")}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {children}
      </section>
      {hasButton && more.includes("bottom") && (
        <button
          type="button"
          className="press absolute bottom-0 left-1/2 -translate-x-1/2 px-2 py-0.5 text-xs shadow"
          style={{ background: "var(--panel-solid)" }}
          data-no-picture="true"
          onClick={on}
        >
          <ArrowDown size={13} aria-hidden="true" /> More below
        </button>
      )}
    </div>
  );
}
