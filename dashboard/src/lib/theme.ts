/** Light or dark: a person's choice, remembered; the system's wish before that. */
import { create } from "zustand";

export type Theme = "dark" | "light";

const KEY = "hms.theme";

function wished(): Theme {
  const stored = localStorage.getItem(KEY);
  if (stored === "dark" || stored === "light") return stored;
  return window.matchMedia?.("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

export const useTheme = create<{ theme: Theme }>(() => ({ theme: "dark" }));

function wear(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  useTheme.setState({ theme });
}

/** Put on the remembered theme; called once before the first rendering. */
export function startTheme(): void {
  wear(wished());
}

export function switchTheme(): void {
  const next: Theme = useTheme.getState().theme === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, next);
  wear(next);
}

export interface Inks {
  ink: string;
  muted: string;
  grid: string;
  line: string;
  panel: string;
  ml: string;
  rl: string;
  good: string;
  warn: string;
  bad: string;
}

const INKS: readonly (keyof Inks)[] = ["ink", "muted", "grid", "line", "ml", "rl", "good", "warn", "bad"];

/** The theme's colours as a canvas needs them: resolved. */
export function inks(_theme: Theme): Inks {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim() || "#888888";
  const found = Object.fromEntries(INKS.map((name) => [name, read(name)]));
  return { ...found, panel: read("panel-solid") } as unknown as Inks;
}
