import { createContext } from "react";
import type { Nudge } from "./layout";

export interface WidgetPlace {
  id: string;
  /** Null where there is one column and nothing can be moved. */
  nudge: ((id: string, step: Nudge) => void) | null;
  /** Null where a widget stands alone and cannot be put aside. */
  hide: ((id: string) => void) | null;
}

export const WidgetContext = createContext<WidgetPlace>({ id: "widget", nudge: null, hide: null });
