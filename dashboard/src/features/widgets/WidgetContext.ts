import { createContext } from "react";
import type { Nudge } from "./layout";

export interface WidgetPlace {
  id: string;
  /** Null where there is one column and nothing can be moved. */
  nudge: ((id: string, step: Nudge) => void) | null;
}

export const WidgetContext = createContext<WidgetPlace>({ id: "widget", nudge: null });
