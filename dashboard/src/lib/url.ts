/** The view lives in the URL: what one person sees, another can open. */
import { useCallback } from "react";
import { useSearchParams } from "react-router";

export type Params = Record<string, string | number | null>;

/** The search parameters and a way to change some of them; a value of null removes it. */
export function useView(): [URLSearchParams, (change: Params, keep?: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const change = useCallback(
    (wanted: Params, keep = false) =>
      setParams(
        () => {
          // The address itself: what was drawn last may be a change behind, and that change would be lost.
          const next = new URLSearchParams(window.location.search);
          for (const [key, value] of Object.entries(wanted)) {
            if (value === null || value === "") next.delete(key);
            else next.set(key, String(value));
          }
          return next;
        },
        { replace: !keep, preventScrollReset: true },
      ),
    [setParams],
  );
  return [params, change];
}

/** A whole number from the URL, within bounds. */
export function wholeParam(
  params: URLSearchParams,
  key: string,
  fallback: number,
  low: number,
  high: number,
): number {
  const text = params.get(key);
  const value = text === null ? Number.NaN : Number(text);
  return Number.isInteger(value) && value >= low && value <= high ? value : fallback;
}
