/** Which strategies' lines are put aside; in the URL, shared by all charts of strategies. */
import { useCallback, useMemo } from "react";
import { useView } from "./url";

/** The hidden lines after a pick: one line hidden or shown, or one line alone and then all again. */
export function picked(
  all: readonly string[],
  hidden: ReadonlySet<string>,
  key: string,
  one: boolean,
): readonly string[] {
  if (one) return all.filter((name) => (name === key ? !hidden.has(name) : hidden.has(name)));
  const alone = !hidden.has(key) && all.every((name) => name === key || hidden.has(name));
  return alone ? [] : all.filter((name) => name !== key);
}

export function useHidden(
  all: readonly string[],
): [ReadonlySet<string>, (key: string, one: boolean) => void] {
  const [params, change] = useView();
  const text = params.get("off") ?? "";
  const hidden = useMemo(() => new Set(text ? text.split(",") : []), [text]);
  const pick = useCallback(
    (key: string, one: boolean) => {
      const next = picked(all, hidden, key, one);
      // Everything hidden would be an empty chart: then all come back.
      change({ off: next.length < all.length ? next.join(",") : null });
    },
    [all, hidden, change],
  );
  return [hidden, pick];
}
