import { type RefObject, useEffect, useRef, useState } from "react";

export type Side = "right" | "bottom";

/** What tells of an element how much of its content is out of sight. */
export type Scrolled = Pick<
  HTMLElement,
  "scrollLeft" | "scrollTop" | "scrollWidth" | "scrollHeight" | "clientWidth" | "clientHeight"
>;

/** Browsers round scrolled lengths: less than this is no content. */
const LEAST_PX = 4;

/** The sides on which there is content that nobody has scrolled to yet. */
export function sidesOf(one: Scrolled): readonly Side[] {
  const beyond: Record<Side, number> = {
    right: one.scrollWidth - one.clientWidth - one.scrollLeft,
    bottom: one.scrollHeight - one.clientHeight - one.scrollTop,
  };
  return (Object.keys(beyond) as Side[]).filter((side) => beyond[side] >= LEAST_PX);
}

/** Where the content of an element that scrolls goes on, followed as it scrolls or grows. */
export function useMore<T extends HTMLElement>(): [RefObject<T | null>, readonly Side[]] {
  const ref = useRef<T>(null);
  const [sides, setSides] = useState<readonly Side[]>([]);
  // Content changes with any rendering, so what is observed is renewed with each.
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = (): void => {
      const next = sidesOf(element);
      setSides((before) => (before.join() === next.join() ? before : next));
    };
    const observer = new ResizeObserver(measure);
    for (const one of [element, ...element.children]) observer.observe(one);
    element.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  });
  return [ref, sides];
}
