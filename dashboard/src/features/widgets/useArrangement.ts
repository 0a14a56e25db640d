/** Where the widgets of a view stand and which are hidden: from the address, else as a person left them. */
import { useCallback, useMemo, useState } from "react";
import type { Layout } from "react-grid-layout";
import { useView } from "@/lib/url";
import { forgetLayout, readHidden, readLayout, rememberHidden, rememberLayout } from "./layout";
import { type Arrangement, arrangementOf, layoutText } from "./layoutLink";

export interface Arranged extends Arrangement {
  /** Whether it differs from what everybody is given at first. */
  isOwn: boolean;
  move: (layout: Layout) => void;
  hide: (id: string) => void;
  show: (id: string) => void;
  reset: () => void;
  /** Put the arrangement into the address, and return that. */
  link: () => string;
}

function stored(view: string, defaults: Layout): Arrangement {
  return { layout: readLayout(view, defaults), hidden: readHidden(view, defaults) };
}

export function useArrangement(view: string, defaults: Layout): Arranged {
  const [params, change] = useView();
  const text = params.get("layout");
  const sent = useMemo(() => arrangementOf(text, defaults), [text, defaults]);
  const [own, setOwn] = useState<Arrangement>(() => stored(view, defaults));
  const now = sent ?? own;
  const keep = useCallback(
    (next: Arrangement) => {
      setOwn(next);
      rememberLayout(view, next.layout);
      rememberHidden(view, next.hidden);
      // What was sent has been changed: from here on it is this person's own.
      if (text !== null) change({ layout: null });
    },
    [view, text, change],
  );
  const without = (id: string): ReadonlySet<string> => new Set([...now.hidden].filter((one) => one !== id));
  const isMoved = now.layout.some((item, i) => {
    const first = defaults[i];
    return !first || item.x !== first.x || item.y !== first.y || item.w !== first.w || item.h !== first.h;
  });
  return {
    ...now,
    isOwn: isMoved || now.hidden.size > 0,
    move: (layout) => {
      // The grid tells of the widgets it shows; those it does not show stay where they were.
      const places = new Map(layout.map((item) => [item.i, item]));
      keep({ ...now, layout: now.layout.map((item) => ({ ...item, ...places.get(item.i) })) });
    },
    hide: (id) => keep({ ...now, hidden: new Set([...now.hidden, id]) }),
    show: (id) => keep({ ...now, hidden: without(id) }),
    reset: () => {
      forgetLayout(view);
      setOwn({ layout: defaults, hidden: new Set() });
      if (text !== null) change({ layout: null });
    },
    link: () => {
      change({ layout: layoutText(now) });
      const address = new URL(window.location.href);
      address.searchParams.set("layout", layoutText(now));
      return address.toString();
    },
  };
}
